"""``cupti-etl replay``: a recording through the same way as a live capture."""

from __future__ import annotations

from pathlib import Path

import click

from cupti_etl.errors import NativeError, RecordingError


@click.command()
@click.argument("recording", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder for the trace; must not exist.",
)
def command(recording: Path, out: Path) -> None:
    """Make a trace of RECORDING, a file that `capture --record` wrote."""
    rows = replay(recording, out)
    click.echo(f"cupti-etl: {rows:,} rows; trace in {out}", err=True)


def replay(recording: Path, out: Path) -> int:
    """Replay a recording into a trace folder; returns the number of rows.

    Raises:
        RecordingError: it is damaged; what came before the damage is in the trace.
        UsageError: the folder exists.
    """
    from cupti_etl.capture.collector import Collector, Traced
    from cupti_etl.capture.recording import RecordedProcesses, read_recording
    from cupti_etl.pipeline import Pipeline
    from cupti_etl.sinks.folder import create

    frames = read_recording(recording)
    frame = next(frames, None)  # so that a wrong file leaves no folder behind
    create(out)
    collector = Collector(live=False)
    pipeline = Pipeline(out, collector, {"source": "replay"}, ())
    processes = RecordedProcesses(collector.decoder)
    damage: RecordingError | None = None
    try:
        while frame is not None:
            process = processes.take(frame)
            if len(processes.known) > len(collector.traced):
                collector.traced.append(Traced(process, None))
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
    if damage is not None:
        raise damage
    return collector.rows_and_records()[0]
