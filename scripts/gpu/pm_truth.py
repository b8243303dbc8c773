"""Compares hardware metrics of kernels with what the kernels' own programs count.

    python pm_truth.py --out DIR --work DIR --truth PROGRAM [--cupti PATH] [--only PART ...]

PROGRAM is scripts/gpu/truth.cu, compiled.  Its kernels (copy, triad, reduction, spin, FMA; 2 us to
20 ms; alone and two at once) and PyTorch's products in bf16 and fp32 run under ``cupti-etl capture
--pm``; then kernel_metrics and kernel_run_metric are asked for bytes of device memory and for the
activity of pipes, and compared with bytes and operations that were counted.  Limits are 5 per cent
for kernels of ten samples and more, and 10 for shorter ones; of what must be 0, 1 and 2 per cent of
the peak.  Where there is an ``ncu``, its figures stand beside ours; they are not judged.

Writes DIR/pm_truth.json (machine, a row a comparison with its verdict), DIR/pm_truth.log, and
DIR/fixture, a small trace to keep: the recording, its samples, and what its program counted.
Takes under 4 minutes.  Exits with 1 if a limit is missed, a step fails, or nothing was compared.
Parts are those of ``captures``, and ncu and fixture.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import truth_ncu
from machine import machine
from runs import CUPTI_ETL, PYTHON, Done, Runner
from truth_compare import compare
from truth_rows import ABSTAINED, TOLD, WITHIN

from cupti_etl.errors import EtlError

HERE = Path(__file__).resolve().parent
# What is asked of the traces comes on top.
SECONDS = 205
FIXTURE_BYTES = 3_000_000
FIXTURE_TABLES = ("pm_sample", "pm_metric", "capture", "loss")
BYTES = "fbpa__dram_read_bytes.sum,fbpa__dram_write_bytes.sum"
_SHORT = {BYTES: "bytes"}
# Runs, rounds, and microseconds of the longest kernel: the numbers that truth.cu takes.
EVERYTHING = ("1000", "5", "20000")


@dataclass(frozen=True)
class Capture:
    """A program under capture; ``{log}`` stands for its log."""

    part: str
    pm: str
    interval: str
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of its trace."""
        return "-".join((self.part, _SHORT.get(self.pm, self.pm), self.interval))


def captures(truth: str) -> list[Capture]:
    """All captures, by part; the most telling ones first, in case time runs out."""

    def program(part: str) -> tuple[str, ...]:
        return (truth, "{log}", part, *EVERYTHING)

    gemm = (PYTHON, str(HERE / "truth_gemm.py"), "{log}")
    return [
        # A preset may have to do without the clock; by itself it is always there.
        Capture("clock", "gpc_clock_hz", "100us", (truth, "{log}", "compute", "100", "2", "5000")),
        Capture("traffic", "overview", "50us", program("traffic")),
        Capture("gemm", "overview", "50us", gemm),
        Capture("traffic", "minimal", "20us", program("traffic")),
        Capture("traffic", BYTES, "50us", program("traffic")),
        Capture("pair", "minimal", "20us", program("pair")),
        Capture("compute", "overview", "50us", program("compute")),
        Capture("compute", "pipes", "100us", program("compute")),
        Capture("gemm", "pipes", "100us", gemm),
        Capture("pair", "overview", "50us", program("pair")),
    ]


def capture(
    runner: Runner, case: Capture, cupti: str | None, clock_hz: float | None
) -> dict[str, Any]:
    """Capture a program, then compare; what is in the report of it."""
    trace = runner.folder / "traces" / case.name
    log = runner.folder / f"{case.name}.json"
    done = _captured(runner, case, trace, log, cupti)
    report: dict[str, Any] = {
        "capture": case.name, "part": case.part, "pm": case.pm, "interval": case.interval,
        "seconds": done.seconds, "rows": [], "problems": _ended(done),
    }  # fmt: skip
    if not log.exists():
        report["problems"].append("the program wrote no log")
    if not report["problems"]:
        report.update(compare(trace, json.loads(log.read_text()), clock_hz))
    shutil.rmtree(trace, ignore_errors=True)
    return report


def _captured(
    runner: Runner, case: Capture, trace: Path, log: Path, cupti: str | None, *more: str
) -> Done:
    words = [*CUPTI_ETL, "capture", "-o", str(trace), "--pm", case.pm]
    words += ["--pm-interval", case.interval, "--pm-devices", "0", "--pm-required", *more]
    words += ["--cupti", cupti] if cupti else []
    program = [word.replace("{log}", str(log)) for word in case.command]
    return runner.run([*words, "--", *program], limit=60)


def _ended(done: Done) -> list[str]:
    return [] if done.status == 0 else [f"status {done.status}", *done.last_lines]


def with_ncu(runner: Runner, truth: str, reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Nsight Compute's figures, of few runs each, beside those of the reports."""
    ncu = shutil.which("ncu")
    if not ncu:
        return {"problems": [], "skipped": "there is no ncu"}
    log = str(runner.folder / "ncu.json")
    programs = [
        [truth, log, "traffic", "3", "1", "1000"],
        [PYTHON, str(HERE / "truth_gemm.py"), log, "--runs", "2", "--longest", "4096"],
    ]
    theirs, problems = [], []
    for program in programs:
        done = runner.run(truth_ncu.command(ncu, program), limit=45)
        found = truth_ncu.parse(done.output)
        theirs += found
        if done.status or not found:
            # What another tool cannot do here is told, and is no fault of ours.
            problems += [f"ncu: {line}" for line in (_ended(done) or ["no figures"])]
    return {"problems": [], "notes": problems, "figures": theirs,
            "beside": truth_ncu.beside(theirs, reports)}  # fmt: skip


def fixture(runner: Runner, truth: str, out: Path, cupti: str | None) -> dict[str, Any]:
    """A short run to keep, small enough to be a part of the tests."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tried: list[dict[str, Any]] = []
    for runs, pm, interval in (("30", "overview", "50us"), ("10", "minimal", "100us")):
        case = Capture(
            f"fixture{runs}", pm, interval, (truth, "{log}", "traffic", runs, "1", "1000")
        )
        trace, log = runner.folder / "traces" / case.name, runner.folder / f"{case.name}.json"
        recording = runner.folder / f"{case.name}.etlrec"
        done = _captured(runner, case, trace, log, cupti, "--save-raw", str(recording))
        if done.status:
            return {"problems": _ended(done), "tried": tried}
        kept = out / "fixture"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        shutil.copy(recording, kept / "pm_truth.etlrec")
        shutil.copy(log, kept / "pm_truth.json")
        for table in FIXTURE_TABLES:
            parts = [
                pq.ParquetFile(part).read() for part in sorted((trace / table).glob("*.parquet"))
            ]
            if parts:  # the first part of pm_sample may lack the columns of metrics
                rows = pa.concat_tables(parts, promote_options="default")
                pq.write_table(rows, kept / f"{table}.parquet", compression="zstd")
        sizes = {path.name: path.stat().st_size for path in sorted(kept.iterdir())}
        tried.append({"pm": pm, "interval": interval, "bytes": sizes})
        if sum(sizes.values()) <= FIXTURE_BYTES:
            return {"problems": [], "tried": tried}
    shutil.rmtree(kept, ignore_errors=True)
    return {"problems": [f"larger than {FIXTURE_BYTES} bytes, however short"], "tried": tried}


def safely(step: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A step's report; if it breaks, why."""
    try:
        return step()
    except EtlError as error:
        return {"problems": [f"{error.message}; {error.hint}"]}
    except Exception as error:  # the other steps are still worth their time
        return {"problems": [f"{type(error).__name__}: {error}"]}


def summary(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Counts of verdicts, and what was beyond its limit or abstained from, a line each."""
    rows = [(each["capture"], row) for each in reports for row in each.get("rows", ())]
    counts = Counter(row["verdict"].split(" by ")[0] for _, row in rows)

    def line(capture: str, row: dict[str, Any], end: str) -> str:
        what = f"{row['kernel'][:40]} {row['grid']} {row['mean_us']:.1f} us"
        return f"{capture}: {what} {row['query']} {row['metric']}: {end}"

    done = (WITHIN, ABSTAINED, TOLD)
    return {
        "verdicts": dict(counts),
        "off": [line(c, r, r["verdict"]) for c, r in rows if r["verdict"] not in done],
        "abstained": [line(c, r, r["reason"]) for c, r in rows if r["verdict"] == ABSTAINED],
    }


def main(arguments: list[str]) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--truth", required=True, help="truth.cu, compiled")
    parser.add_argument("--cupti")
    parser.add_argument("--only", nargs="*", default=[], help="parts, or names of captures")
    asked = parser.parse_args(arguments)
    begin = time.monotonic()
    runner = Runner(asked.work, asked.out / "pm_truth.log", SECONDS)
    reports: list[dict[str, Any]] = []
    report: dict[str, Any] = {"machine": machine(), "captures": reports}

    def wanted(*names: str) -> bool:
        return not asked.only or any(name in asked.only for name in names)

    def write() -> None:
        """What is known so far, in case this is the last that is heard of the machine."""
        report["summary"] = summary(reports)
        report["seconds"] = round(time.monotonic() - begin, 1)
        (asked.out / "pm_truth.json").write_text(json.dumps(report, indent=1, default=float) + "\n")

    if wanted("fixture"):
        report["fixture"] = safely(partial(fixture, runner, asked.truth, asked.out, asked.cupti))
        write()
    for case in captures(asked.truth):
        if wanted(case.part, case.name):
            about = {"capture": case.name, "part": case.part}
            clocks = (each["clock_hz"] for each in reports if each.get("clock_hz"))
            step = partial(capture, runner, case, asked.cupti, next(clocks, None))
            reports.append({**about, **safely(step)})
            write()
    if wanted("ncu"):
        report["ncu"] = safely(partial(with_ncu, runner, asked.truth, reports))
    write()
    steps = [*reports, *(report[name] for name in ("fixture", "ncu") if name in report)]
    problems = [problem for step in steps for problem in step["problems"]]
    said = report["summary"]
    judged = sum(n for verdict, n in said["verdicts"].items() if verdict in (WITHIN, "off"))
    if reports and not judged:
        problems.append("nothing was compared")
    report["passed"] = not problems and not said["off"]
    write()
    for line in [*said["off"], *said["abstained"], *problems]:
        print(line[:300])
    verdict = "PASSED" if report["passed"] else "FAILED"
    print(f"{verdict} in {report['seconds']} s: {said['verdicts']}")
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
