"""The copies of libcupti, which of them would be used, and whether it suits the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cupti_etl.doctor.ask import ask
from cupti_etl.doctor.findings import FAIL, WARN, Area, Finding, System
from cupti_etl.doctor.support import check_support
from cupti_etl.native.cupti_search import CuptiCopy, driver_cuda_major, find_cupti, version_text

_CUPTI = Area("cupti")

OLDEST_MAJOR = 12
_ERROR_UNKNOWN = 999
# What cuptiGetVersion answers from CUDA 12.6 on, which has PM sampling.
_OLDEST_THAT_SAMPLES = 24
# And from CUDA 12.8 on: before it, PCs are not sampled beside records of kernels.
_OLDEST_WITH_PC_SAMPLES = 26


def check_cupti(system: System, cuda: dict[str, Any]) -> Iterator[Finding]:
    """Every copy with its version, and the one that a capture would use.

    Args:
        system: the machine, with the copy that the user named, if any.
        cuda: what the probe ``cuda`` answered.
    """
    copies = find_cupti(system.environ, system.sys_path, system.root)
    if system.cupti is not None:
        copies.insert(0, CuptiCopy(system.cupti, "--cupti", 0))
    runs = int(cuda.get("version", 0)) // 1000 or driver_cuda_major(system.root)
    chosen = ""
    versions = []
    for copy in copies:
        answer = ask("cupti", copy.path, environ=system.environ)
        problem, text = _judge(copy, answer, runs)
        label = f"{copy.path} ({copy.origin}): {text}"
        if not problem and "version" in answer and not answer["code"]:
            versions.append(int(answer["version"]))
        if problem:
            status = FAIL if copy.origin == "--cupti" else WARN
            yield Finding("cupti", status, label, problem)
        elif chosen:
            yield _CUPTI.ok(label)
        else:
            chosen = str(copy.path)
            yield _CUPTI.ok(f"{label}; this one would be used")
    install = f"pip install 'cupti-etl[cupti{runs if runs in (12, 13) else 13}]'"
    if not copies:
        yield _CUPTI.fail(
            "no libcupti was found: not pip's, not in CUDA_HOME, the loader or /usr/local/cuda*",
            f"{install}, or name one with --cupti",
        )
    elif not chosen:
        yield _CUPTI.fail(
            "none of the copies of libcupti can be used",
            install,
        )
    else:
        yield _CUPTI.ok(
            "order: one that the program has already loaded (PyTorch does), --cupti, pip, "
            "CUDA_HOME, LD_LIBRARY_PATH, the loader, /usr/local/cuda*",
        )
    if chosen and cuda.get("devices"):
        yield from check_support(ask("support", chosen, environ=system.environ))
    if versions and max(versions) < _OLDEST_WITH_PC_SAMPLES:
        yield _CUPTI.warn(
            "PCs cannot be sampled: that needs a copy of CUDA 12.8 or later",
            f"nothing for activity; for capture --pc-sampling: {install}",
        )
    if versions and max(versions) < _OLDEST_THAT_SAMPLES:
        yield _CUPTI.warn(
            "hardware counters cannot be sampled: that needs a copy of CUDA 12.6 or later",
            f"nothing for activity; for capture --pm and --range-metrics: {install}",
        )


def _judge(copy: CuptiCopy, answer: dict[str, Any], runs: int | None) -> tuple[str, str]:
    """What to do about a copy ("" if it is good), and what it is."""
    packaged = f"pip package {copy.version}" if copy.version else f"CUDA {copy.major or 'unknown'}"
    if answer.get("crashed"):
        if runs is None:
            # 13.2 does so where there is no driver; that says nothing about the copy.
            return (
                "",
                f"{packaged}; it cannot be asked: {answer['error']}, as 13.2 does without a driver",
            )
        return "take another copy: this one cannot be loaded", f"{packaged}; {answer['error']}"
    if "error" in answer:
        return "take another copy: this one cannot be loaded", f"{packaged}; {answer['error']}"
    if answer["code"] == _ERROR_UNKNOWN and runs is None:
        return (
            "",
            f"{packaged}; it cannot be asked: without a driver 13.3 and later answer 999",
        )
    if answer["code"]:
        return "take another copy", f"{packaged}; cuptiGetVersion answers error {answer['code']}"
    version = int(answer["version"])
    text = f"CUPTI {version_text(version)}"
    major = version // 10_000 if version >= 100_000 else copy.major or 12
    if major < OLDEST_MAJOR:
        return f"take one of CUDA {OLDEST_MAJOR} or later", f"{text}, too old"
    if runs is not None and major > runs:
        return (
            f"take one of CUDA {runs}, or update the driver",
            f"{text}, too new for a driver that runs CUDA {runs}",
        )
    return "", text
