"""Where rows go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Sink(Protocol):
    """Takes the batches of a capture, in one thread."""

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take a batch."""

    def replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Take a small table as it is now; it replaces what it was before."""

    def roll_is_due(self) -> bool:
        """Whether what was gathered should be made readable."""

    def roll(self) -> None:
        """Make everything that was written readable."""

    def close(self) -> None:
        """Finish the output."""
