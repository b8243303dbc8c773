"""What did my GPU do?  CUDA traces as Parquet and DuckDB tables.

``import cupti_etl`` loads neither the native library nor duckdb nor pyarrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cupti_etl.errors import (
    CaptureError,
    EtlError,
    NativeError,
    NoCudaError,
    RecordingError,
    SchemaError,
    TraceError,
    UsageError,
)

if TYPE_CHECKING:
    from cupti_etl.api import Trace, open

__version__ = "0.1.0"

__all__ = [
    "CaptureError",
    "EtlError",
    "NativeError",
    "NoCudaError",
    "RecordingError",
    "SchemaError",
    "Trace",
    "TraceError",
    "UsageError",
    "__version__",
    "open",
]


def __getattr__(name: str) -> Any:
    if name in ("Trace", "open"):
        from cupti_etl import api as trace

        return getattr(trace, name)
    raise AttributeError(f"module 'cupti_etl' has no attribute {name!r}")
