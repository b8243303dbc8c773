"""Finds the copies of libcupti on a machine, without loading any of them, and names versions.

A machine often has several: pip's, which PyTorch brings, one per installed toolkit, and
what the loader knows.  Loading a wrong one can end a process (13.2 crashes where there is
no driver), so this only looks at names: standard library, no subprocess, milliseconds.
"""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LIBRARY = re.compile(r"libcupti\.so\.(\d+)(?:\.[\d.]+)?\Z")
_DIST_INFO = re.compile(r"nvidia_cuda_cupti(?:_cu\d+)?-([\d.]+)\.dist-info\Z")
# Below site-packages: the layout of CUDA 13's wheels, then that of CUDA 12's.
_WHEEL_FOLDERS = ("nvidia/cu13/lib", "nvidia/cu12/lib", "nvidia/cuda_cupti/lib")
_TOOLKIT_FOLDERS = ("extras/CUPTI/lib64", "lib64", "targets/x86_64-linux/lib", "lib")

# First driver branch that runs a major version of CUDA.
_DRIVER_BRANCHES = ((580, 13), (525, 12), (450, 11))

# What cuptiGetVersion answered before it became major * 10000 + minor * 100.
_OLD_VERSIONS = {
    18: "11.8 to 12.1",
    20: "12.2",
    21: "12.3",
    22: "12.4",
    23: "12.5",
    24: "12.6",
    26: "12.8",
    27: "12.9",
    28: "12.9",
}


@dataclass(frozen=True)
class CuptiCopy:
    """A libcupti on disk.

    Attributes:
        path: where it was found; links are not resolved.
        origin: ``pip``, ``CUDA_HOME``, ``LD_LIBRARY_PATH``, ``ld.so.cache`` or ``toolkit``.
        major: major version of CUDA that it belongs to, from its name.
        version: version of the pip package it came with; "" for others.
    """

    path: Path
    origin: str
    major: int
    version: str = ""


def find_cupti(
    environ: Mapping[str, str] | None = None,
    sys_path: Sequence[str] | None = None,
    root: Path = Path("/"),
) -> list[CuptiCopy]:
    """All copies of libcupti, in the order in which they should be tried.

    pip's come first, because a Python program that uses CUDA most likely uses those; then
    CUDA_HOME, LD_LIBRARY_PATH, the loader's cache and installed toolkits.  A copy for a newer
    major version of CUDA than the driver runs goes to the end.  A file that several ways lead
    to is listed once.

    Args:
        environ: environment; the process's own by default.
        sys_path: Python's search path; ``sys.path`` by default.
        root: what absolute system folders are relative to, for tests.
    """
    environ = os.environ if environ is None else environ
    seen: set[Path] = set()
    found = []
    for copy in _candidates(environ, sys.path if sys_path is None else sys_path, root):
        real = Path(os.path.realpath(copy.path))
        if real not in seen:
            seen.add(real)
            found.append(copy)
    driver = driver_cuda_major(root)
    if driver:
        found.sort(key=lambda copy: copy.major > driver)
    return found


def driver_branch(root: Path = Path("/")) -> str:
    """Version of the loaded NVIDIA kernel module, such as ``580.159.04``; "" without one."""
    try:
        text = (root / "proc/driver/nvidia/version").read_text(errors="replace")
    except OSError:
        return ""
    match = re.search(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", text, re.MULTILINE)
    return match.group(1) if match else ""


def driver_cuda_major(root: Path = Path("/")) -> int | None:
    """Newest major version of CUDA that the driver runs, by its branch; None without one."""
    branch = driver_branch(root)
    if not branch:
        return None
    number = int(branch.split(".")[0])
    return next((major for first, major in _DRIVER_BRANCHES if number >= first), None)


def version_text(version: int) -> str:
    """``13.5`` of 130500, ``12.4`` of 22: CUDA's version of what cuptiGetVersion answers."""
    if version >= 100_000:
        return f"{version // 10_000}.{version // 100 % 100}"
    return _OLD_VERSIONS.get(version, f"API version {version}")


def _candidates(
    environ: Mapping[str, str], sys_path: Sequence[str], root: Path
) -> Iterator[CuptiCopy]:
    for entry in sys_path:
        site = Path(entry or ".")
        for folder in _WHEEL_FOLDERS:
            yield from _in_folder(site / folder, "pip", site)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if environ.get(name):
            for folder in _TOOLKIT_FOLDERS:
                yield from _in_folder(Path(environ[name]) / folder, "CUDA_HOME")
    for entry in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if entry:
            yield from _in_folder(Path(entry), "LD_LIBRARY_PATH")
    for path in loader_cache(root / "etc/ld.so.cache"):
        major = _major(path.name)
        if major and path.is_file():
            yield CuptiCopy(path, "ld.so.cache", major)
    for toolkit in _toolkits(root / "usr/local"):
        for folder in _TOOLKIT_FOLDERS:
            yield from _in_folder(toolkit / folder, "toolkit")


def _in_folder(folder: Path, origin: str, site: Path | None = None) -> Iterator[CuptiCopy]:
    names = _names(folder)
    majors = {name: _major(name) for name in names}
    # The shortest name is the soname, what a program asks the loader for.
    for name in sorted(filter(majors.get, names), key=lambda name: (-majors[name], len(name))):
        version = _wheel_version(site, majors[name]) if site else ""
        yield CuptiCopy(folder / name, origin, majors[name], version)


def _names(folder: Path) -> list[str]:
    """What a folder holds; nothing where it is missing or not ours to read."""
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []


def _major(name: str) -> int:
    """13 of ``libcupti.so.13``; 0 of anything else.

    The soname of a toolkit's copy links to a name by date, ``libcupti.so.2025.3.1``, which
    does not tell the version of CUDA.
    """
    match = _LIBRARY.fullmatch(name)
    return int(match.group(1)) if match and int(match.group(1)) < 2000 else 0


def _wheel_version(site: Path, major: int) -> str:
    matches = map(_DIST_INFO.fullmatch, _names(site))
    versions = [match.group(1) for match in matches if match]
    return next((v for v in sorted(versions) if v.split(".")[0] == str(major)), "")


def _toolkits(parent: Path) -> list[Path]:
    """/usr/local/cuda first, as that is the chosen one, then the newest."""
    names = [name for name in _names(parent) if re.fullmatch(r"cuda(-[\d.]+)?", name)]

    def version(name: str) -> tuple[int, ...]:
        return tuple(int(part) for part in re.findall(r"\d+", name))

    names.sort(key=lambda name: (name != "cuda", [-part for part in version(name)]))
    return [parent / name for name in names]


def loader_cache(path: Path) -> Iterator[Path]:
    """Paths of the libraries in the loader's cache whose names begin with ``libcupti.so``.

    Reads glibc's ``ld.so.cache`` (format ``glibc-ld.so.cache1.1``, which may follow a table of
    the older format) and yields nothing where the file is missing or of another format.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return
    start = data.find(b"glibc-ld.so.cache1.1")
    if start < 0 or len(data) < start + 48:
        return
    (count,) = struct.unpack_from("=I", data, start + 20)
    for number in range(count):
        offset = start + 48 + 24 * number
        if len(data) < offset + 24:
            return
        _, key, value = struct.unpack_from("=iII", data, offset)
        if data.startswith(b"libcupti.so", start + key):
            end = data.find(b"\0", start + value)
            yield Path(os.fsdecode(data[start + value : end]))
