"""What takes long is stopped by Ctrl-C, however often that is pressed."""

from __future__ import annotations

import signal
import threading

import pytest

from cupti_etl.queries.interruptible import interruptible

_FAR_S = 300


def test_pressing_it_again_stops_it_all_the_same() -> None:
    stopped = threading.Event()
    ended = []

    def compute() -> None:
        signal.raise_signal(signal.SIGINT)
        ended.append(stopped.wait(_FAR_S))

    def stop() -> None:
        if not again:
            again.append(True)
            signal.raise_signal(signal.SIGINT)
        stopped.set()

    again: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        interruptible(compute, stop)
    assert ended == [True]
