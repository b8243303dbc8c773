"""Queries of many ranks by an engine: time, memory and bytes against how many ranks there are.

Each rank's kernels are made on the worker that is asked about them, and deleted after the answer:
so there is never more on the disk than the workers are at.  What making them costs is told apart.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.common import kernel_names, peak_mib, rounded, timed
from benchmarks.query import NAMES, kernels
from cupti_etl.api import Trace
from cupti_etl.engines.distribute import merge, partial_of
from cupti_etl.engines.engine import SETTINGS, cores, find
from cupti_etl.engines.shards import Portion
from cupti_etl.queries.catalog import library
from cupti_etl.queries.runner import connect
from cupti_etl.queries.scope import Gpu
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage.part import write_part

QUERIES = ("kernel_summary", "gpu_busy")
PART_ROWS = 250_000
# Ranks on a host.
HOST = 8


@dataclass(frozen=True)
class Rank:
    """A task: the number of a rank, and how many kernels it ran."""

    number: int
    kernels: int

    @property
    def says(self) -> str:
        """The rank in words."""
        return f"rank {self.number}"

    @property
    def process_id(self) -> int:
        """A process that no other rank is."""
        return 4611686018427387 + self.number

    @property
    def host(self) -> str:
        """Where it ran."""
        return f"node{self.number // HOST}"

    @property
    def uuid(self) -> str:
        """Its GPU."""
        return f"GPU-{self.number:032d}"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--kernels", type=int, default=100_000, help="of each rank")
    parser.add_argument("--engine", choices=("processes", "ray"), default="processes")
    parser.add_argument("--like", type=int, help="say what so many ranks would cost at this rate")


def make(folder: Path, rank: Rank) -> None:
    """Write the trace of a rank."""
    small = {
        "device": [{"process_id": rank.process_id, "device_id": 0, "device_uuid": rank.uuid}],
        "process": [
            {"process_id": rank.process_id, "host": rank.host, "pid": 1, "rank": rank.number}
        ],
        "kernel_name": kernel_names(NAMES),
    }
    for name, rows in small.items():
        (folder / name).mkdir(parents=True)
        part = folder / name / "part-000000.parquet"
        write_part(part, name, pa.Table.from_pylist(rows, arrow_schema(name)))
    (folder / "kernel").mkdir()
    with connect(settings=SETTINGS) as con:
        con.sql(f"SELECT setseed({rank.number % 1000 / 1000})").fetchall()
        values = {"process_id": str(rank.process_id), "device_id": "0"}
        for number, first in enumerate(range(0, rank.kernels, PART_ROWS)):
            part = folder / "kernel" / f"part-{number:06d}.parquet"
            rows = kernels(con, first, min(PART_ROWS, rank.kernels - first), values)
            write_part(part, "kernel", rows)


def asked(rank: Rank) -> dict[str, Any]:
    """What a worker says of a rank, and what it cost."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as scratch:
        folder = Path(scratch) / "run"
        began = time.process_time()
        make(folder, rank)
        made_s = time.process_time() - began
        _forget_peak()
        read, began = _bytes_read(), time.process_time()
        gpu = Gpu(rank.number, rank.process_id, 0, rank.uuid, None, rank.host)
        portion = Portion("", gpus=(gpu,), own=(rank.process_id,), elsewhere=())
        with Trace((folder,), True, portion, SETTINGS) as trace:
            partials = {name: partial_of(trace, library()[name], {}) for name in QUERIES}
        return {
            "partials": partials,
            "make_cpu_s": made_s,
            "ask_cpu_s": time.process_time() - began,
            "bytes_read": _bytes_read() - read,
            "bytes_on_disk": sum(part.stat().st_size for part in folder.glob("*/*")),
            "peak_mib": peak_mib(),
        }


def _bytes_read() -> int:
    """Bytes that this process has read, from the disk or from its cache."""
    return int(Path("/proc/self/io").read_text().split()[1])


def _forget_peak() -> None:
    """Let the peak of memory be that from now on, and give back what making the trace took."""
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def measure(ranks: int, kernels_each: int, engine: str) -> dict[str, Any]:
    """What so many ranks cost."""
    found: dict[int, dict[str, Any]] = {}

    def ask() -> None:
        tasks = [Rank(number, kernels_each) for number in range(ranks)]
        found.update((done.place, done.result) for done in find(engine).run(asked, tasks))

    wall_s = timed(ask)
    answers = [found[place] for place in range(ranks)]
    rows: dict[str, int] = {}

    def merged() -> None:
        for name in QUERIES:
            table = merge(library()[name], [one["partials"][name] for one in answers])
            rows[name] = table.num_rows
            if name == "kernel_summary":
                calls = sum(table["calls"].to_pylist())
                assert calls == ranks * kernels_each, f"{calls} kernels are not all"

    merge_s = timed(merged)
    assert rows["gpu_busy"] == ranks, rows

    def total(key: str) -> float:
        return sum(one[key] for one in answers)

    return {
        "ranks": ranks,
        "wall_s": rounded(wall_s + merge_s),
        "make_cpu_s": rounded(total("make_cpu_s")),
        "ask_cpu_s": rounded(total("ask_cpu_s")),
        "ask_cpu_ms_per_rank": rounded(1000 * total("ask_cpu_s") / ranks),
        "merge_s": rounded(merge_s),
        "merge_ms_per_rank": rounded(1000 * merge_s / ranks),
        "mib_read": rounded(total("bytes_read") / 2**20),
        "mib_on_disk": rounded(total("bytes_on_disk") / 2**20),
        "partial_kib_per_rank": rounded(
            sum(table.nbytes for one in answers for table in one["partials"].values())
            / ranks
            / 1024
        ),
        "worker_peak_mib": max(one["peak_mib"] for one in answers),
        "driver_peak_mib": peak_mib(),
    }


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    *_, ranks = sizes = sorted(arguments.ranks)
    measured = [measure(size, arguments.kernels, arguments.engine) for size in sizes]
    first, last = measured[0], measured[-1]
    figures: dict[str, Any] = {
        "engine": arguments.engine,
        "workers": cores(),
        "kernels_per_rank": arguments.kernels,
        "measured": measured,
        "ranks": ranks,
        # 1 where each rank costs the same, however many there are.
        "ask_growth": rounded(last["ask_cpu_ms_per_rank"] / first["ask_cpu_ms_per_rank"]),
        "worker_peak_mib": last["worker_peak_mib"],
        "driver_peak_mib": last["driver_peak_mib"],
    }
    if arguments.like:
        times = arguments.like / ranks
        figures["extrapolated"] = {
            "ranks": arguments.like,
            **{
                key: rounded(times * last[key])
                for key in ("ask_cpu_s", "merge_s", "mib_read", "mib_on_disk")
            },
        }
    return figures


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as a table of Markdown."""
    columns = {
        "ranks": "ranks",
        "ask_cpu_s": "asked, s of CPU",
        "ask_cpu_ms_per_rank": "ms a rank",
        "merge_s": "merged, s",
        "mib_read": "MiB read",
        "partial_kib_per_rank": "KiB a partial answer",
        "worker_peak_mib": "worker, MiB",
        "driver_peak_mib": "driver, MiB",
        "wall_s": "s in all, with making them",
    }
    yield f"| {' | '.join(columns.values())} |"
    yield "|" + " ---: |" * len(columns)
    for one in figures["measured"]:
        yield f"| {' | '.join(f'{one[key]:,g}' for key in columns)} |"
    if more := figures.get("extrapolated"):
        cells = [f"{more[key]:,g}" if key in more else "" for key in columns]
        yield f"| *{more['ranks']:,}, extrapolated* | {' | '.join(cells[1:])} |"
