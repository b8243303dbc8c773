"""PC sampling of real programs: samples, their sums, what it costs, and source lines.

    python pc_sampling.py --out DIR --work DIR --stalls PATH

Writes DIR/pc_sampling.json, and DIR/traces with the samples and cubins of some runs; exits with 1
if a check fails.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stall_truth
from machine import machine
from runs import CUPTI_ETL, PYTHON, arguments

import cupti_etl
from cupti_etl.errors import EtlError

HERE = Path(__file__).resolve().parent
SECONDS = 200
PERIODS = ("10", "12", "15", "18")
JUDGED = ("10", "12")
# Of each trace that is brought home.
_KEPT = ("pc_sample", "pc_window", "cubin", "kernel", "kernel_name", "loss", "process", "capture")


def keep(trace: Path, to: Path) -> None:
    """What is looked at elsewhere, if it is not large."""
    if sum(path.stat().st_size for path in trace.rglob("*.parquet")) < 24 << 20:
        shutil.copytree(trace, to, dirs_exist_ok=True)


def found(folder: Path) -> dict[str, Any]:
    """What a trace says of its samples."""
    trace = cupti_etl.open(folder)
    sums = """
        SELECT count(*) AS windows, sum(samples)::BIGINT AS samples,
               sum(stored_samples)::BIGINT AS stored, sum(dropped_samples)::BIGINT AS dropped,
               sum(other_samples)::BIGINT AS other, sum(lost_samples)::BIGINT AS lost,
               sum(left_out_samples)::BIGINT AS left_out, min(left_out_samples) AS least_left_out,
               count(*) FILTER (WHERE buffer_full) AS full, any_value(mode) AS mode,
               any_value(device_id) AS device, list(samples ORDER BY start_ns)[:12] AS each,
               list(end_ns - start_ns ORDER BY start_ns)[:12] AS lengths
        FROM pc_window"""
    (windows,) = trace.sql(sums)
    reasons = """
        SELECT coalesce(short, function) AS function, stall_reason, sum(samples)::BIGINT AS samples,
               sum(not_issued_samples)::BIGINT AS not_issued,
               count(DISTINCT pc_offset) AS pcs, count(DISTINCT correlation_id) AS launches
        FROM pc_sample LEFT JOIN kernel_name ON mangled = function
        GROUP BY ALL ORDER BY samples DESC LIMIT 40"""
    (rows,) = trace.sql("SELECT count(*) AS rows, sum(samples)::BIGINT AS samples FROM pc_sample")
    kernels = """SELECT count(*) AS kernels, count(DISTINCT name) AS names,
                        sum(end_ns - start_ns)::BIGINT AS ns FROM kernel"""
    cubins = """SELECT count(DISTINCT cubin_crc) AS cubins, count(*) AS pieces,
                       sum(octet_length(bytes)) AS bytes,
                       (SELECT count(DISTINCT cubin_crc) FROM pc_sample) AS sampled,
                       (SELECT count(DISTINCT cubin_crc) FROM pc_sample
                        WHERE cubin_crc NOT IN (SELECT cubin_crc FROM cubin)) AS missing
                FROM cubin"""
    joined = """SELECT count(DISTINCT function) AS functions, count(DISTINCT function) FILTER (
                    WHERE function IN (SELECT name FROM kernel)) AS of_kernels FROM pc_sample"""
    return {
        "windows": windows,
        "rows": rows,
        "kernels": [*trace.sql(kernels)],
        "cubins": [*trace.sql(cubins)],
        "joined": [*trace.sql(joined)],
        "reasons": [*trace.sql(reasons)],
        "loss": [*trace.sql("SELECT cause, table_name, records, detail FROM loss")],
        "process": [
            *trace.sql("SELECT state, detail, cupti_version, emitted, stored FROM process")
        ],
        "accounts": windows["stored"] == rows["samples"] and (windows["least_left_out"] or 0) >= 0,
    }


def waiting(group: int) -> list[str]:
    """What the threads of a process group wait for."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[2]) != group:
                continue
            for task in status.parent.glob("task/*"):
                words = [(task / name).read_text().strip() for name in ("comm", "wchan", "syscall")]
                found.append(f"{task}: {' | '.join(words)}")
        except (OSError, ValueError):
            continue
        for debugger in filter(shutil.which, ("cuda-gdb", "gdb")):
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = subprocess.run(
                    [debugger, "-batch", "-p", status.parent.name, "-ex", "thread apply all bt 14"],
                    capture_output=True, text=True, timeout=20, check=False,
                )  # fmt: skip
                found += done.stdout.splitlines()[-150:]
            break
    return found


def run(command: Sequence[str], folder: Path, limit: float) -> dict[str, Any]:
    """Run a command; of one that hangs, what its threads wait for."""
    begin = time.monotonic()
    with (folder / "output").open("w+") as output:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        result: dict[str, Any] = {}
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            result["waiting"] = waiting(process.pid)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        text = output.read()
        result |= {
            "status": process.returncode,
            "s": round(time.monotonic() - begin, 2),
            "said": text.splitlines()[-12:],
        }
        if "ncu" in command[0]:
            result["output"] = text
    return result


def main() -> int:
    """Entry point."""
    parser = arguments(__doc__)
    parser.add_argument("--stalls", required=True)
    options = parser.parse_args()
    stalls = options.stalls
    report: dict[str, Any] = {"machine": machine(), "runs": {}}
    end = time.monotonic() + SECONDS

    def note(name: str, result: dict[str, Any]) -> None:
        report["runs"][name] = result
        report["ok"] = all(
            each.get("accounts", True) and not each["status"] and "failed" not in each
            for each in report["runs"].values()
        )
        (options.out / "pc_sampling.json").write_text(json.dumps(report, indent=1, default=str))
        print(name, result["status"], result["s"], flush=True)

    def plain(name: str, command: Sequence[str], limit: float = 20) -> dict[str, Any]:
        if time.monotonic() > end:
            result: dict[str, Any] = {"status": 125, "s": 0, "said": ["no time left"]}
        else:
            try:
                result = run(command, options.work, limit)
            except OSError as error:
                result = {"status": 127, "s": 0, "said": [str(error)]}
        return result

    def capture(
        name: str,
        flags: Sequence[str],
        command: Sequence[str],
        limit: float = 20,
        keeps: bool = False,
    ) -> None:
        folder = options.work / "traces" / name
        result = plain(
            name, [*CUPTI_ETL, "capture", *flags, "-o", str(folder), "--", *command], limit
        )
        if folder.exists():
            try:
                result |= found(folder)
                if keeps:
                    keep(folder, options.out / "traces" / name)
            except EtlError as error:
                result["failed"] = repr(error)
        note(name, result)

    app = [PYTHON, str(HERE / "compiled_app.py"), "2"]
    triton = [PYTHON, str(HERE / "triton_app.py"), "--log", "triton.log", "--loops", "2000"]
    capture("default", ["--pc-sampling"], [stalls, "2"], keeps=True)
    capture("duty", ["--pc-sampling=16", "--pc-duty", "30ms/300ms"], [stalls, "3"])
    capture("delay", ["--pc-sampling=16", "--delay", "1s", "--duration", "1s"], [stalls, "3"])
    serialized = ["--pc-sampling=12", "--pc-sampling-mode", "serialized"]
    capture("serialized", serialized, [stalls, "3", "300"])
    capture("short", ["--pc-sampling"], [stalls, "1", "1000"])
    capture("triton", ["--pc-sampling=12"], triton, 25, keeps=True)
    capture("compiled", ["--pc-sampling"], app, 40, keeps=True)
    # Where a loop keeps time with a period, the shares differ: the shortest ones are judged.
    everything = [stalls, "2", "1000000", "all"]
    for period in PERIODS:
        capture(f"causes_{period}", [f"--pc-sampling={period}"], everything, 30)
    counted = ["--range-metrics", ",".join(stall_truth.EXACT_METRICS), "--range-limit", "4"]
    folder = options.work / "traces" / "exact"
    command = [*CUPTI_ETL, "capture", *counted, "-o", str(folder), "--", stalls, "2", "4", "all"]
    note("exact", plain("exact", command, 60))
    exact = stall_truth.exact_shares(cupti_etl.open(folder).sql(stall_truth.EXACT))
    ncu = plain("ncu", stall_truth.ncu_command("ncu", [stalls, "2", "8", "all"], 56), 90)
    theirs = stall_truth.ncu_shares(ncu.pop("output", ""))
    note("ncu", {**ncu, "said": [line[:300] for line in ncu["said"][-2:]]})
    for period in PERIODS:
        folder = options.work / "traces" / f"causes_{period}"
        if folder.exists():
            rows = [*cupti_etl.open(folder).query("kernel_stall")]
            truth = stall_truth.judge(rows, theirs, exact)
            failed = period in JUDGED and not truth["ok"]
            note(f"truth_{period}", {"status": int(failed), "s": 0, **truth})
    note("compiled_plain", plain("compiled_plain", app, 40))
    note("plain", plain("plain", [stalls, "2"]))
    note("doctor", plain("doctor", [*CUPTI_ETL, "doctor"]))
    note("nvdisasm", plain("nvdisasm", ["nvdisasm", "--version"]))
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
