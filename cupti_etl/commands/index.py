"""``cupti-etl index``: compute what queries share, before anybody asks."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cupti_etl.commands._computing import show_computing
from cupti_etl.progress import say
from cupti_etl.render.local_path import LocalPath
from cupti_etl.units import counted, size_bytes


@click.command()
@click.argument("trace", type=LocalPath())
@click.option("--memory-limit", metavar="SIZE", help="Use at most about this much memory.")
def command(trace: Path, memory_limit: str | None) -> None:
    """Compute in advance what the queries of a trace share.

    So the first answers are as fast as later ones. The rows go to the folder `derived` of TRACE,
    as Parquet. Without this command, they are computed when a query first needs them. You can
    delete the folder at any time.
    """
    from cupti_etl.api import open as open_trace

    start = time.monotonic()
    with open_trace(trace) as opened:
        show_computing(opened)
        if memory_limit:
            opened.sql(f"SET memory_limit = '{size_bytes(memory_limit) // 1000} kB'")
        done = opened.index()
    if done.refused:
        say(f"cupti-etl: nothing was computed: {done.refused}")
        return
    seconds = time.monotonic() - start
    say(
        f"cupti-etl: {counted(done.queries, 'query', 'queries')} computed in {seconds:.1f} s,"
        f" {done.bytes / 2**20:,.1f} MiB"
    )
