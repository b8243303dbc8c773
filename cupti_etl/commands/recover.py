"""``cupti-etl recover``: finish a trace whose collector was killed."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.errors import TraceError
from cupti_etl.progress import say
from cupti_etl.render.local_path import LocalPath


@click.command()
@click.argument("trace", type=LocalPath())
def command(trace: Path) -> None:
    """Finish a trace whose collector was killed.

    Makes a complete trace of what was written. What was not written becomes a row in the table
    `loss`, from the time of the last row on. Damaged and missing parts are listed there as well,
    also those of a finished trace. Of the folder of a flight recorder, all traces are finished.
    """
    from cupti_etl.storage.flights import is_flight_folder

    if is_flight_folder(trace):
        _recover_flight(trace)
    else:
        _recover(trace)


def _recover(trace: Path) -> None:
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


def _recover_flight(folder: Path) -> None:
    """Finish the traces of a flight recorder, and say what is gone with it.

    Raises:
        UsageError: it is still running.
    """
    from cupti_etl.storage.flight_folder import end, held
    from cupti_etl.storage.flights import is_over, traces_in

    with held(folder):
        for trace in traces_in(folder):
            try:
                _recover(trace)
            except TraceError as error:  # it was killed as the trace began
                say(f"cupti-etl: {error.message}")
        if not is_over(folder):
            say(
                "cupti-etl: the flight recorder was killed, and what it had in memory is gone;"
                " `cupti-etl resume PID` goes on with a program that still runs"
            )
            end(folder)
