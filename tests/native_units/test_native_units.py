"""C programs for the native parts: plain, and under the sanitizers."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
# Program, and the sources of the libraries that it needs.
PROGRAMS = {
    "ring": "segment",
    "segment": "segment",
    "threads": "segment",
    "decode": "collector",
}
SANITIZERS = {
    "plain": [],
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread", "-DROUNDS=1500"],
}


def native_build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("native_build", NATIVE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD = native_build()


def sources(what: str) -> list[str]:
    names = BUILD.SHARED if what == "segment" else BUILD.LIBRARIES["libcupti_etl.so"][0]
    return [str(NATIVE / name) for name in names]


def compile_and_run(
    folder: Path, program: str, sanitizer: str, *extra: str
) -> subprocess.CompletedProcess[str]:
    flags = [flag for flag in shlex.split(BUILD.FLAGS) if flag not in ("-O2",)]
    command = [*BUILD.compiler(), *flags, "-O1", *SANITIZERS[sanitizer], *extra]
    command += [f"-I{NATIVE / 'include'}", f"-I{NATIVE}", "-o", str(folder / program)]
    command += [str(HERE / f"{program}.c"), *sources(PROGRAMS[program])]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode and "cannot find" in made.stderr:
        pytest.skip(f"the compiler has no {sanitizer} sanitizer")
    assert made.returncode == 0, made.stderr
    return subprocess.run(
        [folder / program],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=1"},
    )


@pytest.mark.parametrize(
    ("program", "sanitizer"),
    [(program, sanitizer) for program in PROGRAMS for sanitizer in ("plain", "address")]
    + [("threads", "thread")],
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
