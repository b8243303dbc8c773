"""Every error that cupti-etl raises on purpose.

::

    EtlError                    exit 1
    ├── UsageError              exit 2   an option, a path or a query that cannot be
    ├── SchemaError             exit 1   a table description contradicts itself
    ├── TraceError              exit 1   a trace folder cannot be read
    │   ├── RecordingError      exit 1   a recording is damaged or of another version
    │   └── ForeignError        exit 1   a trace of another tool cannot be imported
    ├── NativeError             exit 1   the native library is missing or refuses
    ├── CaptureError            exit 4   the program ran, but could not be captured
    └── NoCudaError             exit 3   the program ended without initialising CUDA

``cupti_etl.cli`` is the one place where an error becomes text and an exit code.
"""

from __future__ import annotations


class EtlError(Exception):
    """Base of all errors of cupti-etl.

    Args:
        message: what is wrong, in one sentence.
        hint: what to do about it, in one sentence.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(EtlError):
    """An option, a path or a query that cannot be used as given."""

    exit_code = 2


class SchemaError(EtlError):
    """A table description contradicts itself or the header's facts."""


class TraceError(EtlError):
    """A trace folder is missing, incomplete, or of a newer schema."""


class RecordingError(TraceError):
    """A recording is truncated, damaged, or of another version."""


class ForeignError(TraceError):
    """A trace of another tool is damaged, of an unknown form, or holds nothing for us."""


class NativeError(EtlError):
    """The native library is missing, of another build, or reported a failure."""


class CaptureError(EtlError):
    """The program ran, but its CUDA activity could not be captured."""

    exit_code = 4


class NoCudaError(EtlError):
    """The program ended without ever initialising CUDA."""

    exit_code = 3
