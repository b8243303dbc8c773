"""Programs that capture themselves, on the fake driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.captures import PACKAGES, Capture
from support.fakes import CUPTI_13, Fakes
from support.flushed import FLUSHED

# Before what a test adds: ``capture`` with the fake CUPTI, ``launch`` makes kernels, ``tell``
# what is to be looked at here.
_PRELUDE = f"""{FLUSHED}
import ctypes, functools, json, os, sys, time, warnings
import cupti_etl
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
capture = functools.partial(cupti_etl.capture, **json.loads(os.environ["OPTIONS"]))
def launch(count=1, name=0):
    for _ in range(count):
        # The fake CUPTI says of a call that it began 0.9 us ago.
        until = time.time_ns() + 1000
        while time.time_ns() < until:
            pass
        assert driver.fakeLaunch(0, name, 0) == 0
def tell(*what):
    print(json.dumps(what), flush=True)
"""


class Inside:
    """Runs programs that capture themselves below one folder.

    Attributes:
        folder: where they run, and their traces are.
    """

    def __init__(self, fakes: Fakes, folder: Path) -> None:
        self.folder = folder
        self._fakes = fakes

    def start(
        self, text: str, release: str = CUPTI_13, fake: dict[str, Any] | None = None
    ) -> subprocess.Popen[str]:
        """The program, running."""
        env = {**os.environ, **self._fakes.env(release, log=self.folder / "log", **fake or {})}
        env["PYTHONPATH"] = os.pathsep.join([str(PACKAGES), env.get("PYTHONPATH", "")])
        cupti = str(self._fakes.cupti(release))
        # trace.duckdb would take half the time.
        options = {"cupti": cupti, "records": "fixed", "no_trace_duckdb": True}
        env["OPTIONS"] = json.dumps(options)
        for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
            env.pop(name, None)
        return subprocess.Popen(
            [sys.executable, "-X", "utf8", "-c", _PRELUDE + text],
            env=env,
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __call__(self, text: str, *args: Any, status: int = 0, **kwargs: Any) -> list[Any]:
        """What the program told, to its end."""
        with self.start(text, *args, **kwargs) as process:
            out, self.stderr = process.communicate(timeout=120)
        assert process.returncode == status, self.stderr
        return [json.loads(line) for line in out.splitlines()]

    def trace(self, name: str) -> Capture:
        """One of the traces."""
        done = subprocess.CompletedProcess([], 0, "", "")
        return Capture(self.folder / name, done, self._fakes.log(self.folder / "log"))
