"""Compiles C of the tests against native/, with the flags of native/build.py."""

from __future__ import annotations

import functools
import importlib.util
import shlex
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

NATIVE = Path(__file__).parents[2] / "native"


@functools.cache
def native_build() -> ModuleType:
    """native/build.py as a module."""
    spec = importlib.util.spec_from_file_location("native_build", NATIVE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def native_sources(which: str) -> list[Path]:
    """Sources of the part that both libraries share (``segment``), or of one library."""
    build = native_build()
    libraries = {"collector": "libcupti_etl.so", "injector": "libcupti_etl_inject.so"}
    names = build.SHARED if which == "segment" else build.LIBRARIES[libraries[which]][0]
    return [NATIVE / name for name in names]


def compile_c(out: Path, *arguments: str | Path) -> Path:
    """Compile; skips the test where the compiler lacks a sanitizer's library.

    Raises:
        AssertionError: it does not compile; the text is the compiler's.
    """
    build = native_build()
    command = [*build.compiler(), *shlex.split(build.FLAGS), "-O1"]
    command += ["-include", "etl/glibc.h"] if "-shared" in arguments else []
    command += [f"-I{NATIVE / 'include'}", f"-I{NATIVE}", "-o", str(out), *map(str, arguments)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode and "cannot find" in made.stderr and "-fsanitize" in shlex.join(command):
        pytest.skip("the compiler has no such sanitizer")
    assert made.returncode == 0, made.stderr
    return out
