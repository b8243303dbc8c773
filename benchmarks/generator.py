"""A traced program that costs next to nothing: see generator.c."""

from __future__ import annotations

import importlib.util
import os
import shlex
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.common import KERNEL, RUNTIME, kind_of, recorded

ROOT = Path(__file__).parents[1]
_ROOM = (1 << 20) - 256  # of a slot, less the head of the file


def _build_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("native_build", ROOT / "native" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Generator:
    """The compiled program and its prepared slot, in a folder.

    The slot holds kernels and API calls in turn, as they were recorded on an H200.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        build = _build_script()
        native = ROOT / "native"
        sources = [
            "segment/locks.c",
            "segment/segment.c",
            "inject/environment.c",
            "inject/injector.c",
            "inject/wakeup.c",
            "inject/descriptors.c",
            "inject/handshake.c",
        ]
        command = [*build.compiler(), *shlex.split(build.FLAGS), f"-I{native}"]
        command += [f"-I{native / 'include'}", "-o", str(folder / "generator")]
        command += [str(Path(__file__).with_suffix(".c")), *(str(native / s) for s in sources)]
        subprocess.run([*command, "-ldl", "-pthread"], check=True)
        self._write_slots()

    def _write_slots(self) -> None:
        description, strings, records = recorded()
        kernels = [record for record in records if kind_of(record) == KERNEL]
        calls = [record for record in records if kind_of(record) == RUNTIME]
        pair = len(kernels[0]) + len(calls[0])
        body: list[bytes] = []
        for at in range(_ROOM // pair):
            body += (kernels[at % len(kernels)], calls[at % len(calls)])
        strides = description["strides"]
        head = b"".join(struct.pack("<II", int(k), size) for k, size in strides.items())
        head += struct.pack("<II", 0, 0)
        (self.folder / "records").write_bytes(head + b"".join(body))
        (self.folder / "strings").write_bytes(b"".join(strings))

    def _slow_fsync(self) -> Path:
        shim = self.folder / "slow_fsync.so"
        if not shim.exists():
            source = Path(__file__).with_name("slow_fsync.c")
            compiler = _build_script().compiler()
            subprocess.run(
                [*compiler, "-shared", "-fPIC", "-O2", "-o", str(shim), str(source), "-ldl"],
                check=True,
            )
        return shim

    def command(self, rate: float, seconds: float, batch: int = 0) -> list[str]:
        """Command line of the program: records a second (0: as fast as can be), how long."""
        files = [str(self.folder / name) for name in ("generator", "strings", "records")]
        return [*files, str(rate), str(seconds), str(batch)]

    def capture(
        self, trace: Path, command: list[str], options: Sequence[str] = (), fsync_ms: int = 0
    ) -> subprocess.Popen[str]:
        """Start ``cupti-etl capture`` of the program, on a disk whose fsync takes so long."""
        words = [sys.executable, "-m", "cupti_etl", "capture", "-o", str(trace), *options]
        words += ["--", *command]
        env: dict[str, Any] = {**os.environ, "PYTHONPATH": str(ROOT)}
        if fsync_ms:
            env |= {
                "LD_PRELOAD": str(self._slow_fsync()),
                "SLOW_FSYNC_MS": f"{fsync_ms}",
            }
        return subprocess.Popen(
            words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
