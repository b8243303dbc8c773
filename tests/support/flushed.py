"""For programs that end without an orderly end: what they have not flushed by then is lost."""

from __future__ import annotations

# Text of a program that has called ``cuInit``; the fake CUPTI is loaded where only its client
# sees its names.
FLUSHED = """
def flushed():
    import ctypes
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "/libcupti.so" in line)
    assert ctypes.CDLL(path).fakeAwaitFlush() == 0
"""
