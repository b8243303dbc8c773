"""Programs under tight limits: they run to the end that they would have alone."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence

import pytest
from support.captures import Capturer
from support.fake_cuda import script
from support.fakes import Fakes

CUPTI = "13.5.25"


def thrifty(mib: int) -> list[str]:
    """A program with so much address space left, of which it takes seven eighths for itself."""
    return script(f"""
import mmap, resource
used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
resource.setrlimit(resource.RLIMIT_AS, (used + ({mib} << 20),) * 2)
cuda()
memory = mmap.mmap(-1, {mib - mib // 8 - 12} << 20)
launch(20)
""")


def runs_alone(fakes: Fakes, command: Sequence[str]) -> bool:
    """Whether it ends well without a capture."""
    env = {**os.environ, **fakes.env(CUPTI)}
    return subprocess.run(command, env=env, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("mib", [60, 100, 300, 800])
def test_too_little_address_space(capturer: Capturer, fakes: Fakes, mib: int) -> None:
    command = thrifty(mib)
    assert runs_alone(fakes, command)
    capture = capturer.run(command=command)
    assert capture.status == 4, capture.stderr
    assert "the limit of its address space (ulimit -v) leaves it" in capture.stderr
    (loss,) = capture.rows("loss")
    assert loss["cause"] == "not_traced"


@pytest.mark.parametrize("mib", [1100, 3000])
def test_the_program_has_its_share(capturer: Capturer, fakes: Fakes, mib: int) -> None:
    command = thrifty(mib)
    assert runs_alone(fakes, command)
    capture = capturer.run(command=command)
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 20
    capture.check_sums()


@pytest.mark.parametrize(
    ("limit", "size"), [("-v 1100000", "32"), ("-v 1600000", "96"), ("-f 300000", "128")]
)
def test_a_smaller_segment(capturer: Capturer, fakes: Fakes, limit: str, size: str) -> None:
    """In sh, `ulimit -v` counts KiB, and `ulimit -f` 512 bytes."""
    program = shlex.join(fakes.program(launches=50))
    capture = capturer.run(command=["sh", "-c", f"ulimit {limit} && exec {program}"])
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 50
    (process,) = capture.rows("process")
    assert process["state"] == "finished"
    assert process["detail"] == f"its limits leave room for {size} MiB of shared memory, not 256"
    capture.check_sums()


def test_no_room_for_any_file(capturer: Capturer, fakes: Fakes) -> None:
    program = shlex.join(fakes.program(launches=50))
    capture = capturer.run(command=["sh", "-c", f"ulimit -f 1000 && exec {program}"])
    assert capture.status == 4
    assert "the file size limit (RLIMIT_FSIZE) is below" in capture.stderr
