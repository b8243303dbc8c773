"""C programs for the native parts: plain, and under the sanitizers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.shim import NATIVE, compile_c, native_sources

HERE = Path(__file__).parent
INTERN = NATIVE / "inject" / "intern.c"
# Program, and the sources of the libraries that it needs.
PROGRAMS = {
    "decode": native_sources("collector"),
    "gather": native_sources("collector"),
    "environment": [NATIVE / "inject" / "environment.c"],
    "hostile": native_sources("collector"),
    "locks": native_sources("collector"),
    "queue": [],
    "release": native_sources("collector"),
    "ring": [],
    "segment": native_sources("segment"),
    "strings": [*native_sources("collector"), INTERN],
    "threads": native_sources("segment"),
}
THREADED = ("queue", "release", "threads")
SANITIZERS = {
    "plain": [],
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread", "-DROUNDS=1500"],
}


def compile_and_run(
    folder: Path, program: str, sanitizer: str, *extra: str
) -> subprocess.CompletedProcess[str]:
    sources = [HERE / f"{program}.c", *PROGRAMS[program]]
    compile_c(folder / program, *SANITIZERS[sanitizer], *extra, *sources)
    return subprocess.run(
        [folder / program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
    )


def test_every_program_is_run() -> None:
    assert {path.stem for path in HERE.glob("*.c")} == PROGRAMS.keys()


@pytest.mark.parametrize(
    ("program", "sanitizer"),
    [(program, sanitizer) for program in PROGRAMS for sanitizer in ("plain", "address")]
    + [(program, "thread") for program in THREADED],
)
def test_program(tmp_path: Path, program: str, sanitizer: str) -> None:
    done = compile_and_run(tmp_path, program, sanitizer)
    assert done.returncode == 0, done.stderr


def test_a_planted_race_is_seen(tmp_path: Path) -> None:
    done = compile_and_run(tmp_path, "threads", "thread", "-DPLANT_RACE")
    assert done.returncode != 0
    assert "data race" in done.stderr


def test_a_planted_overflow_is_seen(tmp_path: Path) -> None:
    done = compile_and_run(tmp_path, "decode", "address", "-DPLANT_OVERFLOW")
    assert done.returncode != 0
    assert "insufficient space" in done.stderr or "heap-buffer-overflow" in done.stderr
