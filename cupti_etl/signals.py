"""Signals that end a command in order."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def known(*names: str) -> tuple[signal.Signals, ...]:
    """Those signals that this system has: Windows has three of them."""
    return tuple(signal.Signals[name] for name in names if name in signal.Signals.__members__)


_INTERRUPTS = known("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def caught() -> Iterator[list[int]]:
    """The signals that came to end it, which end nothing else meanwhile.

    They come to the main thread; in another, none does.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {
        number: signal.signal(number, lambda got, _: came.append(got)) for number in _INTERRUPTS
    }
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
