"""A capture that a program asked for from inside: when it ends."""

from __future__ import annotations

import subprocess
import sys

_KILLED_WHILE_IT_STARTS = """
import os, socket, time
from pathlib import Path
from cupti_etl.capture.caller import Caller

program = os.fork()
if program:
    os.waitpid(program, 0)
    os._exit(0)
program = os.getpid()
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.fork():
    os._exit(9)
while Path(f"/proc/{program}").exists():
    time.sleep(0.01)
caller = Caller(ours.detach(), {}, Path("run"), lambda pid: pid == program)
while caller.poll() is None:
    time.sleep(0.01)
print("over")
"""


def test_it_ends_where_its_program_was_gone_before_and_a_child_keeps_the_socket() -> None:
    code = [sys.executable, "-c", _KILLED_WHILE_IT_STARTS]
    done = subprocess.run(code, capture_output=True, text=True, check=True, timeout=120)
    assert (done.stdout, done.stderr) == ("over\n", "")
