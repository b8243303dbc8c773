"""Collects from whatever was started with the address of our socket, until it is told to end."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.collector import Collector
from cupti_etl.capture.recorder import Recorder
from cupti_etl.capture.summary import ProgressLine, summary
from cupti_etl.config import CUDA_INJECTION, ENVIRONMENT, NVTX_INJECTION, CaptureOptions
from cupti_etl.native.loader import inject_library_path
from cupti_etl.progress import say
from cupti_etl.signals import caught
from cupti_etl.storage.destination import choose
from cupti_etl.storage.driver import Driver
from cupti_etl.storage.flight_folder import FlightFolder

if TYPE_CHECKING:
    from cupti_etl.storage.destination import Convert

_PAUSE_MS = 20
# How often processes are looked through that have ended long ago.
_FORGET_S = 60.0


def environment(path: Path) -> dict[str, str]:
    """The variables that a program must have to be collected from; the last is for NVTX alone."""
    library = str(inject_library_path())
    socket, _ = ENVIRONMENT["SOCKET"]
    return {CUDA_INJECTION: library, socket: str(path.absolute()), NVTX_INJECTION: library}


def collect(options: CaptureOptions, path: Path, convert: Convert) -> None:
    """Collect until SIGTERM, SIGINT or SIGHUP.

    Args:
        options: of the capture; those about a program are for programs to say.
        path: of the socket.
        convert: as of ``capture.session.run``.

    Raises:
        EtlError: the socket or the trace cannot be made, or the trace cannot be written.
    """
    start = time.monotonic()
    with ExitStack() as stack:
        collector = Collector(allow_uids=options.allow_uids, path=path)
        stack.callback(collector.close)
        destination = choose(options, convert)
        destination.create()
        came = stack.enter_context(caught())
        facts = {"source": "daemon", "kinds": None, "start_ns": time.time_ns()}
        signals = _counted(stack) if options.flight else []
        driver: Driver | Recorder
        if options.flight is not None:
            assert isinstance(destination, FlightFolder)
            about: tuple[dict[str, Any], tuple[str, ...]] = (facts, options.kinds)
            driver = Recorder(
                collector,
                destination,
                options.flight,
                about,
                lambda: len(signals),
                lambda: None,
                quiet=options.quiet,
            )
        else:
            driver = Driver(collector, destination, facts, options.kinds)
        line = ProgressLine(quiet=options.quiet)
        looked = start
        if not options.quiet:
            say(f"cupti-etl: listening at {path}, writing to {options.out}")

        def watch(more: bool) -> int | None:
            nonlocal looked
            line.tell(collector)
            now = time.monotonic()
            if now - looked >= _FORGET_S:
                looked = now
                collector.forget(time.time_ns() - _kept_ns(options))
                if isinstance(driver, Recorder):
                    driver.ring.forget({one.process.process_id for one in collector.traced})
            failure = driver.failure if isinstance(driver, Driver) else None
            return None if came or failure else _PAUSE_MS

        try:
            driver.run(watch)
        finally:
            line.clear()
            collector.abandon()
            driver.finish()
    if not options.quiet:
        said = [driver.summary()] if isinstance(driver, Recorder) else []
        summary(collector, destination, time.monotonic() - start, said)


def _kept_ns(options: CaptureOptions) -> int:
    """How long rows of a process that has ended can be there; what has no age, for ever."""
    if options.flight is not None:
        return options.flight.before_ns + options.flight.after_ns
    if options.retain is not None and options.retain.age_ns:
        # Parts go later than they should by an eighth at most.
        return options.retain.age_ns * 9 // 8
    return time.time_ns()


def _counted(stack: ExitStack) -> list[int]:
    """The signals that are a trigger, as they come."""
    got: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: got.append(number))
    stack.callback(signal.signal, signal.SIGUSR2, before)
    return got
