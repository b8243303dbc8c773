"""``cupti-etl recover``: finish a trace whose collector was killed."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.progress import say


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
def command(trace: Path) -> None:
    """Finish a trace whose collector was killed.

    Makes a complete trace of what was written. What was not written becomes a row in the table
    `loss`, from the time of the last row on. Damaged and missing parts are listed there as well,
    also those of a finished trace.
    """
    from cupti_etl.queries.trace_duckdb import write_trace_duckdb
    from cupti_etl.storage.recovery import recover

    done = recover(trace)
    write_trace_duckdb(trace)
    for part in done.lost:
        say(f"cupti-etl: {part} is damaged or gone: see the table loss")
    if done.was_finished:
        say(f"cupti-etl: {trace} was finished already")
    else:
        noun = "process was" if done.processes == 1 else "processes were"
        say(f"cupti-etl: {trace} is whole again; {done.processes} {noun} being traced")
