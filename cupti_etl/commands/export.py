"""``cupti-etl export``: a trace in another form."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._complete import tables as complete_tables
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.commands._writing import overwrite_option
from cupti_etl.errors import MemoryLimitError, UsageError
from cupti_etl.progress import say
from cupti_etl.render.help import Command
from cupti_etl.render.local_path import WRITTEN, LocalPath
from cupti_etl.render.values import size
from cupti_etl.storage.place import spilling
from cupti_etl.units import counted, size_bytes

if TYPE_CHECKING:
    from cupti_etl.api import Trace
    from cupti_etl.queries.choose import Scope


_TABLES = ("parquet", "arrow", "csv", "spreadsheet")
_NOT_COMPRESSED = ("duckdb", "parquet", "sqlite")
FORMS = ("duckdb", *_TABLES, "sqlite", "chrome", "perfetto", "folded", "speedscope")


@click.command(cls=Command)
@click.argument("traces", nargs=-1, metavar="TRACE...", shell_complete=files)
@click.argument("out", type=LocalPath(WRITTEN))
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="Format of OUT.")
@click.option(
    "--table",
    "tables",
    default="",
    shell_complete=complete_tables,
    metavar="TABLE,...",
    help="Export only these tables.",
)
@click.option(
    "--memory-limit",
    "memory",
    default="400MB",
    show_default=True,
    metavar="SIZE",
    help="Memory for joining and sorting; more goes to the disk.",
)
@overwrite_option
@functools.partial(scope_options, end=("--until",))  # --to says what is written
def command(
    traces: tuple[str, ...],
    out: Path,
    form: str,
    tables: str,
    memory: str,
    overwrite: bool,
    scope: Scope,
) -> None:
    """Write a trace as DuckDB, tables, a timeline or a flame graph.

    Several traces are exported as one. OUT must not exist without --overwrite.

    \b
      cupti-etl export run42 --to duckdb run42.duckdb
      cupti-etl export node1 node2 --to parquet both
      cupti-etl export run42 --to arrow --table kernel - | ./reader
      cupti-etl export run42 --to sqlite run42.sqlite
      cupti-etl export run42 --to chrome run42.json.gz
      cupti-etl export run42 --to perfetto run42.pftrace
      cupti-etl export run42 --to speedscope run42.speedscope.json

    duckdb is one self-contained file with all tables and queries, for any DuckDB and for
    cupti-etl. parquet, arrow (IPC stream), csv and spreadsheet (CSV in which no text can act as a
    formula) are a folder with one file for each table, or, with a single --table, one file. That
    file can be - for standard output, except with parquet, which is sorted by time.

    sqlite is one file with all tables, or those of --table, and the units of their columns.

    chrome is the JSON that PyTorch's profiler writes, for chrome://tracing, ui.perfetto.dev,
    HolisticTraceAnalysis and `cupti-etl import`.

    perfetto is the binary format of ui.perfetto.dev: a track for each thread and stream, arrows
    from calls to their work, counters, and what was lost or not recorded.

    folded and speedscope are GPU time by Python stack (capture --python-stacks), for flame
    graphs: lines for flamegraph.pl and similar programs, and a file for speedscope.app.

    A file whose name ends in .gz is compressed, unless its format has to be read in any order.
    """
    if not traces:  # click takes the only one for the last
        raise UsageError("TRACE or OUT is missing", f"cupti-etl export {out} --to {form} OUT")
    if tables and form not in (*_TABLES, "sqlite"):
        raise UsageError(
            f"--table does not go with --to {form}, which is no table",
            "--to parquet --table writes some of them",
        )
    if out.suffix.lower() == ".gz" and form in _NOT_COMPRESSED:
        raise UsageError(
            f"{out}: {form} is read in any order, which a compressed file cannot be",
            f"name it {out.with_suffix('')}",
        )
    file = None if str(out) == "-" else out
    limit = f"{size_bytes(memory) // 1000} kB"
    with spilling(file) as spill:
        settings = {"memory_limit": limit, "temp_directory": str(spill)}
        try:
            with open_part(traces, scope, settings=settings) as trace:
                _export(trace, file, form, tables, overwrite=overwrite)
        except MemoryLimitError as error:
            raise MemoryLimitError(error.message, "give a larger --memory-limit") from error
    if file is not None and (parts := [each for each in (file, *file.glob("*")) if each.is_file()]):
        several = counted(len(parts), "file") + " of " if file.is_dir() else ""
        say(f"cupti-etl: {form} in {file}, {several}{size(sum(p.stat().st_size for p in parts))}")


def _export(trace: Trace, out: Path | None, form: str, tables: str, *, overwrite: bool) -> None:
    """Write a trace in one of ``FORMS``, to standard output where ``out`` is None."""
    from cupti_etl.render.files import choose_tables, export_file, export_folder

    if form == "chrome":
        from cupti_etl.render.chrome import export_chrome

        export_chrome(trace, out, overwrite=overwrite)
    elif form == "perfetto":
        from cupti_etl.render.perfetto.trace import export_perfetto

        export_perfetto(trace, out, overwrite=overwrite)
    elif form in ("folded", "speedscope"):
        from cupti_etl.render.stacks import export_stacks

        export_stacks(trace, out, form, overwrite=overwrite)
    elif form in ("duckdb", "sqlite") and out is None:
        raise UsageError(f"a file of {form} cannot be written to a pipe", "name a file")
    elif form == "duckdb" and out:
        from cupti_etl.render.duckdb_file import export_duckdb

        left_out = export_duckdb(trace, out, overwrite=overwrite)
        if left_out:
            names = ", ".join(left_out)
            say(f"cupti-etl: not known to this version, left out: {names}")
    elif form == "sqlite" and out:
        from cupti_etl.render.sqlite_file import export_sqlite

        export_sqlite(trace, choose_tables(trace, tables), out, overwrite=overwrite)
    else:
        chosen = choose_tables(trace, tables)
        if len(chosen) == 1 and tables:
            export_file(trace, chosen[0], out, form, overwrite=overwrite)
        elif out is None:
            raise UsageError(
                "standard output takes one table", "name it: --table kernel, for instance"
            )
        else:
            export_folder(trace, chosen, out, form, overwrite=overwrite)
