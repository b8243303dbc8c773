"""The machine itself: operating system, Python, our own libraries, limits."""

from __future__ import annotations

import importlib.util
import os
import platform
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cupti_etl.config import CaptureOptions
from cupti_etl.doctor.ask import ask
from cupti_etl.doctor.findings import FAIL, WARN, Area, Finding, System
from cupti_etl.errors import NativeError

_SYSTEM = Area("system")
_PYTHON = Area("python")
_NATIVE = Area("native")
_LIMITS = Area("limits")

MIB = 1 << 20
_CGROUP_FILES = (
    ("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"),
    (
        "sys/fs/cgroup/memory/memory.limit_in_bytes",
        "sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
# What a capture imports; a wheel installed with --no-deps lacks them.
_NEEDED = ("cffi", "pyarrow", "click")
_NEEDED_LATER = ("duckdb", "sqlalchemy", "alembic")
# sun_path holds 107 characters; the collector's folder and socket need about 40 of them.
_SOCKET_PATH_MAX, _SOCKET_PATH_OWN = 107, 40


def check_platform(system: System) -> Iterator[Finding]:
    """Operating system, architecture and C library."""
    name, machine = platform.system(), platform.machine()
    if (name, machine) != ("Linux", "x86_64"):
        yield _SYSTEM.fail(
            f"{name} on {machine}",
            "capture on Linux x86-64; traces can be opened and queried here",
        )
        return
    library, version = platform.libc_ver()
    yield _SYSTEM.ok(f"Linux {platform.release()} on x86-64, {library} {version}")


def check_python(system: System) -> Iterator[Finding]:
    """Python and the packages that a capture needs."""
    yield _PYTHON.ok(f"Python {platform.python_version()} at {sys.executable}")
    for names, status, use in (
        (_NEEDED, FAIL, "a capture"),
        (_NEEDED_LATER, WARN, "asking questions"),
    ):
        missing = [name for name in names if importlib.util.find_spec(name) is None]
        if missing:
            yield Finding(
                "python",
                status,
                f"{', '.join(missing)}: not installed; {use} needs them",
                f"pip install {' '.join(missing)}",
            )


def check_native(system: System) -> Iterator[Finding]:
    """The library that is loaded into the traced program, and the collector's."""
    todo = "reinstall cupti-etl without CUPTI_ETL_NO_NATIVE, with a C compiler"
    try:
        from cupti_etl.native.loader import inject_library_path

        injector = Path(inject_library_path())
    except NativeError as error:
        yield _NATIVE.fail(error.message, error.hint or todo)
        return
    for path in (injector, injector.with_name("libcupti_etl.so")):
        problem = ask("load", path, environ=system.environ).get("error")
        if problem:
            # An injector that does not load is skipped by the driver without a word.
            yield _NATIVE.fail(f"{path} cannot be loaded: {problem}", todo)
        else:
            yield _NATIVE.ok(f"{path} loads")


def check_limits(system: System) -> Iterator[Finding]:
    """Shared memory, sockets and file sizes, each by trying what a capture does."""
    import resource

    need = CaptureOptions(out=Path()).buffer_mb * MIB
    yield _check_shared_memory(need)
    yield _check_socket()
    soft, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if soft != resource.RLIM_INFINITY and soft < need:
        yield _LIMITS.fail(
            f"RLIMIT_FSIZE is {soft // MIB} MiB; it also limits shared memory",
            f"ulimit -f unlimited, or capture with --buffer-mb {max(soft // MIB // 2, 1)}",
        )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY and files < 256:
        yield _LIMITS.warn(
            f"only {files} open files are allowed (RLIMIT_NOFILE)",
            "ulimit -n 4096: each traced process takes two",
        )
    available = memory_available(system)
    if available is not None:
        text = (
            f"{available // MIB} MiB of memory are free; a traced process takes up to {need // MIB}"
        )
        if available < 2 * need:
            yield _LIMITS.warn(text, "capture with a smaller --buffer-mb")
        else:
            yield _LIMITS.ok(text)


def memory_available(system: System) -> int | None:
    """Bytes that can still be taken, by the machine and by the cgroup; None if not known."""
    known = []
    for line in system.read("proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            known.append(int(line.split()[1]) * 1024)
    # A container sees its own cgroup here; "max" of version 2 means no limit.
    for limit, usage in _CGROUP_FILES:
        maximum, current = system.read(limit).strip(), system.read(usage).strip()
        if maximum.isdigit() and current.isdigit():
            known.append(max(int(maximum) - int(current), 0))
    return min(known, default=None)


def _check_shared_memory(need: int) -> Finding:
    import fcntl

    # Opened file descriptors must not grow beyond RLIMIT_FSIZE: that raises SIGXFSZ, which
    # Python ignores, so the failure is an OSError here.
    try:
        descriptor = os.memfd_create("cupti-etl-doctor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError as error:
        return _LIMITS.fail(
            f"memfd_create fails: {error.strerror}",
            "let the sandbox or seccomp profile allow memfd_create",
        )
    try:
        os.ftruncate(descriptor, need)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    except OSError as error:
        return _LIMITS.fail(
            f"shared memory of {need // MIB} MiB cannot be made: {error.strerror}",
            "raise ulimit -f, or capture with a smaller --buffer-mb",
        )
    finally:
        os.close(descriptor)
    return _LIMITS.ok(f"shared memory works (memfd of {need // MIB} MiB; /dev/shm is not used)")


def _check_socket() -> Finding:
    folder = tempfile.gettempdir()
    if len(os.fsencode(folder)) + _SOCKET_PATH_OWN > _SOCKET_PATH_MAX:
        return _LIMITS.fail(
            f"the folder for temporary files has too long a name: {folder}",
            "set TMPDIR to a short path: a socket's path has at most 107 bytes",
        )
    try:
        with (
            tempfile.TemporaryDirectory(prefix="cupti-etl-") as inside,
            socket.socket(socket.AF_UNIX) as server,
        ):
            server.bind(f"{inside}/doctor")
    except OSError as error:
        return _LIMITS.fail(
            f"no socket can be made in {folder}: {error.strerror}",
            "set TMPDIR to a writable folder on a local file system",
        )
    return _LIMITS.ok(f"sockets work in {folder}")
