"""Python stacks of launches against what the programs log, and what they cost.

    python stacks.py --out DIR --work DIR [--rounds 3] [--only exact|price]

Writes DIR/stacks.json; exits with 1 if a stack is wrong.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from machine import machine
from overhead import Variant, captured, compare, nsys
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

HERE = Path(__file__).resolve().parent
SECONDS = 560
PROGRAM = (PYTHON, str(HERE / "stacked.py"))


def read(folder: Path) -> tuple[Counter[str], Counter[str], dict[str, int]]:
    """Launches of kernels by stack, the same of those that are no kernel's, and by state."""
    trace = cupti_etl.open(folder)
    rows = trace.sql("FROM python_stack ORDER BY stack_id, depth").arrow().to_pylist()
    frames: dict[int, list[Any]] = {}
    for row in rows:
        frames.setdefault(row["stack_id"], []).append([row["function"], row["file"], row["line"]])
    calls = trace.sql(
        "SELECT stack_id, state, k.correlation_id IS NOT NULL AS is_kernel FROM launch_stack"
        " LEFT JOIN (SELECT DISTINCT process_id, correlation_id FROM kernel) k"
        " USING (process_id, correlation_id)"
    ).arrow()
    kernels: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for row in calls.to_pylist():
        text = json.dumps(frames[row["stack_id"]]) if row["stack_id"] else row["state"]
        (kernels if row["is_kernel"] else others)[text] += 1
    return kernels, others, dict(Counter(row["state"] for row in calls.to_pylist()))


def from_dispatch(text: str) -> str:
    """A stack from the frame on that logs the operators."""
    stack = json.loads(text) if text.startswith("[") else []
    names = [frame[0] for frame in stack]
    mine = [at for at, name in enumerate(names) if name.endswith("__torch_dispatch__")]
    return json.dumps(stack[mine[0] :]) if mine else text


def exact(runner: Runner, program: str) -> dict[str, Any]:
    """A program's own log of its stacks beside those of the capture."""
    log, folder = runner.folder / f"{program}.json", runner.folder / "traces" / f"stacks-{program}"
    capture = (*CUPTI_ETL, "capture", "--python-stacks", "-o", str(folder), "--")
    case, stacks = runner.logged(program, [*capture, *PROGRAM, program, str(log)], log)
    if stacks is None:
        return case
    logged = Counter(json.dumps(stack) for stack in stacks)
    kernels, others, states = read(folder)
    trace = cupti_etl.open(folder)
    launched = trace.sql("FROM kernel").count()
    case |= {"kernels": launched, "with_a_row": sum(kernels.values()), "states": states}
    case |= {"logged": sum(logged.values()), "no_kernel": sum(others.values())}
    if program == "additions":
        mine = Counter({text: n for text, n in kernels.items() if '"additions.' in text})
        if mine != logged:
            case["wrong"].append(f"{sum((mine - logged).values())} stacks differ")
    else:
        # Inside an operator that is called from Python are frames of PyTorch's own.
        mine = Counter()
        for text, n in kernels.items():
            mine[from_dispatch(text)] += n * ("__torch_dispatch__" in text)
        mine = +mine
        unknown = mine.keys() - logged.keys()
        case |= {"stacks": len(mine), "launches": sum(mine.values())}
        if unknown or not mine:
            case["wrong"].append(f"{len(unknown)} of {len(mine)} stacks were not logged")
            case["examples"] = sorted(unknown)[:2]
    if launched != case["with_a_row"]:
        case["wrong"].append(f"{launched - case['with_a_row']} kernels have no launch_stack")
    top = trace.query("python_line").arrow().to_pylist()[:12]
    case["python_line"] = [
        [row["place"], row["function"], round(row["percent"] or 0, 2), row["launches"]]
        for row in top
    ]
    return case


def price(runner: Runner, rounds: int) -> dict[str, Any]:
    """What a launch and a step cost, plain and under each tool."""
    variants = {
        "plain": Variant(),
        "capture": captured(every=1),
        "capture --python-stacks": captured("--python-stacks", every=1),
        "torch.profiler with_stack": Variant(arguments=("--tool", "torch"), every=3),
    }
    if nsys():
        options = ("profile", "-t", "cuda", "-s", "none", "--cpuctxsw", "none")
        variants["nsys --python-backtrace"] = Variant(
            (str(nsys()), *options, "--python-backtrace=cuda", "-o", "{out}"), every=3
        )
    found = {}
    for name, figure, words in (
        ("depth 4", "us_per_call", ("loop", "{log}", "--depth", "4")),
        ("depth 40", "us_per_call", ("loop", "{log}", "--depth", "40")),
        ("train", "ms_per_step", ("train", "{log}")),
    ):
        found[name] = compare(runner, [*PROGRAM, *words], variants, rounds, figure)
    return found


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("exact", "price"))
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "stacks.log", SECONDS)
    report: dict[str, Any] = {"machine": machine()}
    if options.only != "price":
        report["exact"] = [exact(runner, program) for program in ("additions", "llama")]
        runner.write(report)
    if options.only != "exact":
        report["price"] = price(runner, options.rounds)
    runner.write(report)
    sys.exit(any(case["wrong"] for case in report.get("exact", [])))


if __name__ == "__main__":
    main()
