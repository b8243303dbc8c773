"""The C++ names behind mangled ones, in bounded time and memory.

A mangled name can say "what stood there, again", and what stood there can say so too: each
such reference may double the text, and 700 bytes stand for gigabytes (Itanium C++ ABI,
5.1.10).  Nothing short of demangling tells such a name from that of a deep template.  So a
name whose references are too few to matter is demangled here, and any other by a process of
its own, which may use little memory and little time for each.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

# libstdc++ (since GCC 9) takes no longer ones.
_LONGEST_NAME = 1024
LONGEST_TEXT = 64 << 10
# Of the process: for a name, and beyond what it has when it starts.
_CPU_S = 0.1
_MEMORY_BYTES = 4 << 20
# For what is not counted as its own time: that it stands still, or the machine does.
_WAIT_S = 60
# Then what costs too much is on purpose, and all that might is refused.
_MOST_REFUSED = 16

_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
# Expansions of packs, and folds: what they expand is there once for each element.
_EXPANSION = re.compile(r"Dp|s[pPZ]|f[lrLR]")

# What a GPU's compilers call types that libstdc++ does not know, or takes for fixed-point numbers
# ("bool _Accum"); in their places stand types that no GPU has, as only a built-in type moves none
# of the numbers that references have.
_UNKNOWN_TYPES = {"DF16b": ("De", "decimal128", "__bf16"), "DF16_": ("Dd", "decimal64", "_Float16")}


def _most_text(mangled: str) -> int:
    """An upper limit of what a name can stand for, in characters of it."""
    packs = len(_EXPANSION.findall(mangled))
    most: int = len(mangled) ** (1 + packs) << len(_REFERENCE.findall(mangled))
    return most


@functools.cache
def _cxa_demangle() -> tuple[Callable[..., int | None], Callable[[int], None]] | None:
    """The function of the C++ library, and the one that frees its answers; None without one."""
    import ctypes

    for name in ("libstdc++.so.6", "libc++abi.so.1"):
        try:
            demangle = ctypes.CDLL(name).__cxa_demangle
        except (OSError, AttributeError):
            continue
        demangle.restype = ctypes.c_void_p
        demangle.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 3
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        return demangle, free
    return None


def _demangled(mangled: bytes) -> bytes | None:
    """The name; None if it is none.

    Raises:
        MemoryError: it is too long.
    """
    import ctypes

    functions = _cxa_demangle()
    if functions is None:
        return None
    demangle, free = functions
    status = ctypes.c_int()
    at = demangle(mangled, None, None, ctypes.addressof(status))
    if not at:
        if status.value == -1:
            raise MemoryError
        return None
    try:
        text = ctypes.string_at(at)
    finally:
        free(at)
    if len(text) > LONGEST_TEXT:
        raise MemoryError
    return text


class Demangler:
    """Demangles names of other programs.

    Attributes:
        refused: names that would have taken too much time or memory.
    """

    def __init__(self) -> None:
        self.refused = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._end: Callable[[], Any] = lambda: None

    def demangle(self, mangled: str) -> str:
        """The C++ name behind a mangled one; anything else is returned as it is."""
        if (
            not mangled.startswith("_Z")
            or len(mangled) > _LONGEST_NAME
            or "\n" in mangled
            or "\0" in mangled
            or _cxa_demangle() is None
        ):
            return mangled
        known = mangled
        types = {type_: by for type_, by in _UNKNOWN_TYPES.items() if type_ in mangled}
        for type_, (code, _, _) in types.items():
            known = known.replace(type_, code)
        name = known.encode("utf-8", "replace")
        try:
            is_small = _most_text(known) <= LONGEST_TEXT
            found = _demangled(name) if is_small else self._ask(name)
        except (MemoryError, OSError):
            self.refused += 1
            return mangled
        if found is None:
            return mangled
        text = found.decode("utf-8", "replace")
        for _, printed, real in types.values():
            text = re.sub(rf"\b{printed}\b", real, text)
        return text

    def close(self) -> None:
        """End the process that demangles, if there is one."""
        self._end()
        self._process = None

    def _ask(self, name: bytes) -> bytes | None:
        """As ``_demangled``, by the other process.

        Raises:
            OSError: it ended over this name, or cannot be started.
        """
        import select

        if self.refused >= _MOST_REFUSED:
            raise MemoryError
        if self._process is None:
            self._start()
        assert self._process is not None
        to, from_ = self._process.stdin, self._process.stdout
        assert to is not None
        assert from_ is not None
        answer = b""
        try:
            to.write(name + b"\n")
            to.flush()
            if select.select([from_], [], [], _WAIT_S)[0]:
                answer = from_.readline()
        finally:
            if not answer.endswith(b"\n"):
                self.close()
        if not answer.endswith(b"\n"):
            raise OSError("it took too long")
        if answer == b"!\n":
            raise MemoryError
        return answer[1:-1] if answer.startswith(b"=") else None

    def _start(self) -> None:
        import subprocess
        import weakref

        # In a session of its own: Ctrl-C is not for it; it ends when nobody writes to it.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _finish, self._process)


def _finish(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):  # what it did not read is of no use
                stream.close()


def _serve() -> None:
    """The other process: a name a line, and for each a line."""
    import resource  # not on Windows, where nothing is demangled
    import signal

    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    _cxa_demangle()
    pages, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    used = int(pages) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY_BYTES, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        # Ends the process by a signal.
        signal.setitimer(signal.ITIMER_PROF, _CPU_S)
        try:
            found = _demangled(line[:-1])
            answer = b"-" if found is None else b"=" + found.replace(b"\n", b" ")
        except MemoryError:
            answer = b"!"
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
