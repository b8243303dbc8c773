"""``cupti_etl.callbacks()``: a function of the program that CUPTI's callbacks are handed to."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import TYPE_CHECKING, Any

from cupti_etl.config import ENVIRONMENT, NVTX_INJECTION
from cupti_etl.errors import CaptureError, UsageError
from cupti_etl.inprocess.callback_event import CallbackEvent
from cupti_etl.native.loader import error_buffer, inject_library_path, load_injected, text
from cupti_etl.schema.callbacks import DOMAINS, check_domain, check_names, selection

if TYPE_CHECKING:
    from cupti_etl.inprocess.callback_reader import CallbackReader

# How long events wait for others before they are handed on, and how often failures are told of.
_WAIT_MS = 50
_MOST_REPORTS = 10
_FULL_ONES = -1


class CallbackWarning(UserWarning):
    """Callbacks were lost, or the function they are handed to has failed."""


class Callbacks:
    """Hands CUPTI's callbacks to a function, from ``start`` to ``stop``.

    Use it as a context manager, or call ``start`` and ``stop``::

        def seen(batch):  # a pyarrow.RecordBatch
            print(batch.num_rows, batch.column("function").value_counts())

        with cupti_etl.callbacks("driver", ["cuLaunchKernel", "cuMemcpy*"], seen):
            train()

    ``fn`` gets batches on a thread of its own, which have the columns of the table
    ``callback_event``: one row a call, with the times of its two callbacks.  With ``inline=True``
    it gets a :class:`CallbackEvent` instead, at the beginning and at the end of each call, on the
    thread that calls, which waits for it; calls of CUDA that ``fn`` makes itself are not told.

    What ``fn`` raises is reported by ``sys.unraisablehook``, the first ten times, and counted; CUDA
    never sees it.  A forked child has no callbacks.

    Args:
        domain: ``driver``, ``runtime``, ``resource``, ``synchronize``, ``nvtx`` or ``state``.
        names: functions, or what happens (``STREAM_CREATED``), an asterisk for any characters;
            None for all of the domain.
        fn: called with each batch, or each event.
        inline: whether it is called on the thread that calls CUDA.
        buffer_mb: memory for events that wait for ``fn``, in steps of 32 MiB.
        cupti: libcupti to use where the process has none loaded.

    Attributes:
        errors: exceptions that ``fn`` raised.
        lost: events that found no room, as ``fn`` was too slow.
        callbacks: how many callbacks CUPTI made, a call's two as two.
    """

    def __init__(
        self,
        domain: str = "driver",
        names: Iterable[str] | str | None = None,
        fn: Callable[[Any], object] | None = None,
        *,
        inline: bool = False,
        buffer_mb: int = 32,
        cupti: str | os.PathLike[str] | None = None,
    ) -> None:
        if not callable(fn):
            raise UsageError("callbacks() needs a function", "give fn=, which gets the callbacks")
        if not 32 <= buffer_mb <= 4096:
            raise UsageError(f"buffer_mb={buffer_mb} cannot be", "give 32 to 4096 MiB")
        self._domain, self._fn, self._is_inline = check_domain(domain), fn, inline
        self._names = ["*"] if names is None else [names] if isinstance(names, str) else [*names]
        if not self._names:
            raise UsageError("callbacks() has no names", "leave names out for all of the domain")
        self._buffer_mb, self._cupti = buffer_mb, cupti
        self._number = 0
        self._pid = 0
        self._thread: threading.Thread | None = None
        self._handle: Any = None  # of the C function that calls fn
        self._counts = (0, 0)
        self.errors = 0

    # ---- beginning and end

    def start(self) -> Callbacks:
        """Begin to hand callbacks to ``fn``.

        Raises:
            UsageError: it runs, or ran, already, or a name is no callback's.
            CaptureError: there is no CUPTI, another client has it, or 16 others run.
            NativeError: this installation has no native part.
        """
        with _lock:
            if self._pid:
                raise UsageError("these callbacks were started already", "make others")
            ffi, lib = load_injected()
            error = error_buffer(ffi)
            with _libcupti(self._cupti):
                _check(ffi, lib.cupti_etl_callbacks_load(error), error)
                names = check_names(self._domain, self._names, _names(ffi, lib, self._domain))
                if self._domain == "nvtx":
                    # NVTX asks for it when the program first uses it.
                    os.environ.setdefault(NVTX_INJECTION, str(inject_library_path()))
                chosen = selection({self._domain: names}).encode()
                if self._is_inline:
                    self._handle = ffi.callback("etl_callback_fn", self._told, onerror=self._failed)
                number = lib.cupti_etl_callbacks_start(
                    chosen, self._handle or ffi.NULL, ffi.NULL, self._buffer_mb, error
                )
                self._number = _check(ffi, number, error)
            self._pid = os.getpid()
            _running.append(self)
        if not self._is_inline:
            self._thread = threading.Thread(target=self._follow, name="cupti-etl callbacks")
            self._thread.daemon = True
            self._thread.start()
        return self

    def stop(self) -> None:
        """Hand out what has gathered, and no more; can be called in ``fn``.

        Raises:
            UsageError: it is not running.
        """
        with _lock:
            if self not in _running:
                raise UsageError("these callbacks are not running", "call start() first")
            _, lib = load_injected()
            lib.cupti_etl_callbacks_stop(self._number)
            _running.remove(self)
        if self._thread is None:
            self._end_inline(lib)
        elif self._thread is not threading.current_thread():
            self._thread.join()
        if self.errors > _MOST_REPORTS:
            warnings.warn(f"{self._fn!r} failed {self.errors} times", CallbackWarning, stacklevel=2)
        if self.lost:
            warnings.warn(
                f"{self.lost} callbacks found no room: {self._fn!r} is too slow for buffer_mb",
                CallbackWarning,
                stacklevel=2,
            )

    def _end_inline(self, lib: Any) -> None:
        # Not in CUPTI's callback, whose end is waited for there.
        if lib.cupti_etl_callbacks_is_inside():
            threading.Thread(target=self._close, name="cupti-etl callbacks").start()
        else:
            self._close()

    def _close(self) -> None:
        _, lib = load_injected()
        self._counts = self._count()
        number, self._number = self._number, 0
        lib.cupti_etl_callbacks_close(number)

    def _count(self) -> tuple[int, int]:
        if not self._number or self._pid != os.getpid():
            return self._counts
        ffi, lib = load_injected()
        counts = ffi.new("struct etl_callback_counts *")
        lib.cupti_etl_callbacks_count(self._number, counts)
        return counts.callbacks, counts.lost

    @property
    def callbacks(self) -> int:
        """How many callbacks CUPTI made, a call's two as two."""
        return self._count()[0]

    @property
    def lost(self) -> int:
        """Events that found no room."""
        return self._count()[1]

    # ---- what fn gets

    def _told(self, _: Any, event: Any, function: Any, message: Any) -> None:
        """In CUPTI's callback."""
        ffi, _lib = load_injected()
        copy = ffi.new("struct etl_callback_event *", event[0])
        words = None if message == ffi.NULL else text(ffi, message)
        self._fn(CallbackEvent(copy, text(ffi, function), words))

    def _failed(
        self, _kind: type[BaseException], error: BaseException, _trace: TracebackType | None
    ) -> None:
        self.errors += 1
        if self.errors <= _MOST_REPORTS:
            _report(self._fn, error)

    def _follow(self) -> None:
        """On a thread of its own."""
        try:
            self._read()
        except Exception as error:  # for want of memory
            self._failed(type(error), error, error.__traceback__)
        finally:
            self._close()

    def _read(self) -> None:
        from cupti_etl.inprocess.callback_reader import CallbackReader

        ffi, lib = load_injected()
        reader, slot = CallbackReader(), ffi.new("struct etl_slot_view *")
        is_over = False
        while not is_over:
            # Looked at before the slots are: none comes behind the last of them.
            is_over = self not in _running
            first, others = (0, 0) if is_over else (_WAIT_MS, _FULL_ONES)
            more = lib.cupti_etl_callbacks_next(self._number, first, slot)
            while more:
                reader.add(slot)
                lib.cupti_etl_callbacks_release(self._number, slot.slot)
                if reader.is_full():
                    self._hand_over(reader)
                more = lib.cupti_etl_callbacks_next(self._number, others, slot)
            self._hand_over(reader)

    def _hand_over(self, reader: CallbackReader) -> None:
        batch = reader.take()
        if batch is None:
            return
        try:
            self._fn(batch)
        except BaseException as error:
            self._failed(type(error), error, error.__traceback__)

    # ---- manners

    def __enter__(self) -> Callbacks:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self in _running:  # else it was stopped inside of the block, or this is a forked child
            self.stop()

    def __repr__(self) -> str:
        state = "running" if self in _running else "over" if self._pid else "not started"
        return f"<cupti_etl.callbacks {self._domain}:{','.join(self._names)} ({state})>"


callbacks = Callbacks


@contextmanager
def _libcupti(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """Which libcupti is to be loaded, where the process has none: a capture may say it, too."""
    from cupti_etl.native.cupti_search import find_cupti

    wanted = {"CUPTI": None if path is None else str(Path(path).resolve())}
    wanted["CUPTI_SEARCH"] = ":".join(str(copy.path) for copy in find_cupti(os.environ))
    settings = {ENVIRONMENT[key][0]: value for key, value in wanted.items() if value}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _check(ffi: Any, code: int, error: Any) -> int:
    if code < 0:
        raise CaptureError(
            f"callbacks cannot be had: {text(ffi, error.message)}", "run `cupti-etl doctor`"
        )
    return code


def _names(ffi: Any, lib: Any, domain: str) -> list[str]:
    """What the libcupti of this process calls back about."""
    name = ffi.new("const char **")
    number = DOMAINS.index(domain) + 1
    found: dict[str, None] = {}
    for cbid in range(1, ffi.integer_const("ETL_MOST_CALLBACK_IDS")):
        length = lib.cupti_etl_callbacks_name(number, cbid, name)
        if length >= 0:
            found[ffi.buffer(name[0], length)[:].decode()] = None
    return sorted(found)


def _report(fn: Callable[[Any], object], error: BaseException) -> None:
    """Tell of an exception that nobody can catch."""
    message = "Exception ignored in a function that CUPTI's callbacks are handed to"
    if sys.unraisablehook is sys.__unraisablehook__:
        print(f"{message}: {fn!r}", file=sys.stderr)
        traceback.print_exception(error)
        return
    sys.unraisablehook(
        SimpleNamespace(
            exc_type=type(error),
            exc_value=error,
            exc_traceback=error.__traceback__,
            err_msg=message,
            object=fn,
        )
    )


_lock = threading.RLock()
_running: list[Callbacks] = []


def _in_child() -> None:
    """A forked child has none: it cannot use CUDA."""
    global _lock
    _lock = threading.RLock()
    _running.clear()


def _at_exit() -> None:
    for one in [*_running]:
        one.stop()


os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)
