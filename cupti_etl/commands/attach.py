"""``cupti-etl attach``: take up traced programs whose collector was killed."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cupti_etl.signals import interrupted
from cupti_etl.units import duration_ns


class _Pid(click.IntRange):
    name = "process id"


@click.command()
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the trace (default: trace-DATE-TIME); must not exist.",
)
@click.option(
    "--duration",
    metavar="TIME",
    help="End after so long; default: when all of them have ended.",
)
@click.option("--quiet", is_flag=True, help="No live line and no summary.")
@click.argument("pids", nargs=-1, required=True, type=_Pid(min=1), metavar="PID...")
def command(out: Path | None, duration: str | None, quiet: bool, pids: tuple[int, ...]) -> None:
    """Go on with PID..., traced programs whose collector was killed.

    What they have recorded since, as far as their segments hold it, and what they record from
    now on becomes a trace of its own, with the same process_id as the first, which
    `cupti-etl recover` makes whole.  Ctrl-C ends it; the programs go on untraced.
    """
    attach(
        out or Path(time.strftime("trace-%Y%m%d-%H%M%S")),
        pids,
        (duration_ns(duration) if duration else 0) or None,
        quiet,
    )


def attach(out: Path, pids: tuple[int, ...], duration: int | None, quiet: bool) -> None:
    """Follow orphaned processes until they end, ``duration`` (ns) is over, or Ctrl-C.

    Raises:
        UsageError: one of them cannot be attached, or the folder exists; then nothing is.
        EtlError: the trace cannot be written.
    """
    from cupti_etl.capture.collector import Collector
    from cupti_etl.capture.resume import take_up
    from cupti_etl.capture.summary import LiveLine, summary
    from cupti_etl.storage.driver import Pipeline
    from cupti_etl.storage.folder import create

    start = time.monotonic()
    until = start + duration / 1e9 if duration is not None else float("inf")
    collector = Collector(live=False)
    # All are ours before any of them, or the folder, is touched.
    processes = [take_up(collector.decoder, pid) for pid in dict.fromkeys(pids)]
    create(out)
    line = LiveLine(quiet=quiet)
    for process in processes:
        collector.resume(process)
    pipeline = Pipeline(out, collector, {"source": "attach"}, ())
    with interrupted() as came:
        try:
            while collector.live and not came and time.monotonic() < until:
                if not pipeline.step():
                    collector.wait(20)
                line.show(collector)
        finally:
            line.clear()
            collector.abandon()
            pipeline.finish(None)
    collector.close()
    if not quiet:
        summary(collector, f"trace in {out}", time.monotonic() - start)
