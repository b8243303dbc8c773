"""``cupti-etl relink``: make trace.duckdb anew."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.render.local_path import LocalPath


@click.command("relink")
@click.argument("trace", type=LocalPath())
def command(trace: Path) -> None:
    """Write TRACE/trace.duckdb again.

    This file has views for DuckDB's own shell, with absolute paths. Write it again after you
    moved the folder, or to get the query library of this version.
    """
    from cupti_etl.queries.trace_duckdb import write_trace_duckdb

    click.echo(write_trace_duckdb(trace))
