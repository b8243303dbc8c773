"""``cupti-etl replay``: what ``import`` of a recording was called."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.commands._writing import convert, fsync_option, out_option
from cupti_etl.progress import say
from cupti_etl.render.local_path import LocalPath


@click.command(hidden=True)
@click.argument("recording", type=LocalPath())
@out_option(
    "Folder for the trace, FILE.duckdb, or FILE.arrows or - for one table; must not exist.",
    required=True,
)
@click.option("--table", default="", metavar="TABLE", help="The table of a stream.")
@fsync_option
def command(recording: Path, out: Path, table: str, fsync: bool) -> None:
    """Make a trace of RECORDING, a file that `capture --save-raw` wrote.

    `cupti-etl import` does so, too. Of a file that is damaged, this keeps what can be read.
    """
    from cupti_etl.imports.run import import_recording
    from cupti_etl.storage.destination import destination_of

    rows = import_recording(recording, out, table, convert, is_synced=fsync)
    say(f"cupti-etl: {rows:,} rows; {destination_of(out, convert, table)}")
