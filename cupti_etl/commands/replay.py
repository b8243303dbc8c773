"""``cupti-etl replay``: a recording through the same way as a live capture."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.commands._fsync import fsync_option
from cupti_etl.errors import NativeError, RecordingError
from cupti_etl.progress import say
from cupti_etl.storage.destination import destination_of


@click.command()
@click.argument("recording", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder for the trace, FILE.duckdb, or FILE.arrows or - for one table; must not exist.",
)
@click.option("--table", default="", help="The table of a stream.")
@fsync_option
def command(recording: Path, out: Path, table: str, fsync: bool) -> None:
    """Make a trace of RECORDING, a file that `capture --record` wrote."""
    rows = replay(recording, out, table, is_synced=fsync)
    say(f"cupti-etl: {rows:,} rows; {destination_of(out, table)}")


def replay(recording: Path, out: Path, table: str = "", *, is_synced: bool = True) -> int:
    """Replay a recording into a trace; returns the number of rows.

    Args:
        recording: the file.
        out: a folder, ``FILE.duckdb``, or a stream of one table, as ``capture`` takes them.
        table: that of the stream.
        is_synced: whether to see that the trace is on the disk.

    Raises:
        RecordingError: it is damaged; what came before the damage is in the trace.
        UsageError: ``out`` exists, or does not go with ``table``.
    """
    from cupti_etl.capture.collector import Collector
    from cupti_etl.capture.recording import RecordedProcesses, read_recording
    from cupti_etl.capture.traced import Traced
    from cupti_etl.storage.driver import Pipeline

    destination = destination_of(out, table, is_synced=is_synced)
    frames = read_recording(recording)
    # Before there is a folder, so that a wrong file or library leaves nothing behind.
    frame = next(frames, None)
    collector = Collector(live=False)
    destination.create()
    pipeline = Pipeline(
        destination.folder, collector, {"source": "replay"}, (), open_sink=destination.open
    )
    processes = RecordedProcesses(collector.decoder)
    damage: RecordingError | None = None
    try:
        while frame is not None:
            process = processes.take(frame)
            if len(processes.known) > len(collector.traced):
                collector.add(Traced(process, None))
            pipeline.step()
            frame = next(frames, None)
    except RecordingError as error:
        damage = error
    except NativeError as error:
        damage = RecordingError(f"{recording} cannot be replayed: {error.message}")
    for traced in collector.traced:
        info = traced.process.info()
        traced.end_ns = info.finished_ns or info.last_return_ns or info.start_ns
    pipeline.finish(None)
    destination.finish()
    if damage is not None:
        raise damage
    return collector.rows_and_records()[0]
