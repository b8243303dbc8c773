"""Captures programs that use one feature each, and counts what the trace holds.

    python features.py --out DIR --work DIR --features PROGRAM --launch-loop PROGRAM
                       --newer-cupti PATH [--only NAME ...]

Writes DIR/features.json; exits with 1 if anything failed.  Cases that need two GPUs are left out
where there is one.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, Runner, arguments

import cupti_etl

HERE = Path(__file__).resolve().parent
SECONDS = 500
KERNELS = "SELECT count(*) FROM kernel"
# Rows without which the others belong to nothing, and times that were not given.
WHOLE = {
    "SELECT count(*) FROM loss": 0,
    "SELECT count(*) FROM kernel WHERE start_ns IS NULL OR end_ns IS NULL OR name IS NULL": 0,
    "SELECT sum(emitted - stored) FROM process": 0,
    "SELECT count(*) FROM kernel ANTI JOIN device USING (process_id, device_id)": 0,
}
WINDOWS = "SELECT count(*) FROM capture_window WHERE opened_by = 'range' AND closed_by = 'range'"
ADDED = "SELECT count(*) FROM kernel WHERE name LIKE '%elementwise%'"


@dataclass(frozen=True)
class Case:
    """A capture, and what its trace must answer.

    Attributes:
        name: name in the report, and of the trace folder.
        command: the traced command.
        options: of ``capture``.
        exact: answers of SQL that give one number.
        least: the least that SQL may give.
        status: exit status of the capture.
        environ: further environment variables.
        gpus: how many it needs.
    """

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    exact: Mapping[str, float] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
    status: int = 0
    environ: Mapping[str, str] = field(default_factory=dict)
    gpus: int = 1


def cases(features: str, newer: str) -> Iterator[Case]:
    """One for each feature."""
    full = ("--kinds", "full")

    def library(name: str) -> tuple[str, ...]:
        return (PYTHON, str(HERE / "libraries.py"), name)

    moved = "SELECT coalesce(sum(bytes), 0) FROM unified_memory WHERE counter = 'bytes_transfer_{}'"
    yield Case(
        "managed", (features, "managed"), full, {KERNELS: 2},
        # 64 MiB each time the host or the device wants what the other has.
        {moved.format("HtoD"): 2 * (64 << 20), moved.format("DtoH"): 2 * (64 << 20)},
    )  # fmt: skip
    operations = "SELECT count(*) FROM memory WHERE is_async AND operation = '{}'"
    yield Case(
        "pool", (features, "pool", "50"), full,
        {operations.format("allocation"): 50, operations.format("release"): 50},
        {"SELECT count(*) FROM memory_pool WHERE operation = 'created'": 1},
    )  # fmt: skip
    for level, kernels, graphs in (("node", 200_000, 0), ("graph", 0, 2000)):
        exact = {KERNELS: kernels, "SELECT count(*) FROM graph_trace": graphs, **WHOLE}
        command = (features, "graph", "100", "2000")
        yield Case(f"graph_{level}", command, ("--graph", level), exact)
    exact = {KERNELS: 2_000_000, **WHOLE}
    yield Case("graph_nodes", (features, "graph", "1000", "2000"), ("--kinds", "light"), exact)
    exact = {KERNELS: 512 * 100, **WHOLE}
    yield Case("threads", (features, "threads", "512", "100"), (), exact)
    for how, value in (("nvtx", "nvtx:step"), ("profiler", "cudaProfilerApi")):
        for form, environ in (("fixed", {}), ("selected", {"LD_PRELOAD": newer})):
            yield Case(
                f"ranges_{how}_{form}", library(f"ranges-{how}"),
                ("--capture-range", value, "--records", form),
                {KERNELS: 20 * (30 + 20), WINDOWS: 20,
                 "SELECT count(*) FROM kernel WHERE graph_id IS NOT NULL": 400, **WHOLE},
                environ=environ,
            )  # fmt: skip
    # Filling the array takes one, too.
    others = "SELECT count(*) FROM loss WHERE cause = 'other_client'"
    # Whether or not the other client finalizes CUPTI when it leaves, we go on.
    for name, teardown in (("conflict_yield", "1"), ("conflict_stays", "0")):
        yield Case(
            name, library("conflict"), (), {ADDED: 2001, others: 1},
            status=4, environ={"TEARDOWN_CUPTI": teardown},
        )  # fmt: skip
    yield Case(
        "conflict_selected", library("conflict"), ("--records", "selected"),
        {ADDED: 3001, others: 0}, status=1, environ={"LD_PRELOAD": newer},
    )  # fmt: skip
    yield Case(
        "cupy", library("cupy"), (),
        {"SELECT count(*) FROM kernel WHERE name LIKE '%multiply%'": 50, **WHOLE},
    )  # fmt: skip
    finished = "SELECT count(*) FROM process WHERE state = 'finished'"
    yield Case("change", library("change"), (), {ADDED: 302, finished: 1})
    killed = "SELECT count(*) FROM loss WHERE cause = 'killed' AND records IS NULL"
    yield Case("die", library("die"), (), {ADDED: 101, killed: 1}, status=128 + 9)
    yield Case("jax", library("jax"), (), WHOLE, {KERNELS: 30})
    torchrun = (PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2")
    reduced = "SELECT count(*) FROM kernel WHERE name LIKE '%AllReduce%'"
    ranks = "SELECT count(DISTINCT rank) FROM process JOIN kernel USING (process_id)"
    yield Case(
        "nccl", (*torchrun, *library("nccl")[1:]), (), {reduced: 50, ranks: 2, **WHOLE}, gpus=2
    )
    copied = "SELECT count(*) FROM memcpy_p2p WHERE bytes = 1 << 20"
    # A kind of its own, or copies of the kind PtoP: what CUPTI makes of it.
    both = f"SELECT ({copied}) + (SELECT count(*) FROM memcpy WHERE copy_kind = 'PtoP')"
    yield Case("peer", (features, "peer", "20"), full, {both: 20}, gpus=2)


# What the choices of a capture are combined from; each pair of values occurs in some run.
FACTORS: dict[str, tuple[str, ...]] = {
    "form": ("fixed", "newer fixed", "newer selected"),
    "--kinds": ("light", "default", "full"),
    "--api": ("none", "launch", "default", "all"),
    "--graph": ("node", "graph"),
    "--flush-ms": ("10", "100"),
    "--buffer-mb": ("32", "256"),
    "program": ("launch_loop", "graph"),
}


def pairwise(factors: Mapping[str, tuple[str, ...]]) -> list[dict[str, str]]:
    """Few combinations in which each two values of two factors come together."""
    names = list(factors)
    pairs = list(itertools.combinations(names, 2))
    missing = {(a, x, b, y) for a, b in pairs for x, y in itertools.product(factors[a], factors[b])}
    everything = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*factors.values())
    ]

    def gain(run: Mapping[str, str]) -> int:
        return sum((a, run[a], b, run[b]) in missing for a, b in pairs)

    runs = []
    while missing:
        best = max(everything, key=gain)
        runs.append(best)
        missing -= {(a, best[a], b, best[b]) for a, b in pairs}
    return runs


def combined(features: str, launch_loop: str, newer: str, work: Path) -> Iterator[Case]:
    """A case for each of the combinations."""
    launches = 20_000
    for number, run in enumerate(pairwise(FACTORS)):
        options = [w for name, value in run.items() if name[:2] == "--" for w in (name, value)]
        options += ["--records", run["form"].split()[-1]]
        if run["form"].startswith("newer"):
            options += ["--cupti", newer]
        if run["program"] == "graph":
            command = (features, "graph", "100", "200")
            kernels = 0 if run["--graph"] == "graph" else launches
        else:
            command = (launch_loop, str(work / f"pair-{number}.json"), str(launches), "2", "1")
            kernels = launches + 100  # and its probes
        yield Case(f"pair_{number}", command, tuple(options), {KERNELS: kernels, **WHOLE})


def orphaned(runner: Runner) -> dict[str, Any]:
    """A collector is killed, and another takes its program up: all additions but some."""
    traces = [runner.folder / "traces" / name for name in ("orphaned", "attached")]
    program = [PYTHON, str(HERE / "libraries.py"), "orphan"]
    command = [*CUPTI_ETL, "capture", "-o", str(traces[0]), "--", *program]
    begin = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=runner.folder) as capture:
        assert capture.stdout is not None
        pid = capture.stdout.readline().strip()
        time.sleep(3)
        capture.kill()
        recovered = runner.run([*CUPTI_ETL, "recover", str(traces[0])])
        attached = runner.run([*CUPTI_ETL, "attach", "-o", str(traces[1]), pid])
        made = int(capture.stdout.readline()) + 1
    problems = [d.output for d in (recovered, attached) if d.status]
    with cupti_etl.open(*traces) as both, cupti_etl.open(traces[1]) as second:
        found, late = (t.sql(ADDED).arrow().to_pylist()[0]["count_star()"] for t in (both, second))
        nameless = second.sql("SELECT count(*) n FROM kernel WHERE name IS NULL").arrow()
    # Seven of the twelve seconds at least are the second collector's; what the first had and
    # had not written, a second's worth and a roll's, is lost.
    if not (made * 0.6 < found <= made and late > made * 0.4):
        problems.append(f"{made} made, {found} found, {late} of them by the second collector")
    if nameless.to_pylist()[0]["n"]:
        problems.append("kernels without a name in the second trace")
    return {
        "case": "orphaned",
        "options": [],
        "seconds": round(time.monotonic() - begin, 1),
        "answers": {"made": made, "found": found, "by the second collector": late},
        "problems": problems,
    }


def judge(case: Case, trace: Path, status: int) -> dict[str, Any]:
    """What the trace answers beside what it should."""
    answers: dict[str, Any] = {}
    problems = [] if status == case.status else [f"status {status}, not {case.status}"]
    with cupti_etl.open(trace) as opened:
        for wanted, is_exact in ((case.exact, True), (case.least, False)):
            for sql, number in wanted.items():
                (answer,) = opened.sql(sql).arrow().to_pylist()[0].values()
                answers[sql] = float(answer)
                if answer < number or (is_exact and answer != number):
                    problems.append(f"{sql}: {answer}, not {number}")
        seen = "SELECT records, detail, cupti_version FROM process"
        answers["process"] = opened.sql(seen).arrow().to_pylist()
        costs = "SELECT count(*) n, median(switch_on_ns) on_ns, median(switch_off_ns) off_ns"
        answers["windows"] = opened.sql(f"{costs} FROM capture_window").arrow().to_pylist()
    return {"answers": answers, "problems": problems}


def main() -> int:
    parser = arguments(__doc__, "--launch-loop", "--newer-cupti")
    parser.add_argument("--features", required=True)
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names of cases")
    options = parser.parse_args()
    facts = machine()
    runner = Runner(options.work, options.out / "features.log", SECONDS)
    reports: list[dict[str, Any]] = []
    wanted = [
        *cases(options.features, options.newer_cupti),
        *combined(options.features, options.launch_loop, options.newer_cupti, options.work),
    ]
    only = tuple(options.only)

    def keep(report: dict[str, Any]) -> None:
        reports.append(report)
        print(f"== {report['case']}: {'; '.join(report['problems']) or 'passed'}\n", flush=True)
        text = json.dumps({"machine": facts, "cases": reports}, indent=1, default=float)
        (options.out / "features.json").write_text(text + "\n")

    if not only or "orphaned" in only:
        keep(orphaned(runner))
    for case in wanted:
        if case.gpus > len(facts["gpus"]) or (only and not case.name.startswith(only)):
            continue
        trace = options.work / "traces" / case.name
        command = [*CUPTI_ETL, "capture", "-o", str(trace), *case.options, "--", *case.command]
        done = runner.run(command, environ=case.environ)
        try:
            found = judge(case, trace, done.status)
        except Exception as error:
            found = {"problems": [f"the trace cannot be asked: {error}", *done.last_lines]}
        keep({"case": case.name, "options": case.options, "seconds": done.seconds, **found})
    failed = [report["case"] for report in reports if report["problems"]]
    print(f"{len(reports) - len(failed)} of {len(reports)} passed; failed: {failed}")
    return 1 if failed or not reports else 0


if __name__ == "__main__":
    sys.exit(main())
