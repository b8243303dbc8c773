"""The process that notes which signals the whole group got."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Iterator

import pytest

from cupti_etl.capture.signal_witness import Witness

SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)


@pytest.fixture
def witness() -> Iterator[Witness]:
    """One that stands beside this process, which has the signals blocked as a capture has."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    found = Witness(SIGNALS)
    yield found
    found.close()
    while signal.sigtimedwait(SIGNALS, 0) is not None:
        pass
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def test_it_keeps_no_descriptor_of_ours() -> None:
    read, write = os.pipe()
    high = os.dup2(write, 500)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    witness = Witness(SIGNALS)
    try:
        os.close(write)
        os.close(high)
        ready, _, _ = select.select([read], [], [], 10)
        assert ready, "the pipe has not come to its end"
        assert os.read(read, 1) == b""
    finally:
        witness.close()
        os.close(read)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def test_what_was_for_us_alone_it_did_not_see(witness: Witness) -> None:
    # To this thread: others of the test's process do not have it blocked.
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    assert not witness.saw(signal.SIGUSR1)
