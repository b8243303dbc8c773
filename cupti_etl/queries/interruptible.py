"""Does what takes long in such a way that Ctrl-C, and what ends the program, stop it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

_T = TypeVar("_T")
_PATIENCE_S = 0.05


def interruptible(action: Callable[[], _T], stop: Callable[[], None]) -> _T:
    """Do it in another thread than the main one, which waits for a signal meanwhile.

    While the main thread waits inside Arrow for DuckDB's next batch, Python cannot act on a signal,
    and of several short statements one can take it and end all the same.

    Args:
        action: what is done.
        stop: stops it; what it stops may not have begun yet, or be followed by more, so that it
            is called until the action has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        return action()
    outcome: Future[_T] = Future()

    def work() -> None:
        # What it starts is stopped by Ctrl-C, too.
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        try:
            outcome.set_result(action())
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=work, daemon=True)
    # Ctrl-C waits until there is a thread to stop.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        thread.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        while not outcome.done():
            wait([outcome], _PATIENCE_S)  # a signal that another thread got wakes nobody here
        return outcome.result()
    except (KeyboardInterrupt, SystemExit):
        while not outcome.done():
            # Ctrl-C once more would leave it to end by itself.
            with contextlib.suppress(KeyboardInterrupt):
                stop()
                wait([outcome], _PATIENCE_S)
        raise
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if thread.ident is not None:
            thread.join()  # it holds what it reads from, and with that the connection
