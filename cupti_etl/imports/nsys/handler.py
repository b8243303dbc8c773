"""How the rows of a table of nsys are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from cupti_etl.imports.nsys.frame import Frame

Rows: TypeAlias = Iterator[tuple[str, pa.RecordBatch]]


@dataclass(frozen=True)
class Handler:
    """How a table is read: the columns that are wanted, with their letters (see ``sqlite.TYPES``),
    and what they become."""

    columns: dict[str, str]
    read: Callable[[pa.RecordBatch, Frame], Rows]
