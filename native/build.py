#!/usr/bin/env python3
"""Compile the two shared objects: what is compiled, and with which flags.

Needs Python and a C compiler, nothing else.  Used by the wheel build, the Makefile and
the tests (which add sanitizers).
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Each library: the rooms that it is made of, and what it exports.
LIBRARIES = {
    "libcupti_etl_inject.so": ("inject segment", "inject/exports.map"),
    "libcupti_etl.so": (
        "arrow attribution collect decode exports imports operators pm segment",
        "collect/exports.map",
    ),
}
WARNINGS = "-Wall -Wextra -Wconversion -Wmissing-prototypes -Wshadow -Wstrict-prototypes"
FLAGS = f"-std=c11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -pthread {WARNINGS}"
# For development.  On a user's machine, a compiler that we have not met may warn of more.
STRICT = ["-Werror"]
# For wheels: without names and lines, which are two thirds of the libraries.
RELEASE = ["-g0", "-Wl,--strip-all"]


class BuildError(Exception):
    """A sentence about what failed, and one about what to do."""


def compiler() -> list[str]:
    """The C compiler's command, from $CC."""
    return shlex.split(os.environ.get("CC", "cc"))


def sources(rooms: str) -> list[Path]:
    """All that is compiled of some rooms."""
    return [path for room in rooms.split() for path in sorted((HERE / room).glob("*.c"))]


def command(library: str, out: Path, extra: list[str]) -> list[str]:
    """The command that makes one library."""
    rooms, exports = LIBRARIES[library]
    return [
        *compiler(),
        *shlex.split(FLAGS),
        *extra,
        f"-I{HERE / 'include'}",
        "-include",
        "etl/glibc.h",
        f"-I{HERE}",
        "-shared",
        f"-Wl,--version-script={HERE / exports}",
        "-Wl,-z,defs",
        "-o",
        str(out / library),
        *map(str, sources(rooms)),
        # Where these are libraries of their own (glibc before 2.34).
        "-Wl,--no-as-needed",
        "-l:libdl.so.2",
        "-l:libpthread.so.0",
    ]


def build(out: Path, extra: list[str] | None = None) -> list[Path]:
    """Compile all libraries into ``out``, at the same time.

    Raises:
        BuildError: there is no compiler, or it fails; it has said why.
    """
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda name: _compile(name, out, extra or []), LIBRARIES))


def _compile(library: str, out: Path, extra: list[str]) -> Path:
    words = command(library, out, extra)
    try:
        subprocess.run(words, check=True)
    except OSError as error:
        raise BuildError(
            f"there is no C compiler: {words[0]!r} cannot be run ({error.strerror}); "
            "install one (such as Debian's gcc and libc6-dev, or conda's c-compiler) or name "
            "yours in CC; or install a wheel of cupti-etl, which needs none; or set "
            "CUPTI_ETL_NO_NATIVE=1, to open and query traces without capturing"
        ) from None
    except subprocess.CalledProcessError as error:
        raise BuildError(
            f"{library} does not compile: {words[0]!r} ended with status {error.returncode} "
            "and said why above; try another C compiler (CC=clang), or set "
            "CUPTI_ETL_NO_NATIVE=1, to open and query traces without capturing"
        ) from None
    return out / library


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", type=Path, default=HERE.parent / "cupti_etl" / "native")
    parser.add_argument("--sanitize", help="for example address,undefined")
    arguments = parser.parse_args()
    extra = (
        [f"-fsanitize={arguments.sanitize}", "-fno-omit-frame-pointer"]
        if arguments.sanitize
        else []
    )
    try:
        for path in build(arguments.out, [*STRICT, *extra]):
            print(path)
    except BuildError as error:
        print(f"native build failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
