"""What each Python does at its start under ``capture --pytorch``: it waits for ``import torch``.

The folder of this file is first on PYTHONPATH.  It is imported by whatever Python the program runs
on, which need not have this package; what fails here must not show in the program.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _run(name: str, path: str) -> Any:
    """A file of ours as a module that nobody else finds."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, os.path.join(os.path.dirname(_FOLDER), path))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _observe(torch: Any) -> None:
    try:
        _run("_cupti_etl_pytorch", "pytorch.py").begin_from_environment(torch)
    except Exception:
        pass  # the collector says that nothing was recorded


def _run_the_programs_own() -> None:
    """The sitecustomize that would have been imported without this one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _FOLDER]
if os.environ.get("CUPTI_ETL_PYTORCH"):
    try:
        _run("_cupti_etl_torch_import", "torch_import.py").Waiting(_observe).begin()
    except Exception:
        pass
_run_the_programs_own()
