"""NCCL's own events on two GPUs or more, against the logs of the ranks that called it.

    python nccl.py --out DIR --work DIR [--ranks 2] [--only CASE ...] [--seconds 270]

Writes DIR/nccl.json; exits with 1 if an operation is wrong or missing, ranks are not matched by
NCCL's numbers, or a delay is not found again within 10 us (one of a send within 300).  The programs
are nccl_app.py and nccl_train.py, the checks nccl_checks.py.  The price of a collective is measured
last, in rounds for which there is time.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from machine import machine
from nccl_checks import asked_and_told, bandwidth, channels, delays, graphs, model, sends
from runs import CUPTI_ETL, PYTHON, Runner, arguments

HERE = Path(__file__).resolve().parent
LIMIT_S = 75
OF_CHANNELS = ("--nccl", "channels")
# Each with the options of the capture; "plain" is none.
PRICES = (("plain",), ("--nccl", "none"), ("--nccl", "events"), OF_CHANNELS)
Check = Callable[[Path, Sequence[dict[str, Any]]], dict[str, Any]]
# By name: what nccl_app.py does, the options of the capture, and the check.
CASES: dict[str, tuple[str, tuple[str, ...], Check]] = {
    "late": ("late", (), delays),
    "sends": ("sends", (), sends),
    "work": ("work", (), asked_and_told),
    "work-channels": ("work", OF_CHANNELS, channels),
    "large": ("large", (), bandwidth),
    "graph": ("graph", (), graphs),
    "graph-channels": ("graph", OF_CHANNELS, graphs),
}
MODELS = ("ddp", "fsdp", "fsdp1")


class Ranks:
    """Runs programs of several ranks, in a capture or plain."""

    def __init__(self, runner: Runner, ranks: int) -> None:
        self._runner = runner
        self._ranks = ranks

    def run(
        self, name: str, options: Sequence[str], *program: str
    ) -> tuple[dict[str, Any], Any, Path]:
        """The case, the logs of the ranks or None, and the trace."""
        folder = self._runner.folder / "traces" / f"nccl-{name}"
        log = self._runner.folder / f"nccl-{name}"
        capture = (*CUPTI_ETL, "capture", "-o", str(folder), *options, "--")
        wrap = () if "plain" in options else capture
        torchrun = (PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", str(self._ranks))
        script, what, *more = program
        command = [*wrap, *torchrun, str(HERE / script), what, str(log), *more]
        done = self._runner.run(command, limit=LIMIT_S)
        case = {"name": name, "status": done.status, "seconds": done.seconds, "wrong": []}
        paths = [Path(f"{log}.{rank}") for rank in range(self._ranks)]
        if done.status or not all(path.exists() for path in paths):
            case |= {"wrong": ["the program failed"], "output": done.last_lines}
            return case, None, folder
        return case, [json.loads(path.read_text()) for path in paths], folder


def checked(case: dict[str, Any], check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The case with what a check found; one that fails leaves the others their turn."""
    try:
        return case | check()
    except Exception as error:
        return case | {"wrong": [f"the check failed: {type(error).__name__}: {error}"]}


def train(ranks: Ranks, what: str) -> dict[str, Any]:
    """A model in a capture, and once more with torch.profiler and without one."""
    case, logs, folder = ranks.run(what, (), "nccl_train.py", what)
    other, profiled, _ = ranks.run(f"{what}-profiled", ("plain",), "nccl_train.py", what, "profile")
    if logs is None:
        return case
    if profiled is None:
        return other
    return checked(case, lambda: model(folder, logs, profiled))


def price(ranks: Ranks, until: float, report: dict[str, Any], write: Callable[[], None]) -> None:
    """Rounds of all ways to run the program, in turn, while there is time for one more."""
    found: dict[str, list[float]] = {options[-1]: [] for options in PRICES}
    longest = 0.0
    while time.monotonic() + longest < until and len(found["plain"]) < 12:
        began, number = time.monotonic(), len(found["plain"])
        # Forwards and backwards, so that what drifts is in all of them.
        for options in PRICES if number % 2 == 0 else PRICES[::-1]:
            name = f"price-{options[-1]}-{number}"
            _, logs, _ = ranks.run(name, options, "nccl_app.py", "price")
            if logs is not None:
                each = [statistics.median(log["price_us"]) for log in logs]
                found[options[-1]].append(round(statistics.mean(each), 3))
        longest = max(longest, time.monotonic() - began)
        report["price"] = {
            name: {
                "median_us": round(statistics.median(rounds), 3),
                "least_us": min(rounds),
                "most_us": max(rounds),
                "rounds_us": rounds,
            }
            for name, rounds in found.items()
            if rounds
        }
        write()
        if not found["plain"]:
            return


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=270)
    names = (*CASES, *MODELS, "price")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="CASE")
    options = parser.parse_args()
    until = time.monotonic() + options.seconds
    runner = Runner(options.work, options.out / "nccl.log", options.seconds)
    ranks = Ranks(runner, options.ranks)
    report: dict[str, Any] = {"machine": machine(), "ranks": options.ranks, "cases": []}
    for name in options.only:
        if name in CASES:
            what, more, check = CASES[name]
            case, logs, folder = ranks.run(name, more, "nccl_app.py", what)
            if logs is not None:
                case = checked(case, lambda c=check, f=folder, g=logs: c(f, g))
        elif name in MODELS:
            case = train(ranks, name)
        else:
            continue
        report["cases"].append(case)
        runner.write(report)
    if "price" in options.only:
        price(ranks, until, report, lambda: runner.write(report))
    wrong = {case["name"]: case["wrong"] for case in report["cases"] if case["wrong"]}
    print(json.dumps({"wrong": wrong, "price": report.get("price")}, indent=1), flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
