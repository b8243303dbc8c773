"""Compares a captured trace with what its programs say they launched.

    python verify.py TRACE LOG [LOG ...] [--reference FILE] [--gpu UUID ...]

Prints one JSON object; exits with 1 if a check failed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
from checks import PER_PROGRAM, Check, Log, TraceFiles


def processes(trace: TraceFiles, logs: Sequence[Log]) -> Check:
    """Each program is there once, and nobody else."""
    found = sorted(pid for (pid,) in trace.rows("SELECT pid FROM process"))
    expected = sorted(log["pid"] for log in logs)
    cupti = trace.rows("SELECT DISTINCT cupti_version, cupti_path, driver_version FROM process")
    check = Check("processes", {"processes": len(found), "cupti_and_driver": cupti})
    if found != expected:
        check.problems.append(f"pids are {found}, expected {expected}")
    return check


def devices(trace: TraceFiles, gpus: Sequence[str]) -> Check:
    """Kernels ran on a device of the machine, known by its UUID."""
    uuids = sorted({uuid for (uuid,) in trace.rows("SELECT device_uuid FROM device")}, key=str)
    orphans = trace.value(
        "SELECT count(*) FROM kernel ANTI JOIN device USING (process_id, device_id)"
    )
    check = Check("devices", {"uuids": uuids})
    if not uuids or not set(uuids) <= set(gpus or uuids):
        check.problems.append(f"devices are {uuids}, the machine has {list(gpus)}")
    if orphans:
        check.problems.append(f"{orphans} kernels are on a device that is not in the table")
    return check


def reference(trace: TraceFiles, log: Log, counts: Mapping[str, Mapping[str, int]]) -> Check:
    """The measured steps ran the same kernels as under torch.profiler, by name and in number."""
    process, phase = trace.process(log), log["phase"]
    inside = f"start_ns BETWEEN {phase['begin_ns']} AND {phase['end_ns']} AND {process}"
    ours: Counter[str] = Counter()
    mangled_of: dict[str, str] = {}
    for mangled, demangled, count in trace.rows(
        f"""SELECT name, any_value(demangled), count(*) FROM kernel
        LEFT JOIN kernel_name ON name = mangled WHERE {inside} GROUP BY name"""
    ):
        key = plain_name(demangled or mangled)
        ours[key] += count
        mangled_of[plain_name(mangled)] = key
    theirs: Counter[str] = Counter()
    for name, count in counts["kernels"].items():
        key = plain_name(name)
        theirs[mangled_of.get(key, key)] += count  # long names are left mangled there
    check = Check("same kernels as under torch.profiler", {"steps": phase["steps"]})
    check.numbers["kernels"] = {
        "ours": ours.total(),
        "theirs": theirs.total(),
        "names": len(theirs),
    }
    for name in sorted(set(ours) | set(theirs)):
        if ours[name] != theirs[name]:
            check.problems.append(f"{name[:160]}: {ours[name]} here, {theirs[name]} there")
    for table, key in (("memcpy", "copies"), ("memset", "memsets")):
        here, there = (
            trace.value(f"SELECT count(*) FROM {table} WHERE {inside}"),
            sum(counts[key].values()),
        )
        check.numbers[table] = {"ours": here, "theirs": there}
        if here != there:
            check.problems.append(f"{table}: {here} here, {there} there")
    return check


def plain_name(name: str | None) -> str:
    """A name without blanks, which demanglers set differently; "" for none."""
    return re.sub(r"\s+", "", name or "")


def verify(
    path: Path,
    logs: Sequence[Log],
    launch: Any,
    *,
    counts: Mapping[str, Mapping[str, int]] | None = None,
    gpus: Sequence[str] = (),
) -> list[Check]:
    """All checks of a trace.

    Args:
        path: the trace folder.
        logs: logs of all programs that were traced.
        launch: Arrow table of the view ``launch``.
        counts: what torch.profiler counted for the first program, if that was done.
        gpus: UUIDs of the machine's GPUs.
    """
    try:
        trace = TraceFiles(path, launch)
    except duckdb.Error as error:
        return [Check("readable", problems=[str(error)])]
    checks = [
        _guarded("processes", processes, trace, logs),
        _guarded("devices", devices, trace, gpus),
    ]
    for log in logs:
        for function in PER_PROGRAM:
            check = _guarded(function.__name__, function, trace, log)
            if len(logs) > 1:
                check.name = f"{check.name} (pid {log['pid']})"
            checks.append(check)
    if counts is not None:
        checks.append(_guarded("reference", reference, trace, logs[0], counts))
    return checks


def _guarded(name: str, function: Callable[..., Check], *arguments: Any) -> Check:
    """The check, or one that failed where a table or a log lacks what it reads."""
    try:
        return function(*arguments)
    except (duckdb.Error, LookupError, TypeError, ValueError) as error:
        return Check(name, problems=[f"{type(error).__name__}: {error}"])


def launch_view(path: Path) -> Any:
    """The product's view ``launch``, as an Arrow table."""
    import cupti_etl

    with cupti_etl.open(path) as trace:
        return trace.sql("SELECT process_id, correlation_id FROM launch").arrow()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--gpu", action="append", default=[])
    options = parser.parse_args()
    logs = [json.loads(path.read_text()) for path in options.logs]
    counts = json.loads(options.reference.read_text()) if options.reference else None
    checks = verify(
        options.trace, logs, launch_view(options.trace), counts=counts, gpus=options.gpu
    )
    print(json.dumps([check.as_dict() for check in checks], indent=2))
    return 0 if all(check.passed for check in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
