"""Where libcupti is looked for, in which order, and what is left alone."""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from cupti_etl.native.cupti_search import (
    CuptiCopy,
    driver_branch,
    driver_cuda_major,
    find_cupti,
    loader_cache,
)


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def cache(path: Path, *libraries: Path, prefix: bytes = b"") -> Path:
    """A loader's cache in glibc's format."""
    strings = b""
    entries = b""
    head = 48 + 24 * len(libraries)
    for library in libraries:
        key, value = library.name.encode() + b"\0", str(library).encode() + b"\0"
        entries += struct.pack(
            "=iIIIQ", 0x303, head + len(strings), head + len(strings) + len(key), 0, 0
        )
        strings += key + value
    header = b"glibc-ld.so.cache1.1" + struct.pack("=II20x", len(libraries), len(strings))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(prefix + header + entries + strings)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, Path]:
    """One copy of every origin, driver of CUDA 13."""
    root = tmp_path / "root"
    version = root / "proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul\n")
    copies = {
        "site": touch(tmp_path / "site/nvidia/cu13/lib/libcupti.so.13"),
        "home": touch(tmp_path / "home/extras/CUPTI/lib64/libcupti.so.12"),
        "library_path": touch(tmp_path / "libs/libcupti.so.13"),
        "cached": touch(tmp_path / "cached/libcupti.so.13"),
        "toolkit": touch(root / "usr/local/cuda-12.4/lib64/libcupti.so.12"),
    }
    (tmp_path / "site/nvidia_cuda_cupti-13.0.85.dist-info").mkdir()
    cache(root / "etc/ld.so.cache", touch(tmp_path / "cached/libc.so.6"), copies["cached"])
    return copies | {"root": root, "tmp": tmp_path}


def find(machine: dict[str, Path]) -> list[CuptiCopy]:
    tmp = machine["tmp"]
    return find_cupti(
        {"CUDA_HOME": str(tmp / "home"), "LD_LIBRARY_PATH": f":{tmp / 'missing'}:{tmp / 'libs'}"},
        ["", str(tmp / "site")],
        machine["root"],
    )


def test_order_is_pip_home_loader_toolkit(machine: dict[str, Path]) -> None:
    assert [(copy.path, copy.origin, copy.major) for copy in find(machine)] == [
        (machine["site"], "pip", 13),
        (machine["home"], "CUDA_HOME", 12),
        (machine["library_path"], "LD_LIBRARY_PATH", 13),
        (machine["cached"], "ld.so.cache", 13),
        (machine["toolkit"], "toolkit", 12),
    ]


def test_pip_package_tells_its_version(machine: dict[str, Path]) -> None:
    assert find(machine)[0].version == "13.0.85"


def test_copies_too_new_for_the_driver_come_last(machine: dict[str, Path]) -> None:
    file = machine["root"] / "proc/driver/nvidia/version"
    file.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug\n")
    assert [copy.major for copy in find(machine)] == [12, 12, 13, 13, 13]


def test_links_to_one_file_are_one_copy(machine: dict[str, Path]) -> None:
    machine["library_path"].unlink()
    machine["library_path"].symlink_to(machine["site"])
    assert machine["library_path"] not in [copy.path for copy in find(machine)]


def test_names_by_date_and_other_names_are_not_copies(tmp_path: Path) -> None:
    for name in ("libcupti.so", "libcupti.so.2025.3.1", "libcupti_static.a", "libcupti.so.13.bak"):
        touch(tmp_path / "lib64" / name)
    assert find_cupti({"CUDA_HOME": str(tmp_path)}, [], tmp_path / "root") == []
    touch(tmp_path / "lib64/libcupti.so.11.8")
    (copy,) = find_cupti({"CUDA_HOME": str(tmp_path)}, [], tmp_path / "root")
    assert (copy.path.name, copy.major) == ("libcupti.so.11.8", 11)


def test_newest_toolkit_first_but_the_chosen_one_before_it(tmp_path: Path) -> None:
    for name in ("cuda-9.2", "cuda-12.10", "cuda-12.9", "cuda"):
        touch(tmp_path / "usr/local" / name / "lib64/libcupti.so.12")
    found = find_cupti({}, [], tmp_path)
    assert [copy.path.parts[-3] for copy in found] == [
        "cuda",
        "cuda-12.10",
        "cuda-12.9",
        "cuda-9.2",
    ]


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other"])
def test_a_damaged_loader_cache_gives_nothing(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "ld.so.cache"
    whole = cache(path, touch(tmp_path / "libcupti.so.13")).read_bytes()
    path.write_bytes({"empty": b"", "cut": whole[:60], "other": b"x" * 200}.get(damage, b""))
    if damage == "missing":
        path.unlink()
    assert list(loader_cache(path)) == []


def test_a_loader_cache_behind_the_old_format(tmp_path: Path) -> None:
    library = touch(tmp_path / "libcupti.so.13")
    path = cache(tmp_path / "ld.so.cache", library, prefix=b"ld.so-1.7.0\0" + bytes(20))
    assert list(loader_cache(path)) == [library]


def test_agrees_with_ldconfig_on_this_machine() -> None:
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin")
    if ldconfig is None:
        pytest.skip("no ldconfig")
    text = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    shown = [
        line.split(" => ")[1]
        for line in text.splitlines()
        if line.strip().startswith("libcupti.so")
    ]
    assert [str(path) for path in loader_cache(Path("/etc/ld.so.cache"))] == shown


@pytest.mark.parametrize(
    ("line", "branch", "major"),
    [
        ("NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build", "580.159.04", 13),
        ("NVIDIA UNIX x86_64 Kernel Module  550.54  Tue Feb", "550.54", 12),
        ("NVIDIA UNIX x86_64 Kernel Module  390.157  Wed Oct", "390.157", None),
    ],
)
def test_driver_version(tmp_path: Path, line: str, branch: str, major: int | None) -> None:
    file = touch(tmp_path / "proc/driver/nvidia/version")
    file.write_text(f"NVRM version: {line}\nGCC version: gcc 12.0.0 \n")
    assert (driver_branch(tmp_path), driver_cuda_major(tmp_path)) == (branch, major)


def test_no_driver(tmp_path: Path) -> None:
    assert (driver_branch(tmp_path), driver_cuda_major(tmp_path)) == ("", None)


def test_needs_the_standard_library_only() -> None:
    code = (
        "import sys; before = set(sys.modules); import cupti_etl.native.cupti_search;"
        "names = {name.split('.')[0] for name in set(sys.modules) - before};"
        "print(*(names - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["cupti_etl"]
