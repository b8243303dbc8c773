"""Looking for the segment of a program that goes on meanwhile."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cupti_etl.capture.resume import open_segment
from cupti_etl.errors import UsageError

BUSY = """
import os
print(flush=True)
while True:
    for file in [os.open(os.devnull, 0) for _ in range(50)]:
        os.close(file)
"""


@pytest.mark.slow
def test_files_that_are_closed_while_we_look() -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE) as busy:
        try:
            assert busy.stdout is not None
            busy.stdout.readline()
            for _ in range(2000):  # so many, as a moment must be hit
                with pytest.raises(UsageError, match="is not being traced"):
                    open_segment(busy.pid)
        finally:
            busy.kill()
