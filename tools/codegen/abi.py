"""The declarations of the collector library as a cffi module (out-of-line ABI mode).

The module is plain Python, so one wheel serves every Python version and building it
needs no Python.h.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path


def abi_module(*headers: Path) -> str:
    """Text of ``cupti_etl/native/_abi.py`` for the declarations in ``headers``."""
    from cffi import FFI

    ffi = FFI()
    for header in headers:
        text = header.read_text()
        # What cffi cannot parse (include guards, includes) stands outside these marks.
        ffi.cdef(text.split("/* cffi: begin */")[1].split("/* cffi: end */")[0])
    ffi.set_source("_abi", None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "_abi.py")
        with contextlib.redirect_stdout(io.StringIO()):  # cffi prints the path
            ffi.emit_python_code(str(path))
        made = path.read_text()
    banner = "# Made by `python -m tools.codegen`.  Do not edit.\n"
    return banner + made.removeprefix("# auto-generated file\n")
