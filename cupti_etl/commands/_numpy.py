"""NumPy in a process of ours, which pyarrow loads and nothing here computes with."""

from __future__ import annotations

import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# OpenBLAS reads it when it is loaded; whoever has set it means our processes, too.
_VARIABLE = "OPENBLAS_NUM_THREADS"


def load_with_one_thread() -> None:
    """See to it that NumPy, once somebody imports it, starts no threads.

    Its OpenBLAS starts one for each processor, and they wait for work in a loop: on 16 processors
    that took two seconds of processor time in each process.  The variable is there only while NumPy
    is loaded, so that no program that is captured inherits it.
    """
    is_there = any(isinstance(each, _Finder) for each in sys.meta_path)
    if "numpy" not in sys.modules and _VARIABLE not in os.environ and not is_there:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds NumPy as it is found otherwise, once."""

    def find_spec(self, fullname: str, *_: Any) -> ModuleSpec | None:
        if fullname != "numpy":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _OneThread(spec.loader)
        return spec


class _OneThread(Loader):
    """Loads a module as another loader does, while the variable is there."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        os.environ[_VARIABLE] = "1"
        try:
            self._loader.exec_module(module)
        finally:
            del os.environ[_VARIABLE]
