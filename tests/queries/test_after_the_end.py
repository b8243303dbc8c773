"""A trace that is asked when its program has come to the end, where no thread can be begun."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.trace import write_trace

PROGRAM = """
import atexit, concurrent.futures.thread, sys
import cupti_etl

def ask():
    with cupti_etl.open(sys.argv[1]) as trace:
        # A native operator, several views at once, and several questions at once.
        print(trace.query("busy_breakdown").count(), trace.query("kernel_category").count())
        print(str(cupti_etl.report(trace)).splitlines()[0])

atexit.register(ask)
"""


def test_answers_come_all_the_same(tmp_path: Path) -> None:
    kernels = "process_id device_id start_ns end_ns name\n 1 0 10 20 a\n 1 0 30 40 b"
    path = write_trace(tmp_path / "run", kernel=kernels)
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("1 1\n# run\n", 0), done.stderr
