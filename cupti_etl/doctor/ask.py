"""Runs ``probe.py`` in a subprocess and understands how it ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cupti_etl.config import CUDA_INJECTION, NVTX_INJECTION

_PROBE = Path(__file__).with_name("probe.py")
# cuInit takes seconds on a machine with many GPUs and no persistence daemon.
TIMEOUT_S = 60


def ask(question: str, path: str | Path = "", *, environ: Mapping[str, str]) -> dict[str, Any]:
    """Ask a library a question in a process of its own.

    Args:
        question: ``load``, ``cupti`` or ``cuda``.
        path: the library; for ``cuda``, libcuda.so.1 by default.
        environ: environment of the subprocess, less what would inject a tool into it.

    Returns:
        The answer; with ``error``, a sentence, where there is none.
    """
    clean = {k: v for k, v in environ.items() if k not in (CUDA_INJECTION, NVTX_INJECTION)}
    command = [sys.executable, "-I", str(_PROBE), question, *([str(path)] if path else [])]
    try:
        done = subprocess.run(
            command, env=clean, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {TIMEOUT_S} s"}
    if done.returncode < 0:
        number = -done.returncode
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return {"error": f"it crashed with {name}", "crashed": True}
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"error": f"the probe failed: {last}"}
    return dict(answer)


def gpus(environ: Mapping[str, str]) -> tuple[list[dict[str, str]], str]:
    """GPUs that CUDA shows (name, uuid), and why there are none where there are none."""
    answer = ask("cuda", environ=environ)
    devices = list(answer.get("devices", ()))
    if devices:
        return devices, ""
    return [], str(answer.get("error", "the driver shows no CUDA device"))
