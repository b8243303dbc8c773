"""The declarations of the collector library as a cffi module (out-of-line ABI mode).

The module is plain Python, so one wheel serves every Python version and building it
needs no Python.h.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path


def abi_module(header: Path) -> str:
    """Text of ``cupti_etl/capture/_abi.py`` for the declarations in ``header``."""
    from cffi import FFI

    text = header.read_text()
    # What cffi cannot parse (include guards, includes) stands outside these marks.
    declarations = text.split("/* cffi: begin */")[1].split("/* cffi: end */")[0]
    ffi = FFI()
    ffi.cdef(declarations)
    ffi.set_source("_abi", None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "_abi.py")
        with contextlib.redirect_stdout(io.StringIO()):  # cffi prints the path
            ffi.emit_python_code(str(path))
        made = path.read_text()
    banner = "# Made by `python -m cupti_etl.schema.generate`.  Do not edit.\n"
    return banner + made.removeprefix("# auto-generated file\n")
