"""Rows that are shown or written: those of an answer, or of one that is changed on its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cupti_etl.render.columns import Shape

if TYPE_CHECKING:
    import pyarrow as pa

Ask = Callable[[str], Iterable[Mapping[str, Any]]]


class Rows(Protocol):
    """What is shown: ``cupti_etl.api.Result``, or anything like it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def shape(self) -> Shape:
        """What the columns are."""

    def reader(self) -> pa.RecordBatchReader:
        """The rows in batches."""

    def count(self) -> int:
        """How many rows there are."""

    def ask(self, sql: str) -> Iterable[Mapping[str, Any]]:
        """More of the trace; nothing where there is none."""

    def refined(self, clauses: str) -> Rows:
        """The rows that the clauses of a SELECT, such as WHERE and LIMIT, leave over."""


class Passed:
    """Rows whose batches, or shape, are looked at, or changed, on their way."""

    def __init__(self, rows: Rows, shape: Shape | None = None) -> None:
        self._rows, self._shape = rows, shape

    def through(self, rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """What becomes of the batches."""
        return rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._rows.columns

    @property
    def shape(self) -> Shape:
        """What the columns are."""
        return self._shape or self._rows.shape

    def reader(self) -> pa.RecordBatchReader:
        """The rows in batches."""
        return self.through(self._rows.reader())

    def count(self) -> int:
        """How many rows there are."""
        return self._rows.count()

    def ask(self, sql: str) -> Iterable[Mapping[str, Any]]:
        """More of the trace."""
        return self._rows.ask(sql)

    def refined(self, clauses: str) -> Passed:
        """The rows that the clauses leave over; they go the same way."""
        self._rows = self._rows.refined(clauses)
        return self
