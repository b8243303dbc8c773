"""The trace as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

# What the rows of a table become; None if they stay as they are.
Change = Callable[["pa.Table"], "pa.Table | None"]


class Target(Protocol):
    """Takes the batches of a trace, in one thread."""

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Take a batch."""

    def replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Take a small table as it is now; with the next roll it replaces what it was before."""

    def is_behind(self) -> bool:
        """Whether the last roll has not reached the disk yet."""

    def roll(self) -> None:
        """Make everything that was written readable."""

    def finish(self) -> None:
        """Bring what was written into its final form; what follows are replacements alone."""

    def rewrite(self, table: str, change: Change) -> None:
        """Change rows of a finished table."""

    def rows(self) -> Mapping[str, int]:
        """How many rows each table has, as far as the target knows."""

    def close(self) -> None:
        """End the output."""
