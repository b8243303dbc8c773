"""The compiled libraries: where they are, and the collector library through cffi.

The injected library is loaded by CUDA in a traced program, and here only by one that asks to
be traced from inside.
"""

from __future__ import annotations

import functools
import platform
from pathlib import Path
from typing import Any

from cupti_etl.errors import NativeError

FOLDER = Path(__file__).parent
_REBUILD = "run `make generate` and `make native` in a checkout, else reinstall cupti-etl"


def _library(name: str) -> Path:
    path = FOLDER / name
    if path.exists():
        return path
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        here = f"{platform.system()} on {platform.machine()}"
        raise NativeError(
            f"the native part, which captures and imports, needs Linux on x86-64; this is {here}",
            "make the trace there: it can be opened, queried and exported here",
        )
    raise NativeError(
        f"{name} is not installed: cupti-etl was installed without its native part",
        "to capture and import, install the wheel for Linux, or from source with a C compiler and "
        "CUPTI_ETL_NO_NATIVE unset",
    )


def inject_library_path() -> Path:
    """Path of the library that CUDA loads into the traced program.

    Raises:
        NativeError: this installation has no native part.
    """
    return _library("libcupti_etl_inject.so")


@functools.cache
def load() -> tuple[Any, Any]:
    """``(ffi, lib)`` of the collector library.

    Raises:
        NativeError: it is missing, does not load, or is not of the build of this Python
            package: it would be read by descriptions that are not its own.
    """
    path = _library("libcupti_etl.so")
    from cupti_etl.native._abi import COMPILED, ffi

    try:
        # Batches and processes that live until the interpreter ends, in any order with the
        # library, are still freed by its functions: it must never be unloaded.
        lib = ffi.dlopen(str(path), ffi.RTLD_NOW | ffi.RTLD_NODELETE)
    except OSError as error:
        raise NativeError(f"{path} does not load: {error}", _REBUILD) from None
    from cupti_etl.schema.fingerprint import fingerprint
    from cupti_etl.schema.kinds import KINDS

    # Made anew of the tables that Python goes by, so that a change without a build is found.
    ours = fingerprint(KINDS, COMPILED)
    try:
        theirs = lib.etl_fingerprint()
    except (AttributeError, ffi.error):  # older than the function
        theirs = 0
    if theirs != ours:
        raise NativeError(f"{path} is of another build ({theirs:016x}, not {ours:016x})", _REBUILD)
    return ffi, lib


@functools.cache
def load_injected() -> tuple[Any, Any]:
    """``(ffi, lib)`` of the library that is injected, in the very process that it records.

    Raises:
        NativeError: it is missing, or does not load.
    """
    path = inject_library_path()
    from cupti_etl.native._abi import ffi

    try:
        return ffi, ffi.dlopen(str(path), ffi.RTLD_NOW | ffi.RTLD_NODELETE)
    except OSError as error:
        raise NativeError(f"{path} does not load: {error}", _REBUILD) from None


def error_buffer(ffi: Any) -> Any:
    """Room for the sentence that a failing native function writes."""
    return ffi.new("struct etl_error *")


def text(ffi: Any, value: Any) -> str:
    """A zero-terminated string of a foreign process as text."""
    raw: bytes = ffi.string(value)
    return raw.decode("utf-8", "replace")
