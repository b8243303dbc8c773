"""Signals that end a command in order."""

from __future__ import annotations

import os
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


class Ended(SystemExit):
    """A signal came that ends the process, once nothing is left behind."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.number = number


def end_in_order() -> None:
    """From now on, what would end this process at once raises ``Ended`` in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        return
    process = os.getpid()
    came: list[int] = []

    def end(number: int, _: object) -> None:
        if os.getpid() != process:  # a fork of it, which has nothing to tidy up
            end_by(number)
        # Another, as timeout(1) sends two, would end what tidies up and stops threads.
        if not came:
            came.append(number)
            raise Ended(number)

    for number in known("SIGTERM", "SIGHUP"):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def end_by(number: int) -> None:
    """End as whoever sent the signal expects."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
