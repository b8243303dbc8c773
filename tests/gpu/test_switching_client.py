"""The client that only switches records: in each way it records, and is at peace with CUPTI."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest
from support.fake_cuda import script
from support.fakes import Fakes

pytestmark = pytest.mark.slow

SWITCHES = 6
# Launches until the client has switched so often, which is what its file begins with.
PROGRAM = f"""
cuda()
import struct
def switches():
    return struct.unpack("Q", Path(os.environ["SWITCH_OUT"]).read_bytes()[:8])[0]
while True:
    launch(5); driver.fakeSynchronize()
    if os.environ["SWITCH_WAY"] in ("closed", "callbacks", "whole") or switches() >= {SWITCHES}:
        break
"""


CLOSED = ("closed", "callbacks")
IN_CALLS = ("entry", "rare", "return", "armed", "patient", "gpu", "gpu-rare", "calls", "finalize")


@pytest.mark.parametrize("way", [*CLOSED, "whole", "thread", *IN_CALLS])
def test_each_way(tmp_path: Path, fakes: Fakes, way: str) -> None:
    from runs import Runner
    from switching_ways import COUNTS, Client

    runner = Runner(tmp_path, tmp_path / "log", 60)
    client = Client(runner, "", None)
    env = client.environ("run", way, 2000, 2000, new=False)
    done = subprocess.run(
        script(PROGRAM),
        env={**os.environ, **fakes.env("13.0.85", log=tmp_path / "fakes"), **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    counts = dict(
        zip(
            COUNTS,
            struct.unpack(f"{len(COUNTS)}Q", (tmp_path / "run.counts").read_bytes()),
            strict=True,
        )
    )
    assert counts["refused"] == counts["untimed"] == counts["of_other_clock"] == 0
    assert (counts["kernels"] > 0) == (way not in CLOSED)
    assert counts["switches"] >= {**dict.fromkeys(CLOSED, 0), "whole": 1}.get(way, SWITCHES)
    (log,) = fakes.log(tmp_path / "fakes")
    assert (log.counters["finalizes"] > 0) == (way == "finalize")
