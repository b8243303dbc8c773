"""What a launch costs plain and captured, in alternating rounds of the same program."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from runs import CUPTI_ETL, Runner

# Options of a capture whose price is measured; the newer CUPTI is added where it says so.
VARIANTS: dict[str, tuple[str, ...]] = {
    "default": (),
    "kernels only": ("--kinds", "kernel", "--api", "none"),
    "light": ("--kinds", "light", "--api", "none"),
    "all calls": ("--api", "all"),
    "full": ("--kinds", "full"),
    "flush 10 ms": ("--flush-ms", "10"),
    "newer fixed": ("--records", "fixed"),
    "newer selected": ("--records", "selected"),
}


def measure(
    runner: Runner, program: Path, rounds: int, launches: int, newer: str | None
) -> dict[str, Any]:
    """Nanoseconds per launch, each round once plain and once with each of the variants.

    The machine's speed drifts, so only neighbours are compared: what a variant adds in a round is
    the difference to the plain run of that round, and the median of those is what counts.
    """
    times: dict[str, list[float]] = {"plain": []}
    failures = 0
    for number in range(rounds):
        for name in ("plain", *VARIANTS):
            wrap: list[str] = []
            if name != "plain":
                out = runner.folder / "traces" / f"overhead-{number}-{name.replace(' ', '-')}"
                wrap = [*CUPTI_ETL, "capture", "--quiet", "-o", str(out), *VARIANTS[name]]
                if name.startswith("newer"):
                    if newer is None:
                        continue
                    wrap += ["--cupti", newer]
                wrap += ["--"]
            log = runner.folder / f"overhead-{number}.json"
            log.unlink(missing_ok=True)
            done = runner.run([*wrap, str(program), str(log), str(launches), "4", "1"], limit=60)
            if done.status == 0 and log.exists():
                took = json.loads(log.read_text())["enqueue_ns_per_launch"]
                times.setdefault(name, []).append(took)
            else:
                failures += 1
    report: dict[str, Any] = {
        "launches": launches,
        "rounds": rounds,
        "failures": failures,
        "ns_per_launch": times,
    }
    if failures == 0 and times["plain"]:
        report["median_plain_ns"] = statistics.median(times["plain"])
        report["median_added_ns"] = {
            name: round(
                statistics.median(b - a for a, b in zip(times["plain"], found, strict=True)), 1
            )
            for name, found in times.items()
            if name != "plain"
        }
    return report
