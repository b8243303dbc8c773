"""A libcupti in this process: loaded once, with its refusals as exceptions."""

from __future__ import annotations

import ctypes
import errno
import functools
from collections.abc import Sequence
from typing import Any

from cupti_etl.errors import (
    CuptiError,
    CuptiMemoryError,
    CuptiPermissionError,
    CuptiRuntimeError,
    CuptiValueError,
)
from cupti_etl.native.cupti_search import find_cupti
from cupti_etl.native.loader import error_buffer, load, text
from cupti_etl.pm.advice import advice

# CUptiResult, and errors of our own as negative numbers.
_CLASSES: dict[int, type[CuptiError]] = {
    **dict.fromkeys((1, 2, 17, 46, -errno.EINVAL), CuptiValueError),
    **dict.fromkeys((8, -errno.ENOMEM), CuptiMemoryError),
    **dict.fromkeys((35, 40), CuptiPermissionError),
}


class Cupti:
    """A loaded libcupti; ``open_cupti`` gives it.

    Attributes:
        version: API version, such as 130500 (CUDA 13.5) or 28 (12.9).
        path: where it was loaded from.
    """

    def __init__(self, places: str) -> None:
        self.ffi, self.lib = load()
        out = self.ffi.new("struct pm_api **")
        self.call(self.lib.etl_cupti_open, places.encode(), out)
        self.handle = out[0]
        self.version = int(self.lib.etl_cupti_version(self.handle))
        self.path = text(self.ffi, self.lib.etl_cupti_path(self.handle))

    def call(self, function: Any, *arguments: Any) -> None:
        """Call a function of the native library that can fail.

        Raises:
            CuptiValueError, CuptiMemoryError, CuptiPermissionError, CuptiRuntimeError: it did.
        """
        error = error_buffer(self.ffi)
        result = function(*arguments, error)
        if result:
            words = text(self.ffi, error.message)
            what, hint = advice(result, words)
            raise _CLASSES.get(result, CuptiRuntimeError)(result, what, hint, words)

    def texts(self, values: Sequence[str]) -> tuple[Any, list[Any]]:
        """``const char *[]`` of the values, and what has to live as long as it."""
        kept = [self.ffi.new("char[]", value.encode()) for value in values]
        return self.ffi.new("const char *[]", kept), kept

    def names(self, function: Any, *arguments: Any) -> list[str]:
        """The list of names that a function of the native library gives."""
        out = self.ffi.new("struct etl_names *")
        self.call(function, *arguments, out)
        try:
            return [text(self.ffi, out.names[i]) for i in range(out.count)]
        finally:
            self.lib.etl_names_free(out)

    def number(self, kind: str, function: Any, *arguments: Any) -> Any:
        """The number or pointer, of a type of C's, that a function of the native library gives."""
        out = self.ffi.new(f"{kind} *")
        self.call(function, *arguments, out)
        return out[0]

    def take(self, data: Any) -> bytes:
        """The content of a ``struct etl_bytes``, which is freed."""
        try:
            return bytes(self.ffi.buffer(data.data, data.size)) if data.size else b""
        finally:
            self.lib.etl_bytes_free(data)

    def give(self, data: bytes | None) -> Any:
        """A ``struct etl_bytes`` for the length of a call; it does not own the data."""
        if data is None:
            return self.ffi.NULL
        given = self.ffi.new("struct etl_bytes *")
        pointer = self.ffi.from_buffer("uint8_t[]", data)
        given.data, given.size = pointer, len(pointer)
        self._lent = (given, pointer)
        return given


@functools.cache
def open_cupti(path: str | None = None) -> Cupti:
    """The libcupti at ``path``, or the first that is found and works; each is loaded once.

    Raises:
        CuptiRuntimeError: there is none of CUDA 12.6 or later, or no NVIDIA driver.  Without a
            driver none is even tried unless it was named: 13.2 ends the process then.
        NativeError: this installation has no native part.
    """
    if path is None and not has_driver():
        raise CuptiRuntimeError(
            -errno.ENODEV,
            "there is no NVIDIA driver here, and without one CUPTI answers nothing",
            "`cupti-etl metrics list --chip GH100` answers from notes about a chip",
        )
    return Cupti(path or ":".join(str(copy.path) for copy in find_cupti()))


def has_driver() -> bool:
    """Whether the NVIDIA driver's library can be loaded."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True
