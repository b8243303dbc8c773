"""``cupti_etl.capture()``: what this process does from here on, as a trace."""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, overload

from cupti_etl.api import Result, Trace, open
from cupti_etl.capture.launcher import python_settings
from cupti_etl.config import ENVIRONMENT
from cupti_etl.errors import CaptureError, EtlError, UsageError
from cupti_etl.inprocess import cuda, decorating, results
from cupti_etl.inprocess.collector import CollectorProcess, in_keywords, words_of
from cupti_etl.inprocess.pytorch import begin_if_imported
from cupti_etl.native.loader import error_buffer, inject_library_path, load_injected, text
from cupti_etl.storage.bucket import Url, as_path

_F = TypeVar("_F", bound=Callable[..., Any])


class CaptureWarning(UserWarning):
    """A trace lacks something, or could not be finished; the program goes on."""


class Capture:
    """Captures the running program, from ``start`` to ``stop``, into a trace.

    Use it as a context manager, as a decorator of a function, or call ``start`` and ``stop``::

        with cupti_etl.capture("run42", python_stacks=True) as run:
            train()
        run.trace.query("kernel_summary")

    CUDA may be initialised already, or not yet.  What the program starts meanwhile (workers, child
    processes that use CUDA) is captured, too.  The rows are written by a child process, which
    outlives a crash of the program and then finishes the trace.

    Args:
        out: folder or ``FILE.duckdb``, as ``cupti-etl capture -o``; by default
            ``trace-DATE-TIME``.
        paused: begin without recording; ``resume`` or ``recording`` switches it on.
        synchronize: at ``pause`` and ``stop``, wait until the GPUs have done what was asked of
            them, so that all of it is recorded.
        quiet: no summary on standard error in the end.
        options: those of ``cupti-etl capture``, with ``_`` for ``-``: ``kinds="full"``,
            ``api="all"``, ``pm="overview"``, ``python_stacks=True``, ``pytorch=True``,
            ``overwrite=True`` ...

    Attributes:
        problem: what went wrong at the end, or None.
    """

    _tell = staticmethod(in_keywords)

    def __init__(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        paused: bool = False,
        synchronize: bool = True,
        quiet: bool = True,
        **options: object,
    ) -> None:
        self._out, self._options, self._is_quiet = out, options, quiet
        self._begins_paused, self._synchronizes = paused, synchronize
        self._collector: CollectorProcess | None = None
        self._replaced: dict[str, str | None] = {}
        self._end_pytorch: Callable[[], None] = lambda: None
        self._pid = 0
        self._path: Path | None = None
        self._trace: Trace | None = None
        self.problem: EtlError | None = None

    # ---- beginning and end

    def start(self) -> Capture:
        """Begin to record.

        Raises:
            UsageError: an option cannot be, the trace exists, or this process is being captured
                already.
            CaptureError: there is no CUPTI, or it refuses; or this process was forked by one that
                was captured then.
            NativeError: this installation has no native part.
        """
        with _lock:
            running = _running()
            if running is not None:
                raise UsageError(
                    f"this process is being captured already, to {running._path}",
                    "stop that capture first; pause and resume make several windows of one",
                )
            if _is_forked:
                raise CaptureError(
                    "this process cannot be captured: it was forked by one that was captured then",
                    "fork before the capture, or start it anew (multiprocessing: spawn)",
                )
            if self._path is not None:
                raise UsageError(
                    f"the capture to {self._path} is over", "make another with cupti_etl.capture()"
                )
            for one in list(_unwritten):  # its collector would take what is recorded from here on
                if one._collector is not None:
                    one._await(one._collector)
            collector = CollectorProcess(self._words(), self._tell)
            self._begin(collector)
            self._collector = collector
            self._path, self._pid = as_path(collector.out), os.getpid()
            _current.append(self)
        return self

    def _words(self) -> list[str]:
        out = {} if self._out is None else {"out": os.fspath(self._out)}
        return words_of({**out, **self._options, "quiet": self._is_quiet})

    def _begin(self, collector: CollectorProcess) -> None:
        ffi, lib = load_injected()
        error = error_buffer(ffi)
        settings = collector.settings | python_settings(collector.settings, os.environ)
        self._replaced = {name: os.environ.get(name) for name in settings}
        _set(settings)
        if self._begins_paused:
            lib.cupti_etl_pause(True)
        if lib.cupti_etl_begin(error) < 0:
            message = text(ffi, error.message)
            lib.cupti_etl_end(error)
            lib.cupti_etl_pause(False)  # a capture that never began pauses no other
            _set(self._replaced)
            collector.end()
            raise CaptureError(
                f"this process cannot be captured: {message}", "run `cupti-etl doctor`"
            )
        if parts := settings.get(ENVIRONMENT["PYTORCH"][0]):
            self._end_pytorch = begin_if_imported(str(inject_library_path()), parts)

    def stop(self) -> None:
        """Record no more, and wait until the trace is written.

        What goes wrong here is a warning, and ``problem``: the program goes on.  If Ctrl-C ends the
        waiting, call it again to wait on; nothing is recorded any more.

        Raises:
            UsageError: it was not started, or is over.
        """
        with _lock:
            if self._collector is None or self._pid != os.getpid():
                raise UsageError(
                    "this capture is not running", "call start() first, and stop() once"
                )
            if _running() is self:
                self._end()
            summary = self._await(self._collector)
        if summary:
            print(summary, file=sys.stderr)
        if self.problem is not None:
            warnings.warn(str(self.problem), CaptureWarning, stacklevel=2)

    def _await(self, collector: CollectorProcess) -> str:
        """Wait until the trace is written; the summary."""
        failure, summary = collector.end()
        self.problem = failure or self.problem
        self._collector = None
        _unwritten.remove(self)
        return summary

    def _end(self) -> None:
        ffi, lib = load_injected()
        error = error_buffer(ffi)
        try:
            if self._synchronizes:
                cuda.synchronize()
        finally:  # an impatient Ctrl-C comes above, and the program would be recorded to its end
            self._end_pytorch()
            if lib.cupti_etl_end(error) < 0:
                self.problem = CaptureError(text(ffi, error.message))
            _set(self._replaced)
            _current.remove(self)
            _unwritten.append(self)

    @property
    def trace(self) -> Trace:
        """The finished trace, open.

        Raises:
            UsageError: the capture is not over.
            TraceError: there is none.
        """
        if self._path is None or self._collector is not None:
            raise UsageError("the capture is not over", "call stop() first")
        if self._trace is None:
            self._trace = open(self._path)
        return self._trace

    @property
    def path(self) -> Path | None:
        """Where the trace is, or will be; None before ``start``."""
        return self._path

    def ranges(self, metrics: str | Sequence[str] = (), reduction: str = "sum") -> Result:
        """What each range ran: kernels, their time, copies, and hardware metrics.

        Args:
            metrics: of those that were sampled (``pm=``), each a column.
            reduction: of times and metrics over the kernels of a range: sum, max or mean.

        Raises:
            UsageError: the capture is not over; there is no such reduction or metric; a sum is
                asked of a metric that has none, as a percentage.
            TraceError: there is no trace.
        """
        names = [metrics] if isinstance(metrics, str) else metrics
        return results.ranges(self.trace, names, reduction)

    def memory(self, name: str | None = None) -> Result:
        """What each range, or those of a name, allocated and released (``kinds=`` with memory).

        Raises:
            UsageError: the capture is not over.
            TraceError: there is no trace.
        """
        return results.memory(self.trace, name)

    # ---- windows

    def pause(self) -> None:
        """Record nothing until ``resume``."""
        self._check_running()
        if self._synchronizes:
            cuda.synchronize()
        load_injected()[1].cupti_etl_pause(1)

    def resume(self) -> None:
        """Record again; what was recorded before and after are windows of one trace."""
        self._check_running()
        load_injected()[1].cupti_etl_pause(0)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Record inside of the block alone, in a capture that is paused."""
        self.resume()
        try:
            yield
        finally:
            self.pause()

    def _check_running(self) -> None:
        if _running() is not self:
            raise UsageError("this capture is not running", "call start() first")

    # ---- manners

    def __enter__(self) -> Capture:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if _running() is self:  # else it was stopped inside of the block, or this is a forked child
            self.stop()

    def __call__(self, function: _F) -> _F:
        """A function, or coroutine function, each call of which is a capture of its own.

        A name of a trace that is there already gets a number: ``run42``, ``run42-2`` ...  The
        function's attribute ``run`` is the capture of the last call.

        Raises:
            TypeError: it cannot be called.
            UsageError: it is a generator function, or a class.
        """
        if not callable(function):
            raise TypeError(f"{self!r} decorates a function, not {function!r}")
        decorating.check(function, "cupti_etl.capture(...)")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with self._another() as awaited.run:  # type: ignore[attr-defined]
                    return await function(*args, **kwargs)

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with self._another() as called.run:  # type: ignore[attr-defined]
                return function(*args, **kwargs)

        return called  # type: ignore[return-value]

    def _another(self) -> Capture:
        return Capture(
            _free(self._out)
            if self._out is not None and not self._options.get("overwrite")
            else self._out,
            paused=self._begins_paused,
            synchronize=self._synchronizes,
            quiet=self._is_quiet,
            **self._options,
        )

    def __repr__(self) -> str:
        if _running() is self:
            state = "running"
        elif self._collector is not None:  # somebody did not wait for stop()
            state = "being written"
        else:
            state = "over" if self._path else "not started"
        return f"<cupti_etl.capture {self._path or self._out or ''} ({state})>"


@overload
def profile(out: _F, /) -> _F: ...


@overload
def profile(out: str | os.PathLike[str] | None = None, /, **options: Any) -> Callable[[_F], _F]: ...


def profile(out: Any = None, /, **options: Any) -> Any:
    """A decorator: each call of the function is a capture of its own, the function's ``run``.

    With the arguments of ``capture``, or without any: ``@cupti_etl.profile``.

    Raises:
        UsageError: the function is a generator function, or a class.
    """
    if callable(out):
        return Capture(**options)(out)
    return Capture(out, **options)


_lock = threading.RLock()
_current: list[Capture] = []  # at most one
_unwritten: list[Capture] = []  # ended, and nobody waited for the trace
_is_forked = False  # while the parent was captured: the library here is in its state


def _running() -> Capture | None:
    """The capture of this process; that of a parent that forked it is not its own."""
    return next((one for one in _current if one._pid == os.getpid()), None)


def _set(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        if value:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


def _free(out: str | os.PathLike[str]) -> Path:
    first = as_path(out)
    if isinstance(first, Url):  # each capture has a folder of its own there
        return first
    path, number = first, 1
    while path.exists():
        number += 1
        path = first.with_name(f"{first.stem}-{number}{first.suffix}")
    return path


def _in_child() -> None:
    """A forked child is not captured, and must not speak for its parent."""
    global _lock, _is_forked
    _lock = threading.RLock()
    _is_forked = _is_forked or bool(_current)
    for one in _current:
        _set(one._replaced)
    for one in [*_current, *_unwritten]:
        if one._collector is not None:
            one._collector.forget()
    _current.clear()
    _unwritten.clear()


def _at_exit() -> None:
    running = _running()
    if running is not None:
        running.stop()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
