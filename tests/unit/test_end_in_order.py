"""A signal that ends a command: what tidies up is not ended by another."""

from __future__ import annotations

import subprocess
import sys

import pytest

TWICE = """
import os, signal, sys
from cupti_etl.signals import Ended, end_in_order
signal.signal(signal.SIGHUP, signal.SIG_DFL)
end_in_order()
try:
    signal.raise_signal(signal.SIGTERM)
except Ended as ended:
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGHUP)
    print("tidied up after", ended.number)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
def test_what_tidies_up_is_not_ended_by_a_second_signal() -> None:
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=True)
    assert done.stdout == "tidied up after 15\n"
