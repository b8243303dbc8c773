"""``cupti-etl relink``: make trace.duckdb anew."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("relink")
@click.argument("trace", type=click.Path(path_type=Path))
def command(trace: Path) -> None:
    """Make TRACE/trace.duckdb anew.

    It holds views with absolute paths, for people with a DuckDB shell; make it again after
    moving the folder, or to get the query library of this version.
    """
    from cupti_etl.queries.trace_duckdb import write_trace_duckdb

    click.echo(write_trace_duckdb(trace))
