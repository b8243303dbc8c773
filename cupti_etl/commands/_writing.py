"""What commands that write a trace share: their options, and the self-contained file."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.render.help import Option

overwrite_option = click.option(
    "--overwrite",
    is_flag=True,
    help="Replace an existing trace or file; other folders are never replaced.",
)
fsync_option = click.option(
    "--no-fsync",
    "fsync",
    is_flag=True,
    callback=lambda _context, _option, is_given: not is_given,
    help="Do not wait for the disk. Faster on slow disks, but a power failure can damage the"
    " trace.",
)
trace_duckdb_option = click.option(
    "--no-trace-duckdb",
    "trace_duckdb",
    is_flag=True,
    callback=lambda _context, _option, is_given: not is_given,
    help="Leave out trace.duckdb, the file for DuckDB's own shell; `cupti-etl relink` makes it"
    " later.",
)
quiet_option = click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
roll_option = click.option(
    "--roll",
    cls=Option,
    section="Where to write",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="How long rows wait, at most, until they can be read; at first, a second.",
)


def convert(folder: Path, out: Path) -> None:
    """Write the trace in a folder into one file, as -o FILE.duckdb asks for.

    DuckDB is loaded only now.
    """
    from cupti_etl.render import duckdb_file

    duckdb_file.convert(folder, out)
