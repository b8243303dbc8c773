"""The interpreters of this machine whose stacks can be read, and programs that log their own."""

from __future__ import annotations

import ast
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15", "3.13t")
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2] + sys.abiflags)"
# Before what a test adds: ``launch`` makes a call and logs the stack that it is made from, the
# innermost frame first, as the interpreter itself tells it.
_PRELUDE = """
import ctypes, json, os, sys, threading
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
stacks = []
lock = threading.Lock()
def note(frame, most=256):
    stack = []
    while frame is not None and len(stack) < most:
        code = frame.f_code
        stack.append([code.co_qualname, code.co_filename, frame.f_lineno])
        frame = frame.f_back
    stacks.append(stack)
def launch(name=0):
    with lock:
        note(sys._getframe()); assert driver.fakeLaunch(0, name, 0) == 0
assert driver.cuInit(0) == 0
"""
_EPILOGUE = """
json.dump(stacks, open(os.environ["STACKS"], "w"))
"""


@functools.cache
def interpreters() -> dict[str, str]:
    """The interpreters that are here, by version.

    They are looked for on the path, beside pyenv's, and in what TEST_PYTHONS names
    (paths with colons between them).
    """
    named = [p for p in os.environ.get("TEST_PYTHONS", "").split(":") if p]
    on_path = [shutil.which(f"python{version}") for version in VERSIONS]
    pyenv = sorted(Path("~/.pyenv/versions").expanduser().glob("*/bin/python3.[0-9]*"))
    found: dict[str, str] = {}
    for path in (*named, sys.executable, *filter(None, on_path), *map(str, pyenv)):
        if path.endswith(("config", "gdb.py")):
            continue
        done = subprocess.run([path, "-c", _VERSION], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found.setdefault(done.stdout.strip(), path)
    return found


def program(python: str, text: str) -> list[str]:
    """The command line of a program that has ``launch``; see above."""
    return [python, "-X", "utf8", "-c", _PRELUDE + text + _EPILOGUE]


def shared_library(python: str) -> tuple[Path, str] | None:
    """The interpreter as a library, and its PYTHONHOME, if it is one."""
    names = "'LIBDIR', 'INSTSONAME', 'installed_base'"
    code = f"import sysconfig; print(sysconfig.get_config_vars({names}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    folder, name, home = ast.literal_eval(done.stdout)
    path = Path(folder or "", name or "")
    return (path, home) if path.suffix != ".a" and path.is_file() else None
