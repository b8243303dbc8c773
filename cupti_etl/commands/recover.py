"""``cupti-etl recover``: finish a trace whose collector was killed."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.progress import say


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
def command(trace: Path) -> None:
    """Finish TRACE, whose collector was killed before the end.

    What had been written is made into a whole trace; what had not is a row in its table of
    losses, from the time of the last row on. Parts that are damaged or gone, also of a trace that
    was finished, are named there, too.
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
