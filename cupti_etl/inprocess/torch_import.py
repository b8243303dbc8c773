"""Something to be done once PyTorch is imported, without importing it.

This is imported by whatever Python the program runs on: it needs the standard library alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class Waiting:
    """A finder of modules that finds none itself, but adds to what follows the import of torch.

    Args:
        then: called with the module, when it is whole.
    """

    def __init__(self, then: Callable[[Any], None]) -> None:
        self._then = then
        self._is_asking = False

    def begin(self) -> None:
        """Wait."""
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Wait no more."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of torch, as the other finders have it; of everything else None."""
        if name != "torch" or self._is_asking:
            return None
        from importlib.util import find_spec

        self._is_asking = True
        try:
            spec = find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            self._add_to(spec.loader)
        return spec

    def _add_to(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            del loader.exec_module
            if self in sys.meta_path:
                self.end()
                self._then(module)

        loader.exec_module = exec_module
