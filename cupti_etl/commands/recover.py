"""``cupti-etl recover``: finish a trace whose collector was killed."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
def command(trace: Path) -> None:
    """Finish TRACE, whose collector was killed before the end.

    What had been written is made into a whole trace; what had not is a row in its table of
    losses, from the time of the last row on.
    """
    from cupti_etl.sinks.duckdb import write_trace_duckdb
    from cupti_etl.sinks.recover import recover

    traced = recover(trace)
    write_trace_duckdb(trace)
    if traced < 0:
        click.echo(f"cupti-etl: {trace} was finished already", err=True)
    else:
        noun = "process was" if traced == 1 else "processes were"
        click.echo(f"cupti-etl: {trace} is whole again; {traced} {noun} being traced", err=True)
