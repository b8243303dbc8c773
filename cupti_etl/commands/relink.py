"""``cupti-etl relink``: make trace.duckdb anew."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("relink")
@click.argument("trace", type=click.Path(path_type=Path))
def command(trace: Path) -> None:
    """Write TRACE/trace.duckdb again.

    This file has views for DuckDB's own shell, with absolute paths. Write it again after you
    moved the folder, or to get the query library of this version.
    """
    from cupti_etl.queries.trace_duckdb import write_trace_duckdb

    click.echo(write_trace_duckdb(trace))
