"""PyTorch programs that capture themselves, and compare the trace with what they did.

    python captured_inside.py CASE LOG

LOG becomes a JSON object: ``wrong``, a list of sentences, and what was found.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
import time
import timeit
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

import cupti_etl

NAMES = ("forward", "backward", "optimize")
Found = dict[str, Any]


def model() -> Callable[[Callable[[str], Any]], None]:
    """A step of a small training loop; what is given names its parts."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.Linear(512, 256)
    ).cuda()
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1, foreach=False)
    x = torch.randn(64, 256, device="cuda")

    def step(name: Callable[[str], Any]) -> None:
        with name("forward"):
            loss = layers(x).square().mean()
        with name("backward"):
            loss.backward()
        with name("optimize"):
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

    return step


def both(name: str) -> Any:
    """The same range for torch.profiler and for us."""

    class Both:
        def __enter__(self) -> None:
            self.theirs, self.ours = record_function(name), cupti_etl.range(name)
            self.theirs.__enter__()
            self.ours.__enter__()

        def __exit__(self, *error: object) -> None:
            self.ours.__exit__(None, None, None)
            self.theirs.__exit__(None, None, None)

    return Both()


def kernels_by_range(run: Any) -> dict[str, int]:
    return {row["path"]: row["kernels"] for row in run.ranges()}


def of_kineto(step: Callable[[Any], None], steps: int, name: Any) -> Counter[str]:
    """Kernels that were launched in each record_function, by the correlation ids in Kineto's file.

    ``key_averages()`` gives a kernel to two operators where it has a call of both APIs.
    """
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(steps):
            step(name)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        profiler.export_chrome_trace(path := f"{folder}/trace.json")
        events = json.loads(Path(path).read_text())["traceEvents"]
    spans = [e for e in events if e.get("cat") == "user_annotation" and e["name"] in NAMES]
    calls = {
        event["args"]["correlation"]: event
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver")
    }
    found: Counter[str] = Counter()
    for kernel in (event for event in events if event.get("cat") == "kernel"):
        call = calls[kernel["args"]["correlation"]]
        for span in spans:
            begin, end = span["ts"], span["ts"] + span["dur"]
            if span["tid"] == call["tid"] and begin <= call["ts"] <= end:
                found[span["name"]] += 1
    return found


def compare(found: Found, ours: dict[str, int], theirs: dict[str, int]) -> None:
    found |= {"ours": dict(ours), "theirs": dict(theirs)}
    for name in NAMES:
        # Backward launches from autograd's thread; both find it, and may divide it otherwise.
        if ours.get(name) != theirs.get(name) and name != "backward":
            found["wrong"].append(f"{name}: {ours.get(name)} kernels, {theirs.get(name)} expected")


def check(run: Any, found: Found) -> None:
    health = run.trace.query("capture_health").arrow().to_pylist()[0]["subject"]
    found.setdefault("health", []).append(health)
    if run.problem:
        found["wrong"].append(str(run.problem))


def early(found: Found) -> None:
    """CUDA is not initialised when the capture begins."""
    steps = 5
    with cupti_etl.capture("traces/inside-early", overwrite=True) as run:
        step = model()
        for _ in range(steps):
            step(cupti_etl.range)
    check(run, found)
    compare(found, kernels_by_range(run), of_kineto(step, steps, record_function))


def late(found: Found) -> None:
    """It is, and there was a capture before."""
    step, steps = model(), 5
    step(cupti_etl.range)
    expected = of_kineto(step, steps, record_function)
    for number in (1, 2):
        with cupti_etl.capture(f"traces/inside-late-{number}", overwrite=True) as run:
            for _ in range(steps):
                cupti_etl.step()
                step(cupti_etl.range)
        check(run, found)
        ours = kernels_by_range(run)
        compare(found, {path.removeprefix("step / "): n for path, n in ours.items()}, expected)
        if run.trace.query("step").count() != steps:
            found["wrong"].append(f"capture {number} has {run.trace.query('step').count()} steps")
        if not all(row["gpu"] >= 0 for row in run.ranges()):
            found["wrong"].append(f"capture {number} does not know its GPU")


def kineto(found: Found) -> None:
    """torch.profiler is active in the middle of a capture; the ranges are whole all the same."""
    step, steps = model(), 5
    step(cupti_etl.range)
    with cupti_etl.capture("traces/inside-kineto", overwrite=True) as run:
        for _ in range(steps):
            step(cupti_etl.range)
        torch.cuda.synchronize()
        time.sleep(0.3)
        theirs = of_kineto(step, steps, both)
        time.sleep(0.5)
        for _ in range(steps):
            step(cupti_etl.range)
    # What the profiler took is said, and nothing else is missing.
    if "another CUPTI client" not in str(run.problem):
        found["wrong"].append(f"the other client is not told: {run.problem}")
    rows = run.trace.sql("SELECT name, count(*) AS n FROM nvtx_range GROUP BY name")
    found |= {"ranges": {row["name"]: row["n"] for row in rows}, "theirs": dict(theirs)}
    found["losses"] = [row["cause"] for row in run.trace.sql("FROM loss")]
    # While torch.profiler has the records there are no ranges, either: who has them differs.
    for name in NAMES:
        if found["ranges"].get(name, 0) < 2 * steps:
            found["wrong"].append(f"{name}: less ranges than outside of torch.profiler")
    if not theirs:
        found["note"] = "torch.profiler had no kernels"


def threads(found: Found) -> None:
    """Threads with streams of their own, in ranges of their own."""
    expected = {}

    def work(number: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.zeros(64, device="cuda")
            torch.cuda.current_stream().synchronize()
            for _ in range(100):
                with cupti_etl.range(f"thread {number}"):
                    for _ in range(number):
                        x.add_(1)

    torch.zeros(1, device="cuda").add_(1)
    with cupti_etl.capture("traces/inside-threads", overwrite=True) as run:
        started = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    check(run, found)
    expected = {f"thread {n}": 100 * n for n in range(1, 5)}
    found["ours"] = kernels_by_range(run)
    if found["ours"] != expected:
        found["wrong"].append(f"{expected} expected")


def tasks(found: Found) -> None:
    """Tasks of asyncio that take turns on one thread."""
    x = torch.zeros(64, device="cuda")
    x.add_(1)

    async def work(number: int) -> None:
        with cupti_etl.range(f"task {number}"):
            for _ in range(50):
                for _ in range(number):
                    x.add_(1)
                await asyncio.sleep(0)

    async def all_of_them() -> Any:
        with cupti_etl.capture("traces/inside-tasks", overwrite=True) as run:
            await asyncio.gather(*map(work, range(1, 5)))
        return run

    run = asyncio.run(all_of_them())
    check(run, found)
    found["ours"] = kernels_by_range(run)
    if found["ours"] != {f"task {n}": 50 * n for n in range(1, 5)}:
        found["wrong"].append("kernels are in the range of another task")


def windows(found: Found) -> None:
    """Two windows of one trace; what is between them is not there."""
    x = torch.zeros(64, device="cuda")
    with cupti_etl.capture("traces/inside-windows", overwrite=True, paused=True) as run:
        for count in (7, 11):
            x.add_(1)
            with run.recording(), cupti_etl.range("seen"):
                for _ in range(count):
                    x.add_(1)
            with cupti_etl.range("unseen"):
                x.add_(1)
    check(run, found)
    found["ours"] = kernels_by_range(run)
    if found["ours"] != {"seen": 18}:
        found["wrong"].append("18 kernels in the range `seen` expected")


def gmp(found: Found) -> None:
    """The example of GMP's README: ranges of work, a decorated function, ranges of memory."""

    @cupti_etl.range("matrix_multiply")
    def multiply() -> torch.Tensor:
        x, y = (torch.randn(1000, 1000, device="cuda") for _ in range(2))
        return torch.matmul(x, y)

    torch.zeros(1, device="cuda")
    options: dict[str, Any] = {"kinds": "default,memory", "overwrite": True}
    with cupti_etl.capture("traces/inside-gmp", pm="overview", **options) as run:
        with cupti_etl.range("my_operations"):
            for _ in range(50):
                multiply()
        with cupti_etl.range("memory_ops"):
            large = torch.randn(5000, 5000, device="cuda")
            del large
            torch.cuda.empty_cache()
    check(run, found)
    capture = run.trace.sql("SELECT pm_state, pm_detail FROM capture").arrow().to_pylist()[0]
    found["pm"] = capture
    metrics = ["sm_active_pct"] if capture["pm_state"] == "finished" else []
    for reduction in ("max", "mean"):
        table = run.ranges(metrics, reduction).arrow()
        found[reduction] = [[str(value) for value in row.values()] for row in table.to_pylist()]
    found["sum"] = [[str(v) for v in row.values()] for row in run.ranges().arrow().to_pylist()]
    run.ranges().save("traces/inside-gmp.csv")
    memory = run.memory("memory_ops").arrow().to_pylist()
    found["memory"] = [[row["allocations"], row["allocated_bytes"]] for row in memory]
    if sum(row["allocated_bytes"] for row in memory) < 5000 * 5000 * 4:
        found["wrong"].append("memory_ops allocated less than its tensor")


def price(found: Found) -> None:
    """Nanoseconds of an empty range, and of one around an addition."""
    x = torch.zeros(64, device="cuda")
    made = cupti_etl.range("made")
    statements = {
        "range": 'with cupti_etl.range("work"): pass',
        "made": "with made: pass",
        "record_function": 'with record_function("work"): pass',
        "nvtx": 'with torch.cuda.nvtx.range("work"): pass',
        "add": "x.add_(1)",
        "add in range": 'with cupti_etl.range("work"): x.add_(1)',
    }
    scope = {**globals(), "x": x, "made": made}

    def measure() -> dict[str, float]:
        times = {}
        for name, text in statements.items():
            timer = timeit.Timer(text, globals=scope)
            times[name] = round(min(timer.repeat(7, 5000)) / 5000 * 1e9, 1)
            torch.cuda.synchronize()
        return times

    measure()
    found["idle_ns"] = measure()
    with cupti_etl.capture("traces/inside-price", overwrite=True, buffer_mb=512) as run:
        found["recorded_ns"] = measure()
    check(run, found)
    if found["idle_ns"]["range"] > 100:
        found["wrong"].append("an idle range costs more than 100 ns")
    if found["recorded_ns"]["range"] > 1000:
        found["wrong"].append("a recorded range costs more than 1 us")


def plain(found: Found) -> None:
    """Some steps, for a capture from outside."""
    step = model()
    for _ in range(3):
        step(cupti_etl.range)
    torch.cuda.synchronize()


def main() -> None:
    """Run a case and write its log."""
    name, log = sys.argv[1:]
    found: Found = {"wrong": []}
    case: Callable[[Found], None] = globals()[name]
    case(found)
    Path(log).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
