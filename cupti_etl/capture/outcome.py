"""What became of a capture: whether it is what was asked for."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cupti_etl.capture.launcher import injector_loads
from cupti_etl.capture.segment import NOT_TRACED
from cupti_etl.errors import CaptureError, EtlError, NoCudaError
from cupti_etl.progress import say
from cupti_etl.signals import known

if TYPE_CHECKING:
    from cupti_etl.capture.collector import Collector

# Those by which nobody ends a program on purpose; SIGKILL is also what a lack of memory sends.
_FATAL = known("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGKILL")


def diagnose(collector: Collector) -> EtlError | None:
    """Why the capture is not what was asked for, or None if it is."""
    if not collector.traced and not collector.refused:
        why = injector_loads()
        if why is not None:
            return CaptureError(
                f"the injected library does not load: {why}", "run `cupti-etl doctor`"
            )
        return NoCudaError(
            "the program ended without initialising CUDA, so there is no trace;"
            " if it does use CUDA, `cupti-etl doctor` says what is in the way",
        )
    if collector.refused:
        return CaptureError(
            f"a process was not captured: {collector.refused[0].reason}", "run `cupti-etl doctor`"
        )
    for traced in collector.traced:
        info = traced.process.info()
        if info.state == NOT_TRACED:
            return CaptureError(
                f"process {info.pid} was not captured: {info.detail}", "run `cupti-etl doctor`"
            )
    sampling = collector.sampling
    if sampling is not None and sampling.failure is not None and sampling.options.is_required:
        return sampling.error()
    for loss in collector.losses():
        if loss.cause == "other_client":
            return CaptureError(
                f"the capture is incomplete: {loss.detail}", "run without the other profiler"
            )
    return None


def say_of_what_it_died(program: str, status: int) -> None:
    """Say of which signal a program died, as a shell does for programs that it starts itself.

    Args:
        program: its name.
        status: its exit status, which for a shell, or another that passes it on, is that of the
            program it has started.
    """
    if (number := status - 128) in _FATAL:
        say(f"cupti-etl: {program} died of signal {number} ({signal.strsignal(number)})")


@contextmanager
def taken_down(problems: list[EtlError]) -> Iterator[None]:
    """Takes down what goes wrong, so that the program is waited for and the trace finished."""
    try:
        yield
    except EtlError as error:
        problems.append(error)
    except (OSError, MemoryError) as error:
        problems.append(
            EtlError(
                f"the capture cannot go on: {error or 'no memory is left'}",
                "raise the limits of the shell that starts it (ulimit -a)",
            )
        )
