"""``capture --pytorch`` against what torch.profiler counts, and what it costs.

    python pytorch.py --out DIR --work DIR [--rounds 3] [--only exact|kinds|price]

Writes DIR/pytorch.json; exits with 1 if something is wrong.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from machine import machine
from overhead import Variant, captured, compare
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

HERE = Path(__file__).resolve().parent
SECONDS = 550
APP, KINDS_APP = str(HERE / "pytorch_app.py"), str(HERE / "pytorch_kinds.py")
AT_ONCE = 4
# What runs on threads on which the profiler was not started is not in its profile.
OTHER_THREADS = ("threads", "loader")
# The profiler's own GPU times differ from run to run; where most time is, by less than this.
NEAR, MOST_OF_IT = 0.15, 0.02
# Beside operators the profiler has calls of the runtime as events, too; compiled code tells of its
# parts only while torch.profiler runs; and ranges of NCCL end on another thread.
OF_THE_PROFILER = (
    *("cuda", "cu", "ProfilerStep", "Activity Buffer", "Buffer Flush", "Lazy Function Loading"),
    *("INVALID", "nccl:"),
    *("triton_", "## Call CompiledFxGraph", "Pregraph bytecode", "AOTDispatcher Runtime"),
)


def capture(
    runner: Runner,
    program: str,
    *options: str,
    before: tuple[str, ...] = (),
    app: str = APP,
) -> tuple[dict[str, Any], Any, dict[str, Any]]:
    """A program under --pytorch: the case, its trace and what it logged."""
    name = f"{Path(app).stem}-{program}"
    log, folder = runner.folder / f"{name}.json", runner.folder / "traces" / name
    words = [*CUPTI_ETL, "capture", "--pytorch", *options, "-o", str(folder), "--", PYTHON]
    case, found = runner.logged(program, [*words, *before, app, program, str(log)], log)
    if found is None:
        return case, None, {}
    trace = cupti_etl.open(folder)
    details = trace.sql("SELECT DISTINCT detail FROM process WHERE detail IS NOT NULL").arrow()
    case["detail"] = [row["detail"] for row in details.to_pylist()]
    case["wrong"] += [text for text in case["detail"] if "not recorded" in text]
    return case, trace, found


def compare_counts(
    case: dict[str, Any],
    what: str,
    ours: dict[str, int],
    theirs: dict[str, int],
    *,
    at_least: bool = False,
) -> None:
    """How often each name was counted must be the same, or at least what the profiler saw."""
    counts = {
        name: (theirs.get(name, 0), ours.get(name, 0)) for name in theirs.keys() | ours.keys()
    }
    case[what] = len(counts)
    case[f"{what}_differ"] = different = {
        name: (expected, found)
        for name, (expected, found) in counts.items()
        if (found < expected if at_least else found != expected)
    }
    if different or not counts:
        case["wrong"].append(f"{len(different)} of {len(counts)} {what} are counted otherwise")


def operators(trace: Any) -> dict[str, dict[str, Any]]:
    """The rows of operator_summary by their names."""
    return {row["name"]: row for row in trace.query("operator_summary").arrow().to_pylist()}


def recorded(counts: dict[str, int]) -> dict[str, int]:
    """Those of which --pytorch has a record."""
    return {name: n for name, n in counts.items() if not name.startswith(OF_THE_PROFILER)}


def compare_operators(case: dict[str, Any], trace: Any, theirs: dict[str, list[float]]) -> None:
    """Counts by name must be the same, but for what only the profiler has."""
    ours = {name: row["calls"] for name, row in operators(trace).items()}
    counts = {name: int(row[0]) for name, row in theirs.items()}
    at_least = case["name"] in OTHER_THREADS
    compare_counts(case, "operators", recorded(ours), recorded(counts), at_least=at_least)
    case["calls"] = sum(ours.values())


def compare_times(case: dict[str, Any], trace: Any, theirs: dict[str, list[float]]) -> None:
    """Times on the GPU must be nearly the same, of the operators with most of it."""
    ours = operators(trace)
    total = sum(self_us for _, self_us, _ in theirs.values())
    times = {
        name: [round(self_us, 1), round(ours[name]["self_gpu_ns"] / 1e3, 1)]
        for name, (_, self_us, _) in theirs.items()
        if name in ours and self_us > MOST_OF_IT * total
    }
    case["self_gpu_us"] = times
    far = [name for name, (a, b) in times.items() if abs(a - b) > NEAR * a]
    if far or not times:
        case["wrong"].append(f"GPU time is far from the profiler's: {far}")


def compare_kernels(case: dict[str, Any], trace: Any, theirs: dict[str, int]) -> None:
    """Counts by name must be the same; what the profiler repeats of ranges is no kernel."""
    rows = trace.sql("SELECT demangled, count(*) AS n FROM kernel_named GROUP BY ALL").arrow()
    ours = {row["demangled"]: row["n"] for row in rows.to_pylist()}
    compare_counts(case, "kernels", ours, theirs)
    case["launched"] = sum(ours.values())


def exact(runner: Runner) -> list[dict[str, Any]]:
    """Operators and modules of a Llama, eager and compiled."""
    cases = []
    for program in ("llama", "compiled"):
        log = runner.folder / f"{program}-profiled.json"
        done = runner.run([PYTHON, APP, program, str(log), "--tool", "torch"])
        case, trace, said = capture(runner, program, "--capture-range", "nvtx:measured")
        cases.append(case)
        if trace is None or done.status:
            case["wrong"].append("no trace, or no profile")
            continue
        profiled = json.loads(log.read_text())
        compare_operators(case, trace, profiled["operators"])
        compare_times(case, trace, profiled["operators"])
        case["compiles"] = [profiled["compiles"], said["compiles"]]
        if profiled["compiles"] != said["compiles"] or profiled["breaks"] != said["breaks"]:
            case["wrong"].append("it was compiled otherwise than without a capture")
        modules = trace.query("module_summary").arrow().to_pylist()
        gpu_ns = trace.sql("SELECT sum(end_ns - start_ns)::BIGINT AS n FROM gpu_interval").arrow()
        outer = [row for row in modules if row["path"] in ("LlamaForCausalLM",)]
        case |= {
            "modules": len(modules),
            "gpu_ns": gpu_ns.to_pylist()[0]["n"],
            "self_of_modules_ns": sum(row["self_gpu_ns"] for row in modules),
            "outermost_ns": sum(row["gpu_ns"] for row in outer),
            "backward_ns": sum(row["backward_gpu_ns"] or 0 for row in outer),
        }
        if program == "llama":
            names = {
                f"LlamaForCausalLM.{name}" if name else "LlamaForCausalLM"
                for name in said["modules"]
            }
            missing = {row["path"] for row in modules} - names
            if missing or case["self_of_modules_ns"] != case["outermost_ns"]:
                case["wrong"].append(
                    f"modules do not add up; not in the model: {sorted(missing)[:3]}"
                )
            if not case["backward_ns"]:
                case["wrong"].append("no module has a backward pass")
            mfu = trace.query("operator_flops").arrow().to_pylist()
            case["tflops"] = [
                [row["name"], row["tflops_per_s"], row["peak_pct"]] for row in mfu[:5]
            ]
            if not any(row["tflops_per_s"] for row in mfu):
                case["wrong"].append("no operator has TFLOP/s")
    return cases


def kinds(runner: Runner) -> list[dict[str, Any]]:
    """Operators and kernels of programs of many kinds, several at once, as only counts matter."""

    def one(program: str) -> dict[str, Any]:
        log = runner.folder / f"{program}-profiled.json"
        done = runner.run([PYTHON, KINDS_APP, program, str(log), "--tool", "torch"])
        case, trace, _ = capture(runner, program, "--capture-range", "nvtx:measured", app=KINDS_APP)
        if trace is None or done.status:
            case["wrong"].append("no trace, or no profile")
            return case
        profiled = json.loads(log.read_text())
        compare_operators(case, trace, profiled["operators"])
        compare_kernels(case, trace, profiled["kernels"])
        return case

    from pytorch_kinds import KINDS

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, KINDS))


def processes(runner: Runner) -> list[dict[str, Any]]:
    """Workers of a loader, and ranks of torchrun."""
    workers, trace, said = capture(runner, "workers")
    if trace is not None:
        calls = {row["name"]: row["calls"] for row in trace.query("operator_summary")}
        workers["linear"] = calls.get("aten::linear")
        if workers["linear"] != said["batches"] + 1:
            workers["wrong"].append(f"{workers['linear']} products, not {said['batches'] + 1}")
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "29555")
    ranks, trace, _ = capture(runner, "ranks", before=torchrun)
    if trace is not None:
        rows = trace.sql("""
            SELECT rank, count(*) FILTER (name = 'aten::linear') AS linear
            FROM _operator JOIN process USING (process_id) GROUP BY rank ORDER BY rank
        """).arrow()
        ranks["ranks"] = rows.to_pylist()
        if [row["linear"] for row in ranks["ranks"]] != [3, 3]:
            ranks["wrong"].append("not three products of each rank")
    return [workers, ranks]


def price(runner: Runner, rounds: int) -> dict[str, Any]:
    """What a step costs under each tool: medians, and what each adds, in one run."""
    variants = {
        "plain": Variant(),
        "capture": captured(every=1),
        "--pytorch=ops": captured("--pytorch=ops", every=1),
        "--pytorch=modules": captured("--pytorch=modules", every=1),
        "--pytorch=ops,modules": captured("--pytorch=ops,modules", every=1),
        "--pytorch": captured("--pytorch", every=1),
        "emit_nvtx, captured": Variant(captured().wrap, arguments=("--tool", "emit_nvtx")),
        "torch.profiler": Variant(arguments=("--tool", "torch")),
    }
    return compare(runner, [PYTHON, APP, "train", "{log}"], variants, rounds, "ms_per_step")


def main() -> None:
    """Run all cases and write the report."""
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", choices=("exact", "kinds", "price"))
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "pytorch.log", SECONDS)
    report: dict[str, Any] = {"machine": machine()}
    parts = {
        "exact": lambda: [*exact(runner), *processes(runner)],
        "kinds": lambda: kinds(runner),
        "price": lambda: price(runner, options.rounds),
    }
    for name, part in parts.items():
        if options.only in (None, name):
            report[name] = part()
            runner.write(report)
    cases = [*report.get("exact", []), *report.get("kinds", [])]
    for case in cases:
        print(f"{'FAILED' if case['wrong'] else 'passed':7} {case['name']} {case['wrong']}")
    print(json.dumps(report.get("price", {}).get("median", {}), indent=1))
    sys.exit(any(case["wrong"] for case in cases))


if __name__ == "__main__":
    main()
