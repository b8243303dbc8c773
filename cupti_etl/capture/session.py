"""One capture of a command, from its start to the finished trace."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from cupti_etl.config import CaptureOptions
from cupti_etl.errors import CaptureError, EtlError, NoCudaError, UsageError

if TYPE_CHECKING:
    from cupti_etl.capture.collector import Collector
    from cupti_etl.capture.recording import RecordingWriter
    from cupti_etl.pm.sampling import Sampling
    from cupti_etl.storage.driver import Pipeline


def run(options: CaptureOptions, cmd: tuple[str, ...]) -> int:
    """Capture a command; returns the exit status for ``cupti-etl``.

    Raises:
        EtlError: see ``cupti_etl.errors``; the command has been waited for.
    """
    from cupti_etl.capture.summary import summary
    from cupti_etl.progress import say

    if options.cupti and not options.cupti.exists():
        raise UsageError(
            f"there is no file {options.cupti}", "--cupti takes the path of a libcupti.so"
        )
    start = time.monotonic()
    with ExitStack() as stack:
        capture = _Run(options, cmd, stack)
        status, problem = capture.to_the_end()
    if not options.quiet:
        summary(capture.collector, capture.destination, time.monotonic() - start)
    problem = problem or diagnose(capture.collector)
    if problem is not None and (status == 0 or capture.launcher.is_terminated):
        raise problem
    if problem is not None:
        # The command failed too, and its own status is what a caller waits for.
        say(f"cupti-etl: {problem.message}")
    return status


class _Run:
    """The parts of a capture, put together; the command runs from here on.

    Args:
        stack: what has to be closed when the capture is over.
    """

    def __init__(self, options: CaptureOptions, cmd: tuple[str, ...], stack: ExitStack) -> None:
        from cupti_etl.capture.collector import Collector
        from cupti_etl.capture.launcher import Launcher, target_environment
        from cupti_etl.capture.limits import Limits
        from cupti_etl.capture.summary import LiveLine
        from cupti_etl.storage.destination import choose

        self._options = options
        self._cmd = cmd
        self._line = LiveLine(quiet=options.quiet)
        self._recorder: RecordingWriter | None = None
        self.destination = choose(options)
        self.destination.create()
        # What an early failure leaves behind would be in the way of the next attempt.
        undo = stack.enter_context(ExitStack())
        undo.callback(self.destination.discard)
        if options.record:
            from cupti_etl.capture.recording import RecordingWriter

            self._recorder = RecordingWriter(options.record)
            undo.callback(options.record.unlink)
        self.sampling = begin_sampling(options)
        self.collector = Collector(
            self._recorder, sampling=self.sampling, allow_uids=options.allow_uids
        )
        stack.callback(self.collector.close)
        self._limits = Limits(
            options,
            self.collector.pause,
            lambda: self.collector.rows_and_records()[0],
            self.destination.size,
        )
        environment = target_environment(options, self.collector.settings, os.environ)
        if self.sampling is not None:
            # So that the program's first kernel is sampled.
            self.sampling.wait_until_ready()
            tell_failure(self.sampling, quiet=options.quiet)
        self._limits.begin()
        self.launcher = Launcher(cmd, environment, self.destination.program_stdout)
        undo.pop_all()
        stack.callback(self.launcher.close)

    def to_the_end(self) -> tuple[int, EtlError | None]:
        """Follow the command to its end and finish the trace, whatever goes wrong."""
        from cupti_etl.storage.driver import Pipeline

        options = self._options
        facts = {
            "source": "capture",
            "command": _text(" ".join(self._cmd)) if options.argv else None,
            "kinds": ",".join(options.kinds),
            "api_level": options.api,
            "flush_ms": options.flush_ms,
            "ring_mb": options.ring_mb,
            "capture_range": _text(options.capture_range) or None,
            "delay_ns": options.delay_ns,
            "duration_ns": options.duration_ns or None,
        }
        pipeline = Pipeline(
            self.destination.folder,
            self.collector,
            facts,
            options.kinds,
            self._meanwhile,
            self.destination.open,
        )
        problems: list[EtlError] = []
        with _into(problems):
            self._follow(pipeline)
        status = self.launcher.wait()
        with _into(problems):
            self.collector.abandon()
            if self.sampling is not None:
                self.sampling.stop()
            pipeline.finish(status, self._limits.stopped_by)
            self.destination.finish()
        unrecorded = self._close_recording()
        return status, problems[0] if problems else unrecorded

    def _meanwhile(self) -> None:
        """While the writer holds us up: signals go on, and samples are not held up with us."""
        self.launcher.poll()
        if self.sampling is not None:
            self.sampling.drain()

    def _follow(self, pipeline: Pipeline) -> None:
        """Drain until the command and all processes it left behind have ended.

        The latter are given ``linger_ns``, or until they end; an interrupt ends the wait.
        """
        launcher, collector, linger_ns = self.launcher, self.collector, self._options.linger_ns
        interrupts = None
        until = float("inf")
        while True:
            ended = launcher.poll() is not None
            if ended and interrupts is None:
                interrupts = launcher.interrupts
                until = time.monotonic() + linger_ns / 1e9 if linger_ns is not None else until
            self._limits.look()
            if self._options.on_conflict == "fail" and collector.has_conflict():
                launcher.terminate()
            more = pipeline.step()
            if ended and not more:
                # Once more, for what said hello just before the end.
                more = pipeline.step()
                if not more and collector.live == 0:
                    break
            if interrupts is not None and launcher.interrupts > interrupts:
                break
            if ended and time.monotonic() >= until:
                break
            self._line.show(collector)
            if not more:
                collector.wait(20)
        self._line.clear()

    def _close_recording(self) -> EtlError | None:
        if self._recorder is None:
            return None
        failure = self.collector.record_failure
        try:
            self._recorder.close()
        except OSError as error:
            failure = failure or f"the recording cannot be written: {error}"
        return EtlError(failure, "the trace itself is whole") if failure else None


def _text(argument: str) -> str:
    """What a column can hold: an argument need not be UTF-8."""
    return os.fsencode(argument).decode("utf-8", "replace")


def begin_sampling(options: CaptureOptions) -> Sampling | None:
    """Start the process that samples hardware counters, if they were asked for."""
    if options.pm is None:
        return None
    from cupti_etl.pm.sampling import Sampling

    return Sampling(options.pm, options, os.environ)


def tell_failure(sampling: Sampling, *, quiet: bool) -> None:
    """Say at once that counters are not sampled, or not of all GPUs; not only in the end."""
    from cupti_etl.progress import say

    if sampling.failure is not None and not quiet:
        what, hint = sampling.failure
        say(f"cupti-etl: hardware counters are not sampled: {what}")
        say(f"  {hint}")


@contextmanager
def _into(problems: list[EtlError]) -> Iterator[None]:
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


def diagnose(collector: Collector) -> EtlError | None:
    """Why the capture is not what was asked for, or None if it is."""
    from cupti_etl.capture.launcher import injector_loads
    from cupti_etl.capture.segment import NOT_TRACED

    if not collector.traced and not collector.refused:
        why = injector_loads()
        if why is not None:
            return CaptureError(
                f"the injected library does not load: {why}", "run `cupti-etl doctor`"
            )
        return NoCudaError(
            "the program ended without initialising CUDA, so there is nothing to record",
            "if it does use CUDA: is its environment passed on (sudo, containers and ssh drop it)?",
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
