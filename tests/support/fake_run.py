"""The test program with the tiny client injected, for the tests of the fakes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.fake_build import soname
from support.fakes import Fakes, Log


class Run:
    """One run of the test program with the tiny client injected."""

    def __init__(self, fakes: Fakes, folder: Path) -> None:
        self._fakes = fakes
        self._folder = folder

    def __call__(
        self,
        release: str = "13.5.25",
        tiny: Mapping[str, object] | None = None,
        options: dict[str, Any] | None = None,
        status: int | None = 0,
        **program: int | str,
    ) -> tuple[dict[str, Any], Log]:
        """Run to the end; the client's report (empty without one) and the fake's log."""
        out = self._folder / "client.json"
        env = {**os.environ, **self._fakes.env(release, log=self._folder / "log", **options or {})}
        env["CUDA_INJECTION64_PATH"] = env["NVTX_INJECTION64_PATH"] = str(self._fakes.client())
        env |= {"TINY_OUT": str(out), "TINY_CUPTI": soname(release)}
        env |= {f"TINY_{name.upper()}": str(value) for name, value in (tiny or {}).items()}
        done = subprocess.run(
            self._fakes.program(**program), env=env, capture_output=True, text=True, timeout=60
        )
        if status is not None:
            assert done.returncode == status, done.stderr
        self.stderr = done.stderr
        report: dict[str, Any] = json.loads(out.read_text()) if out.exists() else {}
        return report, self._fakes.log(self._folder / "log")


def received(report: dict[str, Any]) -> dict[int, int]:
    return {int(kind): count for kind, (count, _) in report["records"].items()}
