"""The stretches of time in which a process recorded, as it notes them in its segment."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cupti_etl.errors import NativeError
from cupti_etl.native.headers import enumeration
from cupti_etl.native.loader import load

# Of a process, that have rows of their own; one stands for all that follow.
_MOST = 10_000
# A process can open them faster than they are read.
_AT_A_TIME = 1024


@dataclass(frozen=True)
class Window:
    """A stretch of time in which a process recorded; times are ns of CLOCK_REALTIME.

    Attributes:
        start_ns: when all records were switched on.
        end_ns: when they began to be switched off; None if they never were.
        opened_by: why; one of ``SWITCHES``, None of several.
        closed_by: likewise; None if it is open.
        switch_on_ns: how long switching on took, in ns; None of several.
        switch_off_ns: likewise; None if it is open.
        windows: how many there were between start and end, if they came faster than they were
            read, or after very many; else 1.
    """

    start_ns: int
    end_ns: int | None
    opened_by: str | None
    closed_by: str | None
    switch_on_ns: int | None
    switch_off_ns: int | None
    windows: int = 1


@dataclass(frozen=True)
class Counted:
    """A window that was opened and closed by order, and launches of the process until then.

    Both edges are alike: a thread of the program was about to launch, copy or wait.

    Attributes:
        number: of the window, among those of the process.
        start_ns: when it began to be switched on, in ns of CLOCK_REALTIME.
        end_ns: when it had been switched off.
        launches_on: launches before it began to be switched on.
        launches_off: until it had been switched off.
    """

    number: int
    start_ns: int
    end_ns: int
    launches_on: int
    launches_off: int


SWITCHES = tuple(enumeration("etl_switch", "ETL_BY_").values())


class Windows:
    """Those of one process, which are read anew each time that they are asked for.

    Args:
        handle: the native process, which must live as long.
    """

    def __init__(self, handle: Any) -> None:
        self._ffi, self._lib = load()
        self._handle = handle
        self._closed: list[Window] = []
        self._counted: deque[Counted] = deque(maxlen=_AT_A_TIME)
        self._more: Window | None = None
        self._open: Window | None = None
        self._next = 0
        self._passed_on = 0
        self._are_all = False

    def so_far(self, start_ns: int) -> list[Window]:
        """All of a process that began then; the last one may still be open."""
        self._read(start_ns)
        return [*self._closed, *(each for each in (self._more, self._open) if each is not None)]

    def new(self, start_ns: int, is_over: bool) -> Iterator[Window]:
        """Those that will stay as they are and were not passed on; once it is over, the rest."""
        if self._are_all:
            return
        self._are_all = is_over
        windows = self.so_far(start_ns)
        yield from windows[self._passed_on : None if is_over else len(self._closed)]
        self._passed_on = len(self._closed)

    def take_counted(self) -> list[Counted]:
        """Those whose launches were counted that are new; only the last of very many."""
        taken = list(self._counted)
        self._counted.clear()
        return taken

    def described(self, description: dict[str, Any]) -> None:
        """Take those of a recording.

        Raises:
            NativeError: they are damaged.
        """
        self._closed = _described(description)
        self._open = None
        if self._closed and self._closed[-1].end_ns is None:
            self._open = self._closed.pop()

    def _read(self, start_ns: int) -> None:
        number, raw = self._ffi.new("uint32_t *"), self._ffi.new("struct etl_window *")
        for _ in range(_AT_A_TIME):
            number[0] = self._next
            if not self._lib.etl_process_window(self._handle, number, raw):
                return
            window = _window(raw)
            if missed := number[0] - self._next:
                last = self._more or (self._closed[-1] if self._closed else None)
                since = start_ns if last is None or last.end_ns is None else last.end_ns
                if missed > 1:
                    self._add(_several(since, window.start_ns, missed))
                    self._next = number[0]
                else:
                    # As one alone it would look as if it were known.
                    window = _several(since, window.end_ns, 2)
            self._open = window if window.end_ns is None else None
            if self._open is not None:
                return
            self._add(window)
            if raw.launches_off and window.opened_by == window.closed_by == "collector":
                self._counted.append(_counted(number[0], raw))
            self._next = number[0] + 1

    def _add(self, window: Window) -> None:
        if self._more is not None:
            count = self._more.windows + window.windows
            self._more = _several(self._more.start_ns, window.end_ns, count)
        elif len(self._closed) < _MOST:
            self._closed.append(window)
        else:
            self._more = window


def _several(start_ns: int, end_ns: int | None, count: int) -> Window:
    return Window(start_ns, end_ns, None, None, None, None, count)


def _window(raw: Any) -> Window:
    is_closed = raw.end_ns != 0
    return Window(
        raw.start_ns,
        raw.end_ns if is_closed else None,
        SWITCHES[raw.opened_by % len(SWITCHES)],
        SWITCHES[raw.closed_by % len(SWITCHES)] if is_closed else None,
        raw.on_ns,
        raw.off_ns if is_closed else None,
    )


def _counted(number: int, raw: Any) -> Counted:
    start_ns, end_ns = raw.start_ns - raw.on_ns, raw.end_ns + raw.off_ns
    return Counted(number, start_ns, end_ns, raw.launches_on, raw.launches_off)


def _described(description: dict[str, Any]) -> list[Window]:
    try:
        windows = [Window(**window) for window in description.get("windows", ())]
    except TypeError as error:
        raise NativeError(f"the description of a process is damaged: {error!r}") from None
    for window in windows:
        # It was open, or it is several.
        may_lack = {"end_ns", "closed_by", "switch_off_ns"}
        if isinstance(window.windows, int) and window.windows > 1:
            may_lack |= {"opened_by", "switch_on_ns"}
        for name, value in vars(window).items():
            if value is None and name in may_lack:
                continue
            is_time = isinstance(value, int) and -(2**63) <= value < 2**63
            if value not in SWITCHES if name in ("opened_by", "closed_by") else not is_time:
                raise NativeError(f"the description of a process is damaged: {name}={value!r}")
    return windows
