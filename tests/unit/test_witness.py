"""The process that notes which signals the whole group got."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.waiting import is_pending, wait_until

from cupti_etl.capture import signal_witness
from cupti_etl.capture.signal_witness import Witness

SIGNALS = (signal.SIGUSR1, signal.SIGUSR2)
# A capture forks it before it has threads; those that run tests have some.
pytestmark = pytest.mark.filterwarnings("ignore:.* multi-threaded, use of fork:DeprecationWarning")


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


def to_both(witness: Witness, number: signal.Signals) -> None:
    """What a signal to their group does, from the newest process to the oldest."""
    os.kill(witness._pid, number)
    signal.pthread_kill(threading.get_ident(), number)


def test_what_was_for_the_group_it_saw_though_it_has_not_run_since(
    witness: Witness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signal_witness, "_PATIENCE_S", 0)
    os.kill(witness._pid, signal.SIGSTOP)
    to_both(witness, signal.SIGUSR1)

    def run_once_asked() -> None:
        wait_until(lambda: is_pending(witness._pid, signal.SIGRTMIN))
        os.kill(witness._pid, signal.SIGCONT)

    asked = threading.Thread(target=run_once_asked)
    asked.start()
    try:
        assert signal.sigtimedwait([signal.SIGUSR1], 0) is not None
        assert witness.saw(signal.SIGUSR1)
    finally:
        os.kill(witness._pid, signal.SIGRTMIN)
        asked.join()


def test_signals_that_were_one_for_us_are_one(witness: Witness) -> None:
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1):
        to_both(witness, number)
        wait_until(lambda number=number: not is_pending(witness._pid, number))
    for number in SIGNALS:
        assert signal.sigtimedwait([number], 0) is not None
        assert witness.saw(number)
    # The second note of the first is no note of what comes later, to us alone.
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
    assert signal.sigtimedwait([signal.SIGUSR1], 0) is not None
    assert not witness.saw(signal.SIGUSR1)


def test_a_signal_that_waits_keeps_its_note(witness: Witness) -> None:
    to_both(witness, signal.SIGUSR1)
    wait_until(lambda: not is_pending(witness._pid, signal.SIGUSR1))
    assert signal.sigtimedwait([signal.SIGUSR1], 0) is not None
    to_both(witness, signal.SIGUSR1)
    assert witness.saw(signal.SIGUSR1)
    assert signal.sigtimedwait([signal.SIGUSR1], 0) is not None
    assert witness.saw(signal.SIGUSR1)


def test_one_that_was_killed_saw_nothing(witness: Witness) -> None:
    os.kill(witness._pid, signal.SIGKILL)
    assert not witness.saw(signal.SIGUSR1)


_KILLED_AT_ONCE = """
import os, signal, time
from cupti_etl.capture import signal_witness

parent, fork = os.getpid(), os.fork

def begin_late():
    pid = fork()
    while pid == 0 and os.getppid() == parent:
        time.sleep(0.01)
    return pid

os.fork = begin_late
print(signal_witness.Witness([signal.SIGUSR1])._pid, flush=True)
os._exit(0)
"""


def test_it_ends_where_its_parent_is_gone_before_it_has_run() -> None:
    code = [sys.executable, "-c", _KILLED_AT_ONCE]
    said = subprocess.run(code, capture_output=True, text=True, check=True, timeout=120)
    witness = Path(f"/proc/{int(said.stdout)}/cmdline")
    # One that has ended has none, though nobody may have waited for it yet.
    wait_until(lambda: not witness.exists() or not witness.read_bytes())
