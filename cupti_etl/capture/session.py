"""A capture of a command, from its start to the finished trace."""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.capture.budget import Budget
from cupti_etl.capture.caller import Caller
from cupti_etl.capture.collector import Collector
from cupti_etl.capture.correlations import Correlations
from cupti_etl.capture.launcher import (
    Launcher,
    other_nccl_plugin,
    target_environment,
    target_settings,
)
from cupti_etl.capture.limits import Limits, Pauses
from cupti_etl.capture.origin import origin
from cupti_etl.capture.outcome import diagnose, say_of_what_it_died, taken_down
from cupti_etl.capture.recorder import Recorder
from cupti_etl.capture.recording import RecordingWriter
from cupti_etl.capture.replay import Replay
from cupti_etl.capture.summary import ProgressLine, summary, tell_failure
from cupti_etl.capture.triggers import SIGNAL
from cupti_etl.config import CaptureOptions
from cupti_etl.errors import EtlError, UsageError, why
from cupti_etl.progress import say
from cupti_etl.storage.destination import Convert, choose
from cupti_etl.storage.driver import Driver
from cupti_etl.storage.flight_folder import FlightFolder
from cupti_etl.storage.relink import Relink
from cupti_etl.storage.replace import Aside

if TYPE_CHECKING:
    from cupti_etl.pm.sampling import Sampling

# How long to wait for a process to ring, before something else is looked at.
_PAUSE_MS = 20


def run(options: CaptureOptions, cmd: tuple[str, ...], convert: Convert) -> int:
    """Capture a command; returns the exit status for ``cupti-etl``.

    Args:
        options: of the capture.
        cmd: the command; of a program that asked for it from inside, its own.
        convert: makes a self-contained file of a folder.

    Raises:
        EtlError: see ``cupti_etl.errors``; the command has been waited for.
    """
    if options.cupti and not options.cupti.exists():
        raise UsageError(
            f"there is no file {options.cupti}", "--cupti takes the path of a libcupti.so"
        )
    start = time.monotonic()
    with ExitStack() as stack:
        capture = _Run(options, cmd, convert, stack)
        status, problem = capture.to_the_end()
    if not options.quiet and capture.is_kept:
        summary(capture.collector, capture.destination, time.monotonic() - start, capture.said)
    say_of_what_it_died(cmd[0], status)
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

    def __init__(
        self, options: CaptureOptions, cmd: tuple[str, ...], convert: Convert, stack: ExitStack
    ) -> None:
        self._options = options
        self._cmd = cmd
        self._line = ProgressLine(quiet=options.quiet)
        self._recorder: RecordingWriter | None = None
        # Steps that took nothing since the command ended.
        self._idle: int | None = None
        self._interrupts = 0  # that came before its end
        self._until = float("inf")
        self._replay: Replay | None = None
        self.is_kept = True
        # What a flight recorder kept, and what a budget left out, in sentences.
        self.said: list[str] = []
        self.destination = stack.enter_context(choose(options, convert))
        self._relink = Relink(self.destination, is_wanted=options.trace_duckdb)
        stack.callback(self._relink.close)
        # What an early failure leaves behind would be in the way of the next attempt.
        undo = stack.enter_context(ExitStack())
        self._before = Aside(options.out)
        if options.overwrite:
            undo.callback(self._before.restore)
            self._before.put()
        self.destination.create()
        undo.callback(self.destination.discard)
        if options.save_raw:
            self._recorder = RecordingWriter(options.save_raw)
            undo.callback(options.save_raw.unlink)
        self.sampling = _begin_sampling(options)
        self.collector = Collector(
            self._recorder, sampling=self.sampling, allow_uids=options.allow_uids
        )
        stack.callback(self.collector.close)
        pauses = Pauses(self.collector.wakeup.pause)
        self._limits = Limits(
            options,
            pauses.add(),
            lambda: self.collector.rows_and_records()[0],
            self.destination.size,
        )
        self._budget: Budget | None = None
        if options.budget is not None:
            windows = self.collector.wakeup, self.collector.take_counted
            self._budget = Budget(options.budget, pauses.add(), *windows, quiet=options.quiet)
            self.collector.watchers.append(self._budget)
        elif options.capture_range or options.inside is not None:
            self.collector.watchers.append(Correlations())
        settings = target_settings(options, self.collector.settings, os.environ)
        self.collector.known_losses += other_nccl_plugin(options, os.environ)
        if self.sampling is not None:
            # So that the program's first kernel is sampled.
            self.sampling.wait_until_ready()
            tell_failure(self.sampling, quiet=options.quiet)
        self._limits.begin()
        self.launcher: Launcher | Caller
        if options.inside is not None:
            self.launcher = Caller(
                options.inside, settings, options.out, self.collector.has_read_all_of
            )
        else:
            environment = target_environment(settings, os.environ)
            kept = [signal.SIGUSR2] if options.flight and SIGNAL in options.flight.triggers else []
            stdout = self.destination.program_stdout
            if options.range_metrics and options.range_metrics.replay == "application":
                self._replay = Replay(environment, quiet=options.quiet)
            self.launcher = Launcher(cmd, environment, stdout, kept)
        undo.pop_all()
        stack.callback(self.launcher.close)

    def to_the_end(self) -> tuple[int, EtlError | None]:
        """Follow the command to its end and finish the trace, whatever goes wrong."""
        options = self._options
        facts = {
            "source": "capture",
            "command": _text(" ".join(self._cmd)) if options.argv else None,
            "kinds": ",".join(options.kinds),
            "api_level": options.api,
            "flush_ms": options.flush_ms,
            "ring_mb": options.buffer_mb,
            "capture_range": _text(options.capture_range) or None,
            "delay_ns": options.delay_ns,
            "duration_ns": options.duration_ns or None,
            "budget_pct": options.budget and 100 * options.budget.share,
            **origin(Path.cwd(), options.tags),
        }
        driver = self._driver(facts)
        problems: list[EtlError] = []
        with taken_down(problems):
            driver.run(self._watch)
            self._line.clear()
        status = self.launcher.wait()
        with taken_down(problems):
            self.collector.abandon()
            if self.sampling is not None:
                self.sampling.stop()
            found = self._budget.end() if self._budget is not None else {}
            driver.finish(status, {"stopped_by": self._limits.stopped_by, **found})
            if not self._is_nothing():
                self._relink.finish()
        if isinstance(driver, Recorder):
            self.said.append(driver.summary())
        if self._budget is not None:
            self.said.append(self._budget.summary())
        unrecorded = self._close_recording()
        self.is_kept = bool(problems) or not self._is_nothing()
        if self.is_kept:
            self._before.remove()
        else:
            self.destination.remove()
            if options.save_raw:
                options.save_raw.unlink(missing_ok=True)
            self._before.restore()
        return status, problems[0] if problems else unrecorded

    def _driver(self, facts: dict[str, Any]) -> Driver | Recorder:
        """What takes the rows."""
        kinds = self._options.kinds
        if self._options.flight is None:
            return Driver(self.collector, self.destination, facts, kinds, self._meanwhile)
        assert isinstance(self.destination, FlightFolder)
        return Recorder(
            self.collector,
            self.destination,
            self._options.flight,
            ({**facts, "start_ns": time.time_ns()}, kinds),
            lambda: self.launcher.kept,
            self.launcher.poll,
            quiet=self._options.quiet,
        )

    def _is_nothing(self) -> bool:
        """Whether no process came to be recorded, nor failed to be."""
        collector = self.collector
        return not (
            collector.traced or collector.refused or self.sampling or any(collector.losses())
        )

    def _meanwhile(self) -> None:
        """While the writer holds us up: signals go on, and samples are not held up with us."""
        self.launcher.poll()
        if self.sampling is not None:
            self.sampling.drain()

    def _watch(self, more: bool) -> int | None:
        """Go on until the command and all processes it left behind have ended.

        The latter are given ``linger_ns``, or until they end; an interrupt ends the wait.
        """
        launcher, collector, linger_ns = self.launcher, self.collector, self._options.linger_ns
        has_ended = launcher.poll() is not None
        if self._idle is not None:
            # Twice, for what said hello just before the end.
            self._idle = 0 if more else self._idle + 1
            is_told_to = launcher.interrupts > self._interrupts or time.monotonic() >= self._until
            if (is_told_to and more) or (self._idle > 1 and (is_told_to or collector.live == 0)):
                return self._next_run()
        elif has_ended:
            self._idle = 0
            self._interrupts = launcher.interrupts
            if linger_ns is not None:
                self._until = time.monotonic() + linger_ns / 1e9
        self._limits.look()
        if self._budget is not None:
            if collector.traced:
                self._budget.begin()
            self._budget.look()
        if self._options.on_conflict == "fail" and collector.has_conflict():
            launcher.terminate()
        if collector.traced or self.sampling is not None:
            self._relink.begin()
        self._line.tell(collector, beside_program=self._idle is None)
        pause = self._budget.pause_ms(_PAUSE_MS) if self._budget is not None else _PAUSE_MS
        return 0 if self._idle is not None and self._idle < 2 else pause

    def _next_run(self) -> int | None:
        self._line.clear()
        if self._replay is None or not isinstance(self.launcher, Launcher):
            return None
        self._idle, self._until = None, float("inf")
        return _PAUSE_MS if self._replay.begin_next(self.launcher, self.collector) else None

    def _close_recording(self) -> EtlError | None:
        if self._recorder is None:
            return None
        failure = self.collector.record_failure
        try:
            self._recorder.close()
        except OSError as error:
            failure = failure or f"the recording cannot be written: {why(error)}"
        return EtlError(failure, "the trace itself is whole") if failure else None


def _text(argument: str) -> str:
    """What a column can hold: an argument need not be UTF-8."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _begin_sampling(options: CaptureOptions) -> Sampling | None:
    """Start the process that samples hardware counters, if they were asked for."""
    if options.pm is None:
        return None
    # Most captures do without.
    from cupti_etl.pm.sampling import Sampling

    return Sampling(options.pm, options, os.environ)
