"""What the wheel without the native part promises where there is not what only Linux has."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

# Imports all modules of a package, without what Windows lacks.  Other packages may import it, as
# they look themselves where they run.
SCRIPT = """
import asyncio, builtins, importlib, multiprocessing, os
import pkgutil, select, signal, socket, subprocess, sys

try:
    import textual.app  # what it imports tells systems apart by their names, and this is Linux
except ImportError:
    pass

MODULES = {"fcntl", "grp", "pwd", "readline", "resource", "termios"}
NAMES = {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK eventfd fork geteuid getuid memfd_create"
    " pidfd_open posix_spawn sched_getaffinity",
    select: "EPOLLIN epoll poll",
    signal: "ITIMER_PROF SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGPROF SIGQUIT SIGSTOP"
    " SIGUSR1 SIGUSR2 pthread_kill pthread_sigmask setitimer sigtimedwait sigwait sigwaitinfo",
    socket: "AF_UNIX SCM_RIGHTS SO_PEERCRED",
}
import_ = builtins.__import__


def import_of_windows(name, globals=None, locals=None, fromlist=(), level=0):
    ours = (globals or {}).get("__name__", "").partition(".")[0] == sys.argv[1]
    if ours and not level and name in MODULES:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return import_(name, globals, locals, fromlist, level)


for module, names in NAMES.items():
    for name in names.split():
        vars(module).pop(name, None)
        if module is signal:
            signal.Signals._member_map_.pop(name, None)
builtins.__import__ = import_of_windows
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, f"{sys.argv[1]}."):
    # Our libraries look like modules of C.
    if ".lib" in module.name or module.name.endswith("__main__") or module.name in sys.argv[2:]:
        continue
    try:
        importlib.import_module(module.name)
    except Exception as error:
        print(f"{module.name}: {error}")
"""
# A capture is on Linux, and what it consists of is imported when it begins.
LINUX_ONLY = (
    *("capture.collector", "capture.daemon", "capture.listener", "capture.session"),
    "capture.without_command",
)


def failing(package: str, *left_out: str, folder: Path | None = None) -> list[str]:
    """The modules of a package that cannot be imported there, and why."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, package, *left_out],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_every_module_that_it_promises_can_be_imported() -> None:
    # Built with the page, which wheels have and a checkout need not.
    is_built = files("cupti_etl").joinpath("serve/web/widget.js").is_file()
    left_out = LINUX_ONLY if is_built else (*LINUX_ONLY, "jupyter.widget")
    assert failing("cupti_etl", *(f"cupti_etl.{name}" for name in left_out)) == []


def test_a_module_that_needs_linux_is_seen(tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted/__init__.py").touch()
    (tmp_path / "planted/fine.py").write_text("import os, signal, json\nsignal.SIGTERM\n")
    (tmp_path / "planted/locks.py").write_text("import fcntl\n")
    (tmp_path / "planted/waits.py").write_text("import signal\nWAIT = signal.SIGHUP\n")
    assert failing("planted", folder=tmp_path) == [
        "planted.locks: No module named 'fcntl'",
        "planted.waits: module 'signal' has no attribute 'SIGHUP'",
    ]


def test_those_of_the_capture_say_that_they_need_linux() -> None:
    """Which commands these are is not listed: whatever lacks a module of Python says so."""
    script = (
        "import sys; sys.modules['fcntl'] = None\n"
        "from cupti_etl.cli import main; main(['resume', '1'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "cupti-etl: this needs Linux: Python has no 'fcntl' here",
        "  do it there: its traces can be opened, queried and exported here",
    ]
