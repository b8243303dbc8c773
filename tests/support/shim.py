"""Compiles C of the tests against native/, with the flags of native/build.py."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib.util
import shlex
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from support.fake_build import CACHE

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
    rooms = "segment" if which == "segment" else build.LIBRARIES[libraries[which]][0]
    return list(build.sources(rooms))


def compile_c(out: Path, *arguments: str | Path) -> Path:
    """Compile and link; skips the test where the compiler lacks a sanitizer's library.

    The sources of native/ are compiled once for each set of flags, as long as none of them
    changes; macros of a test are for its own sources.

    Raises:
        AssertionError: it does not compile; the text is the compiler's.
    """
    ours = [one for one in arguments if isinstance(one, Path) and one.is_relative_to(NATIVE)]
    rest = [str(one) for one in arguments if one not in ours]
    build = native_build()
    # Lines are what sanitizers say; of types and variables they say nothing.
    flags = [*build.compiler(), *shlex.split(build.FLAGS), *build.STRICT, "-O1", "-g1"]
    flags += ["-include", "etl/glibc.h"] if "-shared" in rest else []
    flags += [f"-I{NATIVE / 'include'}", f"-I{NATIVE}"]
    flags += [word for word in rest if word.startswith("-f")]
    _run([*flags, *rest, "-o", str(out), *map(str, _objects(flags, ours))])
    return out


def _objects(flags: list[str], sources: list[Path]) -> list[Path]:
    key = hashlib.sha256("\0".join([*flags, _native_text()]).encode()).hexdigest()[:16]
    folder = CACHE / f"native-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    objects = [folder / f"{source.relative_to(NATIVE)}.o".replace("/", "-") for source in sources]
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for source, item in zip(sources, objects, strict=True):
            if not item.exists():
                partial = item.with_suffix(".partial")
                _run([*flags, "-c", "-o", str(partial), str(source)])
                partial.rename(item)
    return objects


@functools.cache
def _native_text() -> str:
    files = sorted(path for path in NATIVE.rglob("*") if path.suffix in (".c", ".h", ".inc"))
    return "\0".join(f"{path}\0{path.read_text()}" for path in files)


def _run(command: list[str]) -> None:
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode and "cannot find" in made.stderr and "-fsanitize" in shlex.join(command):
        pytest.skip("the compiler has no such sanitizer")
    assert made.returncode == 0, made.stderr
