"""``cupti-etl export``: a trace in another form."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._complete import tables as complete_tables
from cupti_etl.commands._overwrite import overwrite_option
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.errors import UsageError
from cupti_etl.progress import say
from cupti_etl.render.help import Command

if TYPE_CHECKING:
    from cupti_etl.queries.choose import Scope


_TABLES = ("parquet", "arrow", "csv", "spreadsheet")
FORMS = ("duckdb", *_TABLES, "sqlite", "chrome", "folded", "speedscope")


@click.command(cls=Command)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=files)
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "form",
    type=click.Choice(FORMS),
    required=True,
    help="Format of OUT.",
)
@click.option(
    "--table",
    "tables",
    default="",
    shell_complete=complete_tables,
    metavar="TABLE,...",
    help="Export only these tables.",
)
@overwrite_option
@functools.partial(scope_options, end=("--until",))  # --to says what is written
def command(
    traces: tuple[str, ...], out: Path, form: str, tables: str, overwrite: bool, scope: Scope
) -> None:
    """Write a trace as DuckDB, tables, a timeline or a flame graph.

    Several traces are exported as one. OUT must not exist without --overwrite.

    \b
      cupti-etl export run42 --to duckdb run42.duckdb
      cupti-etl export node1 node2 --to parquet both
      cupti-etl export run42 --to arrow --table kernel - | ./reader
      cupti-etl export run42 --to sqlite run42.sqlite
      cupti-etl export run42 --to chrome run42.json
      cupti-etl export run42 --to speedscope run42.speedscope.json

    duckdb is one self-contained file with all tables and queries, for any DuckDB and for
    cupti-etl. parquet, arrow (IPC stream), csv and spreadsheet (CSV in which no text can act as a
    formula) are a folder with one file for each table, or, with a single --table, one file. That
    file can be - for standard output, except with parquet, which is sorted by time.

    sqlite is one file with all tables, or those of --table, and the units of their columns.

    chrome is the JSON that PyTorch's profiler writes, for chrome://tracing, ui.perfetto.dev,
    HolisticTraceAnalysis and `cupti-etl import`.

    folded and speedscope are GPU time by Python stack (capture --python-stacks), for flame
    graphs: lines for flamegraph.pl and similar programs, and a file for speedscope.app.
    """
    if tables and form not in (*_TABLES, "sqlite"):
        raise UsageError(
            f"--table does not go with --to {form}, which is no table",
            "--to parquet --table writes some of them",
        )
    with open_part(traces, scope) as trace:
        if form == "duckdb":
            from cupti_etl.render.duckdb_file import export_duckdb

            left_out = export_duckdb(trace, out, overwrite=overwrite)
            if left_out:
                names = ", ".join(left_out)
                say(f"cupti-etl: not known to this version, left out: {names}")
            return
        if form == "chrome":
            from cupti_etl.render.chrome import export_chrome

            export_chrome(trace, None if str(out) == "-" else out, overwrite=overwrite)
            return
        if form in ("folded", "speedscope"):
            from cupti_etl.render.stacks import export_stacks

            export_stacks(trace, None if str(out) == "-" else out, form, overwrite=overwrite)
            return
        from cupti_etl.render.files import choose_tables, export_file, export_folder

        chosen = choose_tables(trace, tables)
        if form == "sqlite":
            from cupti_etl.render.sqlite_file import export_sqlite

            if str(out) == "-":
                raise UsageError("a file of SQLite cannot be written to a pipe", "name a file")
            export_sqlite(trace, chosen, out, overwrite=overwrite)
            return
        if len(chosen) == 1 and tables:
            export_file(
                trace, chosen[0], None if str(out) == "-" else out, form, overwrite=overwrite
            )
        elif str(out) == "-":
            raise UsageError(
                "standard output takes one table", "name it: --table kernel, for instance"
            )
        else:
            export_folder(trace, chosen, out, form, overwrite=overwrite)
