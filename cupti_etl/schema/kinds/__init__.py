"""All kinds, found by listing this folder: a new file is a new table."""

from __future__ import annotations

import importlib
import pkgutil

from cupti_etl.schema.spec import Kind

# By table name.
KINDS: tuple[Kind, ...] = tuple(
    sorted(
        (
            importlib.import_module(f"{__name__}.{module.name}").KIND
            for module in pkgutil.iter_modules(__path__)
        ),
        key=lambda kind: kind.table,
    )
)
# Tables of work that keeps a GPU busy.
GPU_WORK = tuple(kind.table for kind in KINDS if kind.is_gpu_work)
# What can be switched on and off again and again: nothing of it is a call of CUDA's.
SWITCHABLE = tuple(
    kind.table
    for kind in KINDS
    if kind.is_gpu_work or kind.is_lasting or kind.table in ("marker", "marker_data")
)
