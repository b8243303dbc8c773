"""Where rows go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Sink(Protocol):
    """Takes the batches of a capture, in one thread."""

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take a batch."""

    def replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Take a small table as it is now; with the next roll it replaces what it was before."""

    def roll_is_due(self) -> bool:
        """Whether what was gathered should be made readable."""

    def roll(self) -> None:
        """Make everything that was written readable."""

    def when_readable(self, then: Callable[[], object]) -> None:
        """Call something, in whatever thread, when what was rolled is readable."""

    def finish(self) -> None:
        """Bring what was written into its final form; what follows are replacements alone."""

    def rows(self) -> Mapping[str, int]:
        """How many rows each table has, as far as the sink knows."""

    def close(self) -> None:
        """End the output."""
