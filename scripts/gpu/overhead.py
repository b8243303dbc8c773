"""What a launch costs plain and captured, in alternating rounds of the same program."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from runs import CUPTI_ETL, Runner


def measure(runner: Runner, program: Path, rounds: int, launches: int) -> dict[str, Any]:
    """Nanoseconds per launch, each round once plain and once captured.

    The machine's speed drifts, so only neighbours are compared: the overhead of a round is the
    difference within it, and the median of those is what counts.
    """
    plain: list[float] = []
    captured: list[float] = []
    failures = 0
    for number in range(rounds):
        log = runner.folder / f"overhead-{number}.json"
        command = [str(program), str(log), str(launches), "4", "1"]
        out = runner.folder / "traces" / f"overhead-{number}"
        for wrap, results in (
            ([], plain),
            ([*CUPTI_ETL, "capture", "--quiet", "-o", str(out), "--"], captured),
        ):
            log.unlink(missing_ok=True)
            done = runner.run([*wrap, *command], limit=60)
            if done.status == 0 and log.exists():
                results.append(json.loads(log.read_text())["enqueue_ns_per_launch"])
            else:
                failures += 1
    report: dict[str, Any] = {
        "launches": launches,
        "rounds": rounds,
        "failures": failures,
        "plain_ns_per_launch": plain,
        "captured_ns_per_launch": captured,
    }
    if failures == 0 and plain:
        added = [after - before for before, after in zip(plain, captured, strict=True)]
        report["median_plain_ns"] = statistics.median(plain)
        report["median_captured_ns"] = statistics.median(captured)
        report["median_added_ns"] = statistics.median(added)
    return report
