"""``cupti-etl sample``: hardware counters of whole GPUs, without a program."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from cupti_etl.commands._fsync import fsync_option
from cupti_etl.commands._pm import chosen, pm_options
from cupti_etl.config import CaptureOptions
from cupti_etl.progress import say
from cupti_etl.signals import interrupted
from cupti_etl.units import duration_ns


@click.command()
@click.option(
    "-o",
    "--out",
    help="Where to: a folder; FILE.duckdb; or with --table FILE.arrows or - for standard output."
    " Must not exist. %h is the host, %p the process id, %r the rank."
    "  [default: samples-DATE-TIME]",
)
@click.option("--table", default="", help="Write this table alone, as a stream of Arrow.")
@click.option("--duration", metavar="TIME", help="End after so long; default: at Ctrl-C.")
@pm_options(default="overview")
@click.option("--cupti", type=click.Path(path_type=Path), help="libcupti to use.")
@fsync_option
@click.option("--quiet", is_flag=True, help="No live line and no summary.")
def command(
    out: str | None,
    table: str,
    duration: str | None,
    pm: str,
    pm_interval: str,
    pm_devices: str,
    cupti: Path | None,
    fsync: bool,
    quiet: bool,
) -> None:
    """Sample hardware counters of GPUs, whoever uses them, until Ctrl-C.

    \b
    cupti-etl sample --duration 10s -o samples
    cupti-etl sample --pm minimal --pm-interval 20us -o samples
    cupti-etl sample --table pm_sample -o - | ./reader

    Exit status: 0 if there are samples of all GPUs that were asked for, 4 if not, 1 if they
    could not be written, 2 for a usage error.
    """
    from cupti_etl.storage.name import expand

    name = expand(out, os.environ) if out else time.strftime("samples-%Y%m%d-%H%M%S")
    options = CaptureOptions(
        out=Path(name),
        table=table,
        cupti=cupti,
        fsync=fsync,
        quiet=quiet,
        duration_ns=duration_ns(duration) if duration else 0,
        pm=chosen(pm, pm_interval, pm_devices, is_required=False),
    )
    sample(options)


def sample(options: CaptureOptions) -> None:
    """Sample until ``duration_ns`` is over, a signal comes, or sampling fails.

    Raises:
        CaptureError: a GPU could not be sampled, or not to the end; what there is is kept.
        EtlError: the trace cannot be written.
    """
    from cupti_etl.capture.collector import Collector
    from cupti_etl.capture.session import begin_sampling, tell_failure
    from cupti_etl.capture.summary import LiveLine, tell_samples
    from cupti_etl.storage.destination import choose
    from cupti_etl.storage.driver import Pipeline

    destination = choose(options)
    destination.create()
    sampling = begin_sampling(options)
    assert sampling is not None
    collector = Collector(live=False, sampling=sampling)
    with interrupted() as came:
        sampling.wait_until_ready()
        if not sampling.devices:
            destination.discard()
            collector.close()
            raise sampling.error()
        tell_failure(sampling, quiet=options.quiet)
        until = time.monotonic() + options.duration_ns / 1e9 if options.duration_ns else None
        line = LiveLine(quiet=options.quiet)
        pipeline = Pipeline(
            destination.folder,
            collector,
            {"source": "sample", "duration_ns": options.duration_ns or None},
            (),
            sampling.drain,
            destination.open,
        )
        try:
            while not came and not sampling.is_over:
                if until is not None and time.monotonic() >= until:
                    break
                pipeline.step()
                line.show(collector)
                collector.wait(20)
        finally:
            line.clear()
            sampling.stop()
            pipeline.finish(None)
            destination.finish()
    collector.close()
    if not options.quiet:
        tell_samples(sampling)
        say(f"cupti-etl: {destination}")
    if sampling.failure is not None:
        raise sampling.error()
