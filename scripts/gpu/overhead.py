"""What tracing costs: the same program plain and traced, in alternating rounds."""

from __future__ import annotations

import json
import random
import shutil
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runs import CUPTI_ETL, PYTHON, Runner

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Variant:
    """A way to run the program.

    Attributes:
        wrap: what goes before it; ``{out}`` stands for a new path.
        environ: further environment variables.
        arguments: what goes after it.
        every: it is run in each ``every``-th round only.
    """

    wrap: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    every: int = 1


def captured(*options: str, every: int = 2) -> Variant:
    """A capture with options; not the default one, every other round."""
    capture = (*CUPTI_ETL, "capture", "--quiet", "-o", "{out}", *options, "--")
    return Variant(capture, every=every)


def nsys() -> str | None:
    """The program of Nsight Systems, if there is one."""
    found = shutil.which("nsys") or next(
        map(str, sorted(Path("/opt/nvidia").glob("nsight*/*/**/target-linux-x64/nsys"))), None
    )
    return found


def launch_variants(bare_client: str, newer: str | None) -> dict[str, Variant]:
    """Ways to run the launch loop."""
    found = {
        "plain": Variant(),
        "bare client": Variant(environ={"CUDA_INJECTION64_PATH": bare_client}),
        "capture": captured(every=1),
    }
    if nsys():
        profile = (str(nsys()), "profile", "-t", "cuda", "-s", "none", "--cpuctxsw", "none")
        found["nsys"] = Variant((*profile, "-o", "{out}"))
    found |= {
        "capture: kernels only": captured("--kinds", "kernel", "--api", "none"),
        "capture: light, no calls": captured("--kinds", "light", "--api", "none"),
        "capture: all calls": captured("--api", "all"),
        "capture: full": captured("--kinds", "full"),
        "capture: flush 10 ms": captured("--flush-ms", "10"),
        "capture: flush 1 s": captured("--flush-ms", "1000"),
    }
    if newer:
        bare = {"CUDA_INJECTION64_PATH": bare_client, "BARE_CUPTI": newer}
        found["newer: bare client"] = Variant(environ=bare, every=2)
        for form in ("fixed", "selected"):
            options = ("--cupti", newer, "--records", form)
            found[f"newer: capture, {form}"] = captured(*options)
    return found


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median, by resampling."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[-51]


def compare(
    runner: Runner,
    command: Sequence[str],
    variants: Mapping[str, Variant],
    rounds: int,
    figure: str,
) -> dict[str, Any]:
    """A figure of the program's JSON file (``{log}`` in the command), by variant.

    The machine's speed drifts, so only neighbours are compared: what a variant adds in a round is
    the difference to the first variant's run of that round, and the median of those is what counts.
    """
    names = list(variants)
    times: dict[str, dict[int, float]] = {name: {} for name in names}
    failures = []
    log = runner.folder / "overhead.json"
    for number in range(rounds):
        for place, name in enumerate(names):
            variant = variants[name]
            if number % variant.every:
                continue
            out = runner.folder / "traces" / f"overhead-{number}-{place}"
            log.unlink(missing_ok=True)
            words = [*variant.wrap, *command, *variant.arguments]
            words = [w.replace("{out}", str(out)).replace("{log}", str(log)) for w in words]
            done = runner.run(words, limit=90, environ=variant.environ)
            if done.status == 0 and log.exists():
                times[name][number] = json.loads(log.read_text())[figure]
            else:
                failures.append(f"round {number}, {name}: {done.last_lines[-1:]}")
            shutil.rmtree(out, ignore_errors=True)
    plain = times[names[0]]
    report: dict[str, Any] = {"figure": figure, "rounds": rounds, "failures": failures}
    report["values"] = {name: list(found.values()) for name, found in times.items()}
    report["median"] = {n: statistics.median(t.values()) for n, t in times.items() if t}
    report["added"] = {}
    for name in names[1:]:
        added = [value - plain[n] for n, value in times[name].items() if n in plain]
        if added:
            report["added"][name] = {
                "median": round(statistics.median(added), 2),
                "interval_95": [round(end, 2) for end in interval(added)],
            }
    return report


def measure(
    runner: Runner,
    program: Path,
    rounds: int,
    launches: int,
    *,
    bare_client: str,
    newer: str | None,
) -> dict[str, Any]:
    """Nanoseconds a launch, of a loop that does nothing else."""
    loop = [str(program), "{log}", str(launches), "4", "1"]
    variants = launch_variants(bare_client, newer)
    return {"launch_loop": compare(runner, loop, variants, rounds, "enqueue_ns_per_launch")}


def measure_torch(runner: Runner, rounds: int, bare_client: str) -> dict[str, Any]:
    """What a step and a small call cost in PyTorch, plain and under each tool."""
    variants = {
        "plain": Variant(),
        "bare client": Variant(environ={"CUDA_INJECTION64_PATH": bare_client}),
        "capture": captured(every=1),
        "torch.profiler": Variant(arguments=("--tool", "torch")),
        "proton": Variant(arguments=("--tool", "proton")),
    }
    found = {}
    figures = {"train": "ms_per_step", "train-small": "ms_per_step", "small": "us_per_call"}
    for what, figure in figures.items():
        command = [PYTHON, str(HERE / "overhead_torch.py"), what, "{log}"]
        found[what] = compare(runner, command, variants, rounds, figure)
    return found
