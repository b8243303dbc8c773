"""Captures a program in which another profiler comes and goes twice, and counts by brackets.

    python profilers.py --out DIR --work DIR --newer-cupti PATH [--profilers torch proton]

The program makes as many additions before the profiler's first stay, in it, after it, in the
second stay and after that one, and prints when each began and ended by its own clock.  Writes
DIR/profilers.json; exits with 1 if a row of the trace is missing outside of the stays, or lies
outside of the brackets.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

HERE = Path(__file__).resolve().parent
SECONDS = 500
# Additions in each bracket; see libraries.py.
ADDITIONS = 1000
# Proton frees the buffers that CUPTI held for us, which aborts the program.
PROFILERS = ("torch", "proton")


def libcupti_of_torch() -> Path:
    """The libcupti that PyTorch loads."""
    import nvidia

    return next(
        path for place in nvidia.__path__ for path in sorted(Path(place).rglob("libcupti.so.1?"))
    )


def environ(folder: Path, newer: Path | None) -> dict[str, str]:
    """Variables with which PyTorch and Triton load one libcupti.

    Proton comes with another one than PyTorch, and CUPTI serves one library a process.
    """
    chosen = newer or libcupti_of_torch()
    link = folder / f"link-{'newer' if newer else 'own'}" / "libcupti.so"
    link.parent.mkdir(exist_ok=True)
    if not link.exists():
        link.symlink_to(chosen)
    found = {"LD_PRELOAD": str(newer)} if newer else {}
    return {**found, "TRITON_CUPTI_LIB_PATH": str(link.parent)}


def ask(trace: cupti_etl.Trace, query: str) -> list[tuple[Any, ...]]:
    """The rows of an answer."""
    return [tuple(row.values()) for row in trace.sql(query).arrow().to_pylist()]


def count(folder: Path, brackets: list[dict[str, Any]]) -> dict[str, Any]:
    """Additions by bracket, and what else the trace says of them."""
    trace = cupti_etl.open(folder)
    added = "FROM kernel WHERE name LIKE '%elementwise%'"
    found: dict[str, Any] = {
        "brackets": [
            {
                "phase": bracket["phase"],
                "kernels": ask(
                    trace,
                    f"SELECT count(*) {added} AND start_ns >= {bracket['start_ns']}"
                    f" AND end_ns <= {bracket['end_ns']}",
                )[0][0],
                "seen_by_the_profiler": bracket.get("seen"),
            }
            for bracket in brackets
        ]
    }
    queries = {
        "additions": f"SELECT count(*) {added}",
        "without_a_time": f"SELECT count(*) {added} AND (start_ns IS NULL OR end_ns IS NULL)",
        "cupti_version": "SELECT any_value(cupti_version) FROM process",
        "records": "SELECT any_value(records) FROM process",
    }
    found |= {name: ask(trace, query)[0][0] for name, query in queries.items()}
    windows = "SELECT opened_by, closed_by FROM capture_window ORDER BY start_ns"
    found["windows"] = ask(trace, windows)
    losses = "SELECT cause, sum(records)::BIGINT FROM loss GROUP BY ALL ORDER BY ALL"
    found["losses"] = dict(ask(trace, losses))
    return found


def faults(found: dict[str, Any], policy: str, seen_alone: list[int]) -> list[str]:
    """What is not as it should be."""
    wrong = []
    stays = [each for each in found["brackets"] if each["phase"].startswith("inside")]
    for bracket in found["brackets"]:
        if bracket not in stays and bracket["kernels"] != ADDITIONS:
            wrong.append(f"{bracket['phase']}: {bracket['kernels']} of {ADDITIONS} kernels")
    seen = [bracket["seen_by_the_profiler"] for bracket in stays]
    if policy == "yield" and seen != seen_alone:
        wrong.append(f"the profiler saw {seen}, and alone {seen_alone}")
    inside = sum(bracket["kernels"] for bracket in found["brackets"])
    if found["additions"] != inside + found["without_a_time"]:
        wrong.append("kernels lie outside of the brackets")
    if found["without_a_time"] > (found["losses"].get("other_clock") or 0):
        wrong.append("rows without a time that are not counted")
    return wrong


def brackets_of(output: str) -> list[dict[str, Any]]:
    """What the program printed; nothing if it failed."""
    lines = [line for line in output.splitlines() if line.startswith("[{")]
    found: list[dict[str, Any]] = json.loads(lines[0]) if lines else []
    return found


def run(runner: Runner, profiler: str, newer: Path | None) -> Iterator[dict[str, Any]]:
    """The cases of a profiler and a libcupti: first without a capture, then with each policy.

    Each has its figures, and under ``wrong`` what is not as it should be.
    """
    version = "newer" if newer else "own"
    program = (PYTHON, str(HERE / "libraries.py"), f"profiled-{profiler}")
    variables = environ(runner.folder, newer)
    alone = brackets_of(runner.run(program, environ=variables).output)
    seen = [bracket["seen"] for bracket in alone if "seen" in bracket]
    yield {"name": f"{profiler}-alone-{version}", "seen": seen, "wrong": []}
    for policy in ("yield", "keep"):
        name = f"{profiler}-{policy}-{version}"
        folder = runner.folder / "traces" / name
        options = ["--on-conflict", policy]
        command = (*CUPTI_ETL, "capture", "-o", str(folder), *options, "--", *program)
        done = runner.run(command, environ=variables)
        case: dict[str, Any] = {"name": name, "status": done.status}
        if brackets := brackets_of(done.output):
            case |= count(folder, brackets)
            yield {**case, "wrong": faults(case, policy, seen)}
        else:
            yield {**case, "wrong": ["the program failed"], "output": done.last_lines}


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--profilers", nargs="+", choices=PROFILERS, default=PROFILERS[:1])
    given = parser.parse_args()
    runner = Runner(given.work, given.out / "profilers.log", SECONDS)
    cases = [
        case
        for newer in (None, given.newer_cupti)[: 1 + bool(given.newer_cupti)]
        for profiler in given.profilers
        for case in run(runner, profiler, newer)
    ]
    runner.write({"machine": machine(), "additions": ADDITIONS, "cases": cases})
    for case in cases:
        print(case["name"], "; ".join(case["wrong"]) or "ok")
    sys.exit(any(case["wrong"] for case in cases))


if __name__ == "__main__":
    os.environ.pop("TEARDOWN_CUPTI", None)
    main()
