"""Traces of PyTorch as other programs, backends and versions write them: every answer stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cupti_etl.analysis.report import Report, build
from cupti_etl.commands._scope import open_part
from cupti_etl.errors import ForeignError
from cupti_etl.imports.run import import_traces
from cupti_etl.queries.choose import Scope

Event = dict[str, Any]
_GPU = ("kernel", "gpu_memcpy")


def loop(
    *, pid: int = 100, first: int = 1, begin: float = 1000.0, device: int = 0, name: str = "step {}"
) -> list[Event]:
    """Six steps of eight kernels, and a copy back to the host; the first takes 20 ms longer."""
    events: list[Event] = []

    def add(category: str, name: str, at: float, lasts: float, **args: object) -> None:
        row = (device, 7) if category in _GPU else (pid, pid)
        events.append(
            {"ph": "X", "cat": category, "name": name, "pid": row[0], "tid": row[1], "ts": at,
             "dur": lasts, "args": args}
        )  # fmt: skip

    at, number = begin, first
    for step in range(6):
        since = at
        at += 20_010 if step == 0 else 10
        for kernel in range(8):
            ids = {"correlation": number, "External id": number}
            place = {"device": device, "stream": 7, "context": 1, "grid": [4, 1, 1]}
            add("cpu_op", "aten::mm", at, 8, **{"External id": number})
            add("cuda_runtime", "cudaLaunchKernel", at + 2, 4, **ids)
            add("kernel", f"void gemm_{kernel}<float>(int)", at + 7, 20, **ids, **place)
            at, number = at + 30, number + 1
        add("cuda_runtime", "cudaMemcpyAsync", at, 8, correlation=number)
        add("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 4, 3, bytes=64, device=device,
            stream=7, correlation=number)  # fmt: skip
        at, number = at + 20, number + 1
        if name:
            add("user_annotation", name.format(step), since, at - since)
    return events


def without(events: list[Event], *keys: str) -> list[Event]:
    return [
        {**each, "args": {k: v for k, v in each["args"].items() if k not in keys}}
        for each in events
    ]


def cut(events: list[Event], *categories: str) -> list[Event]:
    return [each for each in events if each["cat"] not in categories]


def changed(change: Callable[[Event], Event]) -> list[Event]:
    return [change(each) for each in loop()]


# Of each the events of its files, and how many steps are found.
STRANGE: dict[str, tuple[list[list[Event]], int | None]] = {
    "nothing strange": ([loop()], 6),
    "steps of nobody": ([loop(name="")], 5),
    "one stage of Lightning": ([loop(name="[pl][profile]run_training_batch")], 6),
    "steps in Cyrillic": ([loop(name="шаг {}")], 6),
    "the host alone": ([cut(loop(), *_GPU, "cuda_runtime")], 0),
    "the GPU alone": ([cut(loop(name=""), "cpu_op", "cuda_runtime")], 5),
    "no correlations": ([without(loop(), "correlation", "External id")], None),
    "ids of 64 bits": ([loop(first=2**63 + 5)], 6),
    "ids that wrap": ([loop(first=2**32 - 9)], 6),
    "a pid of 40 bits": ([loop(pid=2**40)], 6),
    "no device": ([without(loop(), "device", "stream")], None),
    "eight devices": (
        [
            [
                each
                for n in range(8)
                for each in loop(device=n, first=1000 * n + 1, name="" if n else "step {}")
            ]
        ],
        48,
    ),
    "ranks of one pid": ([loop(), loop(begin=1003.0)], 12),
    "one after the other": ([loop(), loop(begin=500_000.0)], 12),
    "one kernel": ([loop()[:3]], 0),
    "from 0 on": ([loop(begin=0.0)], 6),
    "texts for times": ([changed(lambda e: {**e, "ts": str(e["ts"]), "dur": str(e["dur"])})], None),
    "no durations": ([changed(lambda e: {k: v for k, v in e.items() if k != "dur"})], None),
    "HIP": ([changed(lambda e: {**e, "name": e["name"].replace("cuda", "hip")})], 6),
    "arguments of null": ([changed(lambda e: {**e, "args": None})], None),
}


def report(files: list[list[Event]], folder: Path) -> tuple[Report, int]:
    """The report of an import, and the number of its steps."""
    paths = []
    for number, events in enumerate(files):
        content: dict[str, Any] = {"schemaVersion": 1, "traceEvents": events}
        if len(files) > 1:
            content["distributedInfo"] = {"rank": number, "world_size": len(files)}
        paths.append(folder / f"rank{number}.json")
        paths[-1].write_text(json.dumps(content))
    import_traces(paths, folder / "trace", 1)
    with open_part((str(folder / "trace"),), Scope(), steady=True) as part:
        return build(part), part.whole.query("step").count()


@pytest.mark.slow
@pytest.mark.usefixtures("without_trace_duckdb")
@pytest.mark.parametrize("name", STRANGE)
def test_every_answer_stands(name: str, tmp_path: Path) -> None:
    files, steps = STRANGE[name]
    made, found = report(files, tmp_path)
    assert made.failed == {}
    assert steps is None or found == steps
    # The 20 ms before the first step are start-up, which is no finding.
    assert all(each.saved_ns < 15_000_000 for each in made.findings), made.findings


def test_events_line_by_line_are_told_from_traces(tmp_path: Path) -> None:
    # JSON Lines, as logs have them; as one list, they are read.
    lines = tmp_path / "lines.json"
    lines.write_text("".join(f"{json.dumps(event)}\n" for event in loop()))
    with pytest.raises(ForeignError, match="has each event by itself") as raised:
        import_traces([lines], tmp_path / "trace", 1)
    assert "jq -s" in raised.value.hint
    lines.write_text(f"[{','.join(lines.read_text().splitlines())}]")
    import_traces([lines], tmp_path / "trace", 1)
