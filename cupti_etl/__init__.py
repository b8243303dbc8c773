"""What did my GPU do?  CUDA traces as Parquet and DuckDB tables.

``import cupti_etl`` loads neither the native library nor duckdb nor pyarrow.
"""

from __future__ import annotations

from importlib import import_module
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
    from cupti_etl.analysis.diff import Diff, diff
    from cupti_etl.analysis.report import Report, report
    from cupti_etl.api import Trace, open
    from cupti_etl.inprocess.callback_event import CallbackEvent
    from cupti_etl.inprocess.callbacks import Callbacks, CallbackWarning, callbacks
    from cupti_etl.inprocess.capture import Capture, CaptureWarning, profile
    from cupti_etl.inprocess.capture import Capture as capture
    from cupti_etl.inprocess.range_metrics import range_metrics
    from cupti_etl.inprocess.ranges import range, step

__version__ = "0.1.0"

__all__ = [
    "CallbackEvent",
    "CallbackWarning",
    "Callbacks",
    "Capture",
    "CaptureError",
    "CaptureWarning",
    "Diff",
    "EtlError",
    "NativeError",
    "NoCudaError",
    "RecordingError",
    "Report",
    "SchemaError",
    "Trace",
    "TraceError",
    "UsageError",
    "__version__",
    "callbacks",
    "capture",
    "diff",
    "open",
    "profile",
    "range",
    "range_metrics",
    "report",
    "step",
]

# What is loaded when it is first used, by its module.
_LATER = {
    "Trace": "cupti_etl.api",
    "open": "cupti_etl.api",
    "CallbackEvent": "cupti_etl.inprocess.callback_event",
    "CallbackWarning": "cupti_etl.inprocess.callbacks",
    "Callbacks": "cupti_etl.inprocess.callbacks",
    "callbacks": "cupti_etl.inprocess.callbacks",
    "Capture": "cupti_etl.inprocess.capture",
    "CaptureWarning": "cupti_etl.inprocess.capture",
    "profile": "cupti_etl.inprocess.capture",
    "load_ipython_extension": "cupti_etl.inprocess.magic",
    "range": "cupti_etl.inprocess.ranges",
    "range_metrics": "cupti_etl.inprocess.range_metrics",
    "Diff": "cupti_etl.analysis.diff",
    "diff": "cupti_etl.analysis.diff",
    "Report": "cupti_etl.analysis.report",
    "report": "cupti_etl.analysis.report",
    "step": "cupti_etl.inprocess.ranges",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        # Kept, so that the next use costs no more than that of any other name.
        globals()[name] = getattr(import_module(_LATER[name]), name)
        return globals()[name]
    if name == "capture":  # the package, which can be called
        return import_module("cupti_etl.capture")
    raise AttributeError(f"module 'cupti_etl' has no attribute {name!r}")
