"""How records become rows.  ``cupti_etl.capture("run42")`` captures the running program, and
so this package can be called, as ``cupti_etl.Capture`` can."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import cupti_etl


class _Callable(ModuleType):
    def __call__(self, *args: Any, **options: Any) -> Any:
        return cupti_etl.Capture(*args, **options)


sys.modules[__name__].__class__ = _Callable
