"""A capture without a command: of programs whose collector was killed, of counters alone."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

from cupti_etl.capture.collector import Collector
from cupti_etl.capture.resume import take_up
from cupti_etl.capture.summary import ProgressLine, summary, tell_failure, tell_samples
from cupti_etl.config import CaptureOptions
from cupti_etl.progress import say
from cupti_etl.signals import caught
from cupti_etl.storage.destination import Convert, Destination, choose
from cupti_etl.storage.driver import Driver
from cupti_etl.storage.relink import Relink
from cupti_etl.storage.replace import Aside

# How long to wait for a process to ring, before something else is looked at.
_PAUSE_MS = 20


def resume(out: Path, pids: tuple[int, ...], duration: int | None, quiet: bool) -> None:
    """Follow processes whose collector was killed until they end, time is over, or Ctrl-C.

    Args:
        out: folder of the new trace.
        pids: the processes.
        duration: for how long, in ns.
        quiet: whether nothing is said.

    Raises:
        UsageError: one of them cannot be attached, or the folder exists; then nothing is.
        EtlError: the trace cannot be written.
    """
    start = time.monotonic()
    until = start + duration / 1e9 if duration is not None else float("inf")
    with ExitStack() as stack:
        collector = Collector(live=False)
        stack.callback(collector.close)
        # All are ours before any of them, or the folder, is touched.
        processes = [take_up(collector.decoder, pid) for pid in dict.fromkeys(pids)]
        destination = Destination(out)
        destination.create()
        for process in processes:
            collector.resume(process)
        relink = Relink(destination)
        stack.callback(relink.close)
        line = ProgressLine(quiet=quiet)
        came = stack.enter_context(caught())
        driver = Driver(collector, destination, {"source": "attach"})

        def watch(more: bool) -> int | None:
            relink.begin()
            line.tell(collector)
            is_over = came or not collector.live or time.monotonic() >= until
            return None if is_over else _PAUSE_MS

        try:
            driver.run(watch)
        finally:
            line.clear()
            collector.abandon()
            driver.finish()
            relink.finish()
    if not quiet:
        summary(collector, destination, time.monotonic() - start)


def sample(options: CaptureOptions, convert: Convert) -> None:
    """Sample until ``duration_ns`` is over, a signal comes, or sampling fails.

    Raises:
        CaptureError: a GPU could not be sampled, or not to the end; what there is is kept.
        EtlError: the trace cannot be written.
    """
    from cupti_etl.pm.sampling import Sampling

    before = Aside(options.out)
    with ExitStack() as stack:
        destination = stack.enter_context(choose(options, convert))
        if options.overwrite:
            stack.callback(before.restore)  # unless it was removed
            before.put()
        destination.create()
        assert options.pm is not None
        sampling = Sampling(options.pm, options, os.environ)
        collector = Collector(live=False, sampling=sampling)
        stack.callback(collector.close)
        came = stack.enter_context(caught())
        sampling.wait_until_ready()
        if not sampling.devices:
            destination.discard()
            raise sampling.error()
        tell_failure(sampling, quiet=options.quiet)
        until = time.monotonic() + options.duration_ns / 1e9 if options.duration_ns else None
        relink = Relink(destination, is_wanted=options.trace_duckdb)
        stack.callback(relink.close)
        line = ProgressLine(quiet=options.quiet)
        facts = {"source": "sample", "duration_ns": options.duration_ns or None}
        driver = Driver(collector, destination, facts, meanwhile=sampling.drain)

        def watch(more: bool) -> int | None:
            relink.begin()
            line.tell(collector)
            is_over = came or sampling.is_over or (until and time.monotonic() >= until)
            return None if is_over else _PAUSE_MS

        try:
            driver.run(watch)
        finally:
            line.clear()
            sampling.stop()
            driver.finish()
            relink.finish()
            before.remove()
    if not options.quiet:
        tell_samples(sampling)
        say(f"cupti-etl: {destination}")
    if sampling.failure is not None:
        raise sampling.error()
