"""Lines of what CUDA graphs replay, against what the programs log, and what they cost.

    python graphs.py --out DIR --work DIR [--rounds 1] [--newer-cupti PATH]

Writes DIR/graphs.json; exits with 1 if a line is wrong or missing.  See
``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

HERE = Path(__file__).resolve().parent
PROGRAM = (PYTHON, str(HERE / "graphed.py"))
SECONDS = 150
# Functions that note their stack and then make the call; see graphed.py.
NOTING = ("noting", "__torch_dispatch__")
# Of the kernels of graphs, those with lines that are enough: what a library launches on threads of
# its own has none.
ENOUGH_PCT = 99.0


def from_noting(stack: list[list[Any]]) -> str:
    """A stack from the frame on that notes it, as text; "" if there is none."""
    names = [function.rpartition(".")[2] for function, _, _ in stack]
    at = next((i for i, name in enumerate(names) if name in NOTING), None)
    return "" if at is None else json.dumps(stack[at:])


def stacks_of(trace: cupti_etl.Trace) -> dict[int, list[list[Any]]]:
    """The frames of each stack, the innermost first."""
    found: dict[int, list[list[Any]]] = {}
    for row in trace.sql("FROM python_stack ORDER BY stack_id, depth"):
        found.setdefault(row["stack_id"], []).append([row["function"], row["file"], row["line"]])
    return found


def compare(folder: Path, log: dict[str, Any]) -> dict[str, Any]:
    """What the trace says of the graphs of a program, and what of it is wrong."""
    trace = cupti_etl.open(folder)
    frames = stacks_of(trace)
    kernels = [*trace.sql("SELECT stack_id, state, is_backward FROM _graph_interval")]
    with_line = sum(row["stack_id"] is not None for row in kernels)
    states: dict[str, int] = {}
    for row in kernels:
        state = "backward" if row["is_backward"] else row["state"] or "capture not seen"
        states[state] = states.get(state, 0) + 1
    mine = {from_noting(frames[row["stack_id"]]) for row in kernels if row["stack_id"]} - {""}
    unknown = mine - {json.dumps(stack) for stack in log["stacks"]}
    lines = [*trace.query("python_line")]
    (whole,) = trace.sql("SELECT sum(end_ns - start_ns)::BIGINT AS ns FROM gpu_interval")
    case: dict[str, Any] = {
        "kernels": len(kernels),
        "with_line_pct": round(100 * with_line / max(1, len(kernels)), 2),
        "with_row_pct": round(
            100 * sum(row["state"] is not None for row in kernels) / max(1, len(kernels)), 2
        ),
        "states": states,
        "stacks": len(mine),
        "logged": len(log["stacks"]),
        "nodes": trace.sql("FROM graph_node").count(),
        "gpu_ns": whole["ns"],
        "gpu_ns_by_line": sum(row["own_gpu_ns"] for row in lines),
        "graph_gpu_ns": sum(row["graph_gpu_ns"] for row in lines),
        "python_line": [[r["place"], r["function"], r["graph_gpu_ns"]] for r in lines[:8]],
        "wrong": [],
    }
    if not kernels:
        case["wrong"].append("no kernel of a graph was recorded")
    if case["with_row_pct"] < ENOUGH_PCT:
        case["wrong"].append("kernels whose capture was not seen")
    if unknown or (log["stacks"] and not mine):
        case["wrong"].append(f"{len(unknown)} of {len(mine)} stacks were not logged")
        case["examples"] = sorted(unknown)[:2]
    return case


def run(runner: Runner, program: str, options: tuple[str, ...]) -> dict[str, Any]:
    """A program in a capture with stacks, and what the two say of each other."""
    name = "-".join((program, *(["newer"] if options else [])))
    log, folder = runner.folder / f"{name}.json", runner.folder / "traces" / f"graphs-{name}"
    capture = (*CUPTI_ETL, "capture", "--python-stacks", *options, "-o", str(folder), "--")
    case, logged = runner.logged(name, [*capture, *PROGRAM, program, str(log)], log)
    if logged is None:
        return case
    case |= compare(folder, logged)
    # Autograd's threads have no Python, and nothing here says which line they work for.
    if program != "capture" and case["with_line_pct"] < ENOUGH_PCT:
        case["wrong"].append("kernels without a line")
    if program == "update":
        case |= updated(folder, logged)
        case["wrong"] += case.pop("wrong_lines")
    return case


def updated(folder: Path, logged: dict[str, Any]) -> dict[str, Any]:
    """The lines of three replays of which the last two come after an update."""
    trace = cupti_etl.open(folder)
    lines = [
        row["line"]
        for row in trace.sql(
            "SELECT line FROM _graph_interval AS work JOIN _stack_frame AS frame"
            " ON frame.process_id = work.process_id AND frame.stack_id = work.stack_id"
            " WHERE is_innermost_own ORDER BY start_ns"
        )
    ]
    first, second = logged["lines"]
    (process,) = trace.sql("SELECT detail FROM process WHERE state = 'finished'")
    is_told = "of which this libcupti does not tell" not in (process["detail"] or "")
    wanted = [first, second, second] if is_told else [first] * 3
    wrong = [] if logged["status"] == 0 else [f"cudaGraphExecUpdate: {logged['status']}"]
    if lines != wanted:
        wrong.append(f"lines of the replays {lines}, not {wanted}")
    return {"lines": lines, "detail": process["detail"], "wrong_lines": wrong}


def price(runner: Runner, rounds: int) -> dict[str, Any]:
    """Milliseconds a replay and a capture, plain, captured, and with stacks."""
    capture = (*CUPTI_ETL, "capture", "--quiet", "-o")
    variants = {"plain": (), "capture": (), "capture --python-stacks": ("--python-stacks",)}
    found: dict[str, dict[str, list[float]]] = {name: {} for name in variants}
    log = runner.folder / "price.json"
    for number in range(rounds):
        for place, (name, options) in enumerate(variants.items()):
            out = str(runner.folder / "traces" / f"graphs-price-{number}-{place}")
            wrap = () if name == "plain" else (*capture, out, *options, "--")
            log.unlink(missing_ok=True)
            runner.run([*wrap, *PROGRAM, "price", str(log)], limit=60)
            for figure, value in (json.loads(log.read_text()) if log.exists() else {}).items():
                found[name].setdefault(figure, []).append(value)
    return {
        name: {figure: round(statistics.median(v), 4) for figure, v in figures.items()}
        for name, figures in found.items()
    }


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "graphs.log", SECONDS)
    newer = ("--cupti", options.newer_cupti) if options.newer_cupti else ()
    report: dict[str, Any] = {"machine": machine(), "cases": []}
    # What is told of updates depends on CUPTI's version.
    for program, more in (("capture", ()), ("compile", ()), ("update", newer)):
        report["cases"].append(run(runner, program, more))
        runner.write(report)
    report["price"] = price(runner, options.rounds)
    runner.write(report)
    sys.exit(any(case["wrong"] for case in report["cases"]))


if __name__ == "__main__":
    main()
