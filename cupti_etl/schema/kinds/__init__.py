"""All kinds, found by listing this folder: a new file is a new table."""

from __future__ import annotations

import importlib
import pkgutil

from cupti_etl.schema.spec import Kind


def load_kinds(package: str = __name__) -> tuple[Kind, ...]:
    """Import every module of the package and return their kinds, by table name."""
    path = importlib.import_module(package).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(path))
    kinds = (importlib.import_module(f"{package}.{name}").KIND for name in names)
    return tuple(sorted(kinds, key=lambda kind: kind.table))


KINDS = load_kinds()
# Tables of work that keeps a GPU busy.
GPU_WORK = tuple(kind.table for kind in KINDS if kind.is_gpu_work)
# What can be switched on and off again and again: nothing of it is a call of CUDA's.
SWITCHABLE = tuple(
    kind.table
    for kind in KINDS
    if kind.is_gpu_work or kind.is_lasting or kind.table in ("marker", "marker_data")
)
