"""A row of the table ``loss``, as whoever finds one builds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Loss:
    """One row of the table ``loss``; the columns are described there."""

    process_id: int | None
    cause: str
    table_name: str | None = None
    records: int | None = None
    bytes: int | None = None
    is_stored: bool = False
    start_ns: int | None = None
    end_ns: int | None = None
    detail: str = ""
    device_uuid: str | None = None

    def row(self) -> dict[str, Any]:
        """The row as a dictionary; numbers no column can hold are left out."""
        return {
            name: None if isinstance(value, int) and abs(value) >= 1 << 63 else value
            for name, value in vars(self).items()
        }
