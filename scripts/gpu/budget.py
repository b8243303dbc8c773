"""What ``--budget`` keeps of its promise: the price, how well it is known, and what is estimated.

    python budget.py --out DIR --work DIR --launch-loop FILE [--seconds 40] [--percent 1 90]
        [--rounds 5] [--no-parts]

Writes DIR/budget.json; exits with 1 if a program lost more than its budget allows and the errors of
both measurements explain, if it loses more for good than a trial told, or if the estimates do not
hold the truth.  The truth is what the program logs: how long its steps took that lay in windows,
those that lay between them, and those before the first one.
"""

from __future__ import annotations

import json
import statistics
import sys
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

PROGRAM = str(Path(__file__).resolve().parent / "budget_app.py")
SECONDS = 540
PROGRAMS = ("small", "llama", "train", "graph")
# So large that each program can afford it without a trial by delays: how windows, and what lasts,
# compare with the logs.
AMPLE = 90.0
# Steps before the first window, and after it, that are compared.
AROUND_NS = 8_000_000_000
# What single things cost: windows for most of the time.
PARTS: dict[str, tuple[str, ...]] = {
    "kernels": ("--kinds", "kernel"),
    "default": (),
    "default, flushed every 10 ms": ("--flush-ms", "10"),
    "default, with Python stacks": ("--python-stacks",),
}
# Launches, streams and threads of the loop whose launches are timed.
LOOP = ("600000", "2", "1")
LONG_LOOP = ("4000000", "2", "1")
# Of the kernels' names, by time: those that are compared.
NAMES = 20


def logged_price(steps: Sequence[Sequence[int]], windows: Sequence[dict[str, Any]]) -> Any:
    """How much longer steps in windows took than those around them, in percent, with an error."""
    starts = [window["start_ns"] for window in windows]
    inside: dict[int, list[int]] = {}
    between: dict[int, list[int]] = {}
    for began, ended in steps:
        place = bisect_right(starts, began) - 1
        if place < 0:
            continue
        end = windows[place]["end_ns"] or ended
        following = starts[place + 1] if place + 1 < len(starts) else None
        if ended <= end:
            inside.setdefault(place, []).append(ended - began)
        elif began > end and following is not None and ended < following:
            between.setdefault(place, []).append(ended - began)
    pairs = [
        (statistics.fmean(inside[place]), statistics.fmean(between[place - 1] + between[place]))
        for place in inside
        if place in between and place - 1 in between
    ]
    if len(pairs) < 5:
        return None
    on, off = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    without = [(on - a) / (off - b) for a, b in pairs]
    mean = statistics.fmean(without)
    error = ((len(pairs) - 1) / len(pairs) * sum((x - mean) ** 2 for x in without)) ** 0.5
    return {"pct": 100 * (on / off - 1), "error_pct": 100 * error, "windows": len(pairs)}


def logged_lasting(steps: Sequence[Sequence[int]], windows: Sequence[dict[str, Any]]) -> Any:
    """How much longer steps between windows took than those before the first, in percent."""
    if not windows:
        return None
    first = windows[0]["start_ns"]
    spans = [(window["start_ns"], window["end_ns"] or window["start_ns"]) for window in windows]
    before, after = [], []
    for began, ended in steps:
        if first - AROUND_NS <= began and ended < first:
            before.append(ended - began)
        elif first <= began < first + AROUND_NS and not any(
            began < end and ended > start for start, end in spans
        ):
            after.append(ended - began)
    if min(len(before), len(after)) < 20:
        return None
    (a, a_error), (b, b_error) = (
        (statistics.fmean(some), statistics.stdev(some) / len(some) ** 0.5)
        for some in (before, after)
    )
    error = ((a_error / a) ** 2 + (b_error / b) ** 2) ** 0.5
    return {
        "pct": 100 * (b / a - 1),
        "error_pct": 100 * error * b / a,
        "before": len(before),
        "after": len(after),
    }


def estimates(trace: Any, a_step: dict[str, float], steps: float) -> dict[str, Any]:
    """Whether the intervals of ``kernel_estimate`` hold what so many steps executed."""
    held, off = [], []
    for row in list(trace.query("kernel_estimate"))[:NAMES]:
        truth = a_step.get(row["demangled"], 0) * steps
        if not truth or row["calls"] is None:
            continue
        held.append(row["calls_low"] <= truth <= row["calls_high"])
        off.append(100 * (row["calls"] / truth - 1))
    if not held:
        return {"names": 0}
    return {
        "names": len(held),
        "held": sum(held),
        "median_off_pct": statistics.median(off),
        "most_off_pct": max(off, key=abs),
    }


class Cases:
    """Runs the program in captures."""

    def __init__(self, runner: Runner, seconds: float) -> None:
        self._runner = runner
        self._seconds = seconds

    def run(self, name: str, what: str, seconds: float, *options: str) -> Any:
        """The steps of the program and its trace; or what went wrong."""
        folder = self._runner.folder / "traces" / name.replace(" ", "-").replace(",", "")
        log = self._runner.folder / f"{folder.name}.json"
        wrap = (*CUPTI_ETL, "capture", "-o", str(folder), *options, "--")
        command = [*(() if "plain" in options else wrap), PYTHON, PROGRAM, what]
        done = self._runner.run([*command, str(seconds), str(log)], limit=seconds + 60)
        if done.status or not log.exists():
            return None, None, done.last_lines
        steps = json.loads(log.read_text())["steps"]
        return steps, None if "plain" in options else cupti_etl.open(folder), done.last_lines

    def budget(self, what: str, percent: float) -> dict[str, Any]:
        """A run with a budget; if there were windows, also one that is recorded whole."""
        case: dict[str, Any] = {"program": what, "budget_pct": percent, "wrong": []}
        options = ("--budget", f"{percent}%", "--budget-window", "100ms")
        steps, trace, last = self.run(f"{what}-{percent}", what, self._seconds, *options)
        if trace is None:
            return {**case, "wrong": ["the program failed"], "output": last}
        (capture,) = trace.sql("FROM capture")
        windows = list(trace.sql("FROM capture_window ORDER BY start_ns"))
        case["told"] = [line for line in last if "--budget" in line]
        case |= {"lasting_pct": capture["lasting_pct"], "windows": len(windows)}
        if not windows:
            return case
        (price,) = trace.query("capture_price")
        logged = logged_price(steps, windows)
        lasting = logged_lasting(steps, windows) if percent == AMPLE else None
        case |= {"price": dict(price), "logged": logged, "logged_lasting": lasting}
        if lasting and lasting["pct"] - 3 * lasting["error_pct"] > capture["lasting_pct"]:
            case["wrong"].append("it loses more for good than was told")
        whole_steps, whole, last = self.run(f"{what}-whole-{percent}", what, 2)
        if whole is None:
            return {**case, "wrong": ["the program failed"], "output": last}
        # Of the whole run each step executed the same; the warm-up is of the same steps.
        counts = {
            row["demangled"]: row["n"] / len(whole_steps)
            for row in whole.sql(
                "SELECT demangled, count(*) AS n FROM kernel_named"
                f" WHERE start_ns >= {whole_steps[0][0]} AND start_ns < {whole_steps[-1][1]}"
                " GROUP BY demangled"
            )
        }
        # What was launched before the first window, or after the last, is in no estimate.
        since, until = windows[0]["start_ns"], windows[-1]["end_ns"] or steps[-1][1]
        seen = sum(
            max(min(ended, until) - max(began, since), 0) / (ended - began)
            for began, ended in steps
        )
        case["estimates"] = estimates(trace, counts, seen)
        losses = [row["detail"] for row in trace.sql("FROM loss")]
        if losses:
            case["wrong"].append(f"losses: {losses}")
        if price["price_pct"] is None or logged is None:
            case["wrong"].append("the price is not known")
            return case
        share = price["recorded_pct"] / 100
        lost = share * max(logged["pct"], 0) / (1 + max(logged["pct"], 0) / 100)
        case["lost_pct"] = lost
        if lost - 2 * share * logged["error_pct"] > percent:
            case["wrong"].append(f"it lost {lost:.2f} %")
        error = (logged["error_pct"] ** 2 + price["price_error_pct"] ** 2) ** 0.5
        if abs(price["price_pct"] - logged["pct"]) > 3 * error + 0.5:
            case["wrong"].append("the price that was told is not that of the log")
        told = case["estimates"]
        if told["names"] and told["held"] < 0.75 * told["names"]:
            case["wrong"].append("the estimates do not hold the truth")
        return case

    def loop(self, name: str, loop: str, words: Sequence[str], *options: str) -> dict[str, Any]:
        """What a launch takes in a program that does nothing else, and what the capture said."""
        folder = self._runner.folder / "traces" / name
        wrap = (*CUPTI_ETL, "capture", "-o", str(folder), *options, "--")
        log = folder.with_suffix(".json")
        done = self._runner.run([*(() if "plain" in options else wrap), loop, str(log), *words])
        launch_ns = json.loads(log.read_text())["enqueue_ns_per_launch"] if log.exists() else None
        told = [line for line in done.last_lines if "--budget" in line]
        return {"launch_ns": launch_ns, "told": told}

    def part(self, name: str, options: tuple[str, ...]) -> dict[str, Any]:
        """What it costs to record this: windows and rests by turns."""
        window = ("--budget", "60%", "--budget-window", "100ms")
        steps, trace, last = self.run(f"part {name}", "small", 12, *window, *options)
        if trace is None:
            return {"output": last}
        (price,) = trace.query("capture_price")
        kernels = trace.sql("FROM kernel").count()
        windows = list(trace.sql("FROM capture_window ORDER BY start_ns"))
        return {"price": dict(price), "logged": logged_price(steps, windows), "kernels": kernels}


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__, "--launch-loop")
    parser.add_argument("--no-parts", action="store_true", help="leave out what single kinds cost")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--percent", type=float, nargs="*", default=(1.0, AMPLE))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "budget.log", SECONDS)
    cases = Cases(runner, options.seconds)
    report: dict[str, Any] = {"machine": machine(), "budgets": [], "parts": {}, "rounds": {}}
    for what in PROGRAMS:
        for share in options.percent:
            report["budgets"].append(cases.budget(what, share))
            runner.write(report)
    for name, more in () if options.no_parts else PARTS.items():
        report["parts"][name] = cases.part(name, more)
        runner.write(report)
    # What it costs that the library is there and records nothing, no more, or next to nothing.
    rounds = {
        "plain": ("plain",),
        "closed": ("--capture-range", "nvtx:never"),
        "after 300 ms": ("--duration", "300ms"),
        "1%": ("--budget", "1%"),
        "whole": (),
    }
    for number in range(options.rounds):
        for name, more in rounds.items():
            folder = f"round-{name.split()[0].strip('%')}-{number}"
            took = cases.loop(folder, options.launch_loop, LOOP, *more)["launch_ns"]
            report["rounds"].setdefault(name, []).append(took)
            runner.write(report)
    if options.rounds:
        report["loop"] = cases.loop("loop", options.launch_loop, LONG_LOOP, "--budget", "1%")
        runner.write(report)
    print(json.dumps({key: value for key, value in report.items() if key != "machine"}, indent=1))
    sys.exit(any(case["wrong"] for case in report["budgets"]))


if __name__ == "__main__":
    main()
