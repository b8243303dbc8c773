"""The collector library in a Python process."""

from __future__ import annotations

import subprocess
import sys

CLOSED_FIRST = """
from cupti_etl.capture.native import load
ffi, lib = load()
decoder = ffi.gc(lib.etl_decoder_new(), lib.etl_decoder_free)
ffi.dlclose(lib)
del decoder
"""


def test_what_it_made_can_be_freed_when_it_is_closed() -> None:
    """As the interpreter's end may do it, in whatever order."""
    subprocess.run([sys.executable, "-c", CLOSED_FIRST], check=True)
