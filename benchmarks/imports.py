"""Importing traces of PyTorch and of nsys, beside HTA, orjson and Python's sqlite3.

Peers stand in an environment of their own (``--peer-python``), as they are not needed to work
on this: ``pip install HolisticTraceAnalysis orjson``.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.common import median, rounded

# One operator, its call and its kernel, and the arrows, as Kineto writes them.
_NAMES = [
    f"void at::native::elementwise_kernel<{i}, at::native::MulFunctor<float>>(int, float*)"
    for i in range(200)
]
_OURS = """
import resource, sys, time, tempfile
from pathlib import Path
import pyarrow, pyarrow.parquet, duckdb, cupti_etl.imports.run as importing
with tempfile.TemporaryDirectory() as scratch:
    started = time.perf_counter()
    importing.import_traces([Path(sys.argv[1])], Path(scratch) / "run", 1)
    print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_HTA = """
import logging, resource, sys, time
logging.disable(logging.CRITICAL)
from hta.common.trace import Trace
started = time.perf_counter()
Trace({0: sys.argv[1]}).parse_traces(use_multiprocessing=False)
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_ORJSON = """
import resource, sys, time, orjson
started = time.perf_counter()
orjson.loads(open(sys.argv[1], "rb").read())
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
_SQLITE = """
import resource, sqlite3, sys, time
import pyarrow as pa
con = sqlite3.connect(sys.argv[1])
started = time.perf_counter()
for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
    cursor = con.execute(f"SELECT * FROM {table}")
    while rows := cursor.fetchmany(32768):
        [pa.array(column) for column in zip(*rows)]
print(time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

# A name, the Python that runs a program, the program, and on how many cores.
_Try = tuple[str, str, str, int]
_OURS_TRIES: list[_Try] = [
    ("ours_1_core", sys.executable, _OURS, 1),
    ("ours_2_cores", sys.executable, _OURS, 2),
]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--events", type=int, default=300_000, help="of the JSON trace")
    parser.add_argument("--rows", type=int, default=1_500_000, help="of the nsys export")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kineto", type=Path, help="a real JSON trace instead of a made one")
    parser.add_argument("--nsys", type=Path, help="a real export instead of a made one")
    parser.add_argument("--peer-python", help="a Python that has HolisticTraceAnalysis and orjson")


def write_kineto(path: Path, events: int) -> None:
    """Groups of five: an operator, its call, its kernel and their two arrows."""
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": [\n')
        for i in range(events // 5):
            ts, corr = 1_712_195_495_000_000 + 20 * i, i + 1
            place = {"device": 0, "context": 1, "stream": 7, "correlation": corr}
            external = {"External id": corr}
            shapes = {"Input Dims": [[i % 512, 64], []], "Input type": ["float", "Scalar"]}
            operator = {**external, "Ev Idx": i, **shapes}
            call = {**external, "cbid": 211, "correlation": corr}
            kernel = {**external, "queued": 0, **place, **_SHAPE, "grid": [i % 99 + 1, 1, 1]}
            group: list[dict[str, Any]] = [
                _event("cpu_op", f"aten::op{i % 60}", ts, 18.25, operator),
                _event("cuda_runtime", "cudaLaunchKernel", ts + 2, 4.5, call),
                _event("kernel", _NAMES[i % 200], ts + 8, 9.125, kernel),
            ]
            arrow = {"id": corr, "pid": 9, "tid": 9, "ts": ts, "cat": "ac2g", "name": "ac2g"}
            group += [{"ph": phase, **arrow} for phase in "sf"]
            file.write((",\n" if i else "") + ",\n".join(map(json.dumps, group)))
        file.write("\n]}")


_SHAPE = {
    "registers per thread": 32,
    "shared memory": 0,
    "blocks per SM": 0.5,
    "warps per SM": 2.0,
    "block": [128, 1, 1],
    "est. achieved occupancy %": 33,
}


def _event(cat: str, name: str, ts: int, dur: float, args: dict[str, Any]) -> dict[str, Any]:
    place = {"pid": 0 if cat == "kernel" else 9, "tid": 9}
    return {"ph": "X", "cat": cat, "name": name, **place, "ts": ts, "dur": dur, "args": args}


def write_nsys(path: Path, rows: int) -> None:
    """Three tables: a fifth kernels, two fifths calls, two fifths NVTX ranges."""
    owner = (1 << 48) | 111 << 24
    columns = (
        'start, "end", deviceId, contextId, greenContextId, streamId, correlationId, globalPid,'
        " demangledName, shortName, mangledName, launchType, cacheConfig, registersPerThread,"
        " gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory,"
        " localMemoryPerThread, localMemoryTotal, gridId, sharedMemoryExecuted, graphNodeId"
    )
    count = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {})"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
        con.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0')")
        con.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        con.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(_NAMES))
        con.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns})")
        con.execute(
            f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL {count.format(rows // 5)}"
            f" SELECT 10000 + i * 9000, 17000 + i * 9000, 0, 1, NULL, 7, i, {owner}, i % 200,"
            " i % 200, i % 200, 1, 1, 32, i % 99, 1, 1, 128, 1, 1, 0, 0, 0, 95813632, i, 16384,"
            " NULL FROM n"
        )
        con.execute(
            'CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, "end", eventClass, globalTid,'
            " correlationId, nameId, returnValue, callchainId)"
        )
        con.execute(
            f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME {count.format(rows * 2 // 5)}"
            f" SELECT i * 4500, 3000 + i * 4500, 0, {owner + 111}, i, i % 7, 0, NULL FROM n"
        )
        con.execute(
            'CREATE TABLE NVTX_EVENTS (start, "end", eventType, rangeId, category, color, text,'
            " globalTid, endGlobalTid, textId, domainId)"
        )
        con.execute(
            f"INSERT INTO NVTX_EVENTS {count.format(rows * 2 // 5)} SELECT i * 4500,"
            f" i * 4500 + 2000, 59, NULL, NULL, NULL, 'range ' || i % 500, {owner + 111},"
            " NULL, NULL, 0 FROM n"
        )


def _run(python: str, code: str, file: Path, cores: int) -> tuple[float, float]:
    """Seconds and peak MB of a program on so many cores."""
    chosen = sorted(os.sched_getaffinity(0))[:cores]

    def pin() -> None:
        os.sched_setaffinity(0, chosen)

    done = subprocess.run(
        [python, "-c", code, str(file)],
        capture_output=True,
        text=True,
        preexec_fn=pin,
        check=True,
    )
    seconds, peak = done.stdout.split()[-2:]
    return float(seconds), int(peak) / 1024


def _tried(
    file: Path, number: int, rounds: int, others: Iterable[_Try]
) -> Iterator[tuple[str, float, float]]:
    """Of ours, and of others: events or rows a second, and MB at the peak."""
    for name, python, code, cores in [*_OURS_TRIES, *others]:
        runs = [_run(python, code, file, cores) for _ in range(rounds)]
        seconds, peaks = zip(*runs, strict=True)
        yield name, rounded(number / median(seconds)), rounded(max(peaks))


def _events(path: Path) -> int:
    from cupti_etl.imports.kineto.events import EventReader

    return sum(batch.num_rows for batch in EventReader(path, {"ph": "s ph"}).batches())


def _rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as con:
        tables = con.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return sum(con.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for (name,) in tables)


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    peer, rounds = arguments.peer_python, arguments.rounds
    with tempfile.TemporaryDirectory() as scratch:
        trace = arguments.kineto or Path(scratch) / "kineto.json"
        if not arguments.kineto:
            write_kineto(trace, arguments.events)
        trace = trace.absolute()
        number = _events(trace)
        figures["kineto_events"] = number
        figures["kineto_mb"] = rounded(trace.stat().st_size / 1e6)
        others = [("hta_1_core", peer, _HTA, 1), ("orjson_1_core", peer, _ORJSON, 1)]
        for name, rate, peak in _tried(trace, number, rounds, others if peer else []):
            figures[f"kineto_{name}_events_per_s"] = rate
            figures[f"kineto_{name}_peak_mb"] = peak
        if peer:
            ours, hta = (figures[f"kineto_{who}_1_core_events_per_s"] for who in ("ours", "hta"))
            figures["kineto_ours_over_hta"] = rounded(ours / hta)
        export = arguments.nsys or Path(scratch) / "nsys.sqlite"
        if not arguments.nsys:
            write_nsys(export, arguments.rows)
        number = _rows(export)
        figures["nsys_rows"] = number
        others = [("sqlite3_to_arrow_1_core", sys.executable, _SQLITE, 1)]
        for name, rate, peak in _tried(export, number, rounds, others):
            figures[f"nsys_{name}_rows_per_s"] = rate
            figures[f"nsys_{name}_peak_mb"] = peak
    return figures
