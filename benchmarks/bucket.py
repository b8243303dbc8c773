"""Questions to a trace in a bucket: time, and how much of the trace is read for each.

The server is moto's, on this machine, so that the time is that of computing and of many requests,
not of a network.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cupti_etl
from benchmarks.common import rounded
from benchmarks.fleet import Rank, make
from cupti_etl.storage import bucket, bucket_reader

URL = "s3://traces/run42"
# When the kernels of benchmarks/query.py begin.
BEGIN_NS = 1763668800000000000
# A name for each, and the SQL.
ASKED = {
    "footers": "SELECT count(*) FROM kernel",
    "column": "SELECT max(grid_x) FROM kernel",
    "hundredth": "SELECT max(grid_x) FROM kernel WHERE start_ns < {until}",
    "gpu_busy": "FROM gpu_busy",
    "kernel_summary": "FROM kernel_summary",
    "everything": "SELECT max(COLUMNS(*)) FROM kernel",
}
_SERVICE = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--kernels", type=int, default=1_000_000, help="of each rank")


class _Counted(bucket_reader._File):
    """A file that counts what is read of it."""

    requests = bytes = 0

    def read(self, count: int = -1) -> bytes:
        data = super().read(count)
        _Counted.requests += 1
        _Counted.bytes += len(data)
        return data


@contextmanager
def _server() -> Iterator[None]:
    from pyarrow import fs

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ.update(_SERVICE, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    assert time.monotonic() < until, "moto's server does not start"
                    time.sleep(0.1)
            endpoint = os.environ["AWS_ENDPOINT_URL"]
            fs.S3FileSystem(endpoint_override=endpoint, allow_bucket_creation=True).create_dir(
                "traces"
            )
            yield
        finally:
            process.kill()


def _upload(ranks: int, kernels: int) -> int:
    """Put the traces of some hosts there, each with one rank; how many bytes those are."""
    total = 0
    for number in range(ranks):
        with tempfile.TemporaryDirectory(prefix="bucket-") as scratch:
            folder = Path(scratch)
            make(folder, Rank(number, kernels))
            for part in folder.glob("*/*"):
                content = part.read_bytes()
                total += len(content)
                bucket.put(bucket.Url(f"{URL}/node{number}-1") / part.relative_to(folder), content)
            bucket.put(bucket.Url(f"{URL}/node{number}-1/{bucket.ORIGIN}"), b"node\n")
    return total


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    bucket_reader._File = _Counted  # type: ignore[misc]
    with _server():
        total = _upload(arguments.ranks, arguments.kernels)
        figures: dict[str, Any] = {
            "ranks": arguments.ranks,
            "kernels_per_rank": arguments.kernels,
            "mib": rounded(total / 2**20),
        }
        # Kernels begin every microsecond.
        until = BEGIN_NS + arguments.kernels * 1000 // 100
        for name, sql in ASKED.items():
            bucket._LISTINGS.clear()
            _Counted.requests = _Counted.bytes = 0
            began = time.perf_counter()
            with cupti_etl.open(URL) as trace:
                rows = trace.sql(sql.format(until=until)).arrow().num_rows
            figures[f"{name}_s"] = rounded(time.perf_counter() - began)
            assert rows > 0, name
            figures[f"{name}_requests"] = _Counted.requests
            figures[f"{name}_mib"] = rounded(_Counted.bytes / 2**20)
            figures[f"{name}_pct"] = rounded(100 * _Counted.bytes / total)
    return figures


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as a table of Markdown."""
    yield "| question | MiB read | of the trace | reads | s |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name, sql in ASKED.items():
        read, share, requests, seconds = (
            figures[f"{name}_{key}"] for key in ("mib", "pct", "requests", "s")
        )
        asked = sql.format(until="…")
        yield f"| `{asked}` | {read:g} | {share:g} % | {requests:,} | {seconds:g} |"
