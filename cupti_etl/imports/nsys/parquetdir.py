"""Tables of a folder that ``nsys export --type parquetdir`` wrote: a Parquet file each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.errors import ForeignError
from cupti_etl.imports.nsys.sqlite import TYPES

_ROWS = 1 << 16


class ParquetTables:
    """A folder with a Parquet file for each table.

    Raises:
        ForeignError: a file is damaged or truncated.
    """

    kind = "parquetdir"

    def __init__(self, path: Path) -> None:
        self.path = path
        # The columns have types, and one of another type is an error.
        self.unfit: dict[str, int] = {}
        self._files = {file.stem: file for file in sorted(path.glob("*.parquet"))}
        self._columns: dict[str, list[str]] = {}
        for table in self._files:
            with self._open(table) as file:
                names = self._columns[table] = file.schema_arrow.names
            # SQLite, whose tables these are, does not tell cases apart.
            twice = [n for n, times in Counter(map(str.lower, names)).items() if times > 1]
            if twice:
                raise self._damaged(table, f"it has two columns {twice[0]}")

    def _open(self, table: str) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self._files[table])
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(table, error) from None

    def _damaged(self, table: str, error: object) -> ForeignError:
        return ForeignError(
            f"{self._files[table]} is damaged: {str(error).splitlines()[0]}",
            "export it again, or copy it again completely",
        )

    def names(self) -> list[str]:
        """All tables."""
        return list(self._files)

    def columns(self, table: str) -> list[str]:
        """The columns of a table; none if there is no such table."""
        return self._columns.get(table, [])

    def count(self, table: str) -> int:
        """Rows of a table."""
        with self._open(table) as file:
            return int(file.metadata.num_rows)

    def filled(self, table: str, column: str) -> int:
        """Rows of a table in which a column is not NULL. As ``SqliteTables``."""
        if column not in self.columns(table):
            return 0
        with self._open(table) as file:
            try:
                batches = file.iter_batches(_ROWS, columns=[column], use_threads=False)
                return sum(len(batch[column]) - batch[column].null_count for batch in batches)
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(table, error) from None

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A small table as a whole; empty if there is none."""
        if table not in self._files:
            return []
        try:
            with self._open(table) as file:
                found: list[dict[str, Any]] = file.read().to_pylist()
        # What Python has no value for: texts that are none, times out of its range.
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise self._damaged(table, error) from None
        return found

    def batches(self, table: str, wanted: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        """The wanted columns of a table; one that it lacks is NULL. As ``SqliteTables``."""
        theirs = {name.lower(): name for name in self.columns(table)}
        present = {name: theirs[name.lower()] for name in wanted if name.lower() in theirs}
        if not present:
            return
        schema = pa.schema([(name, TYPES[letter]) for name, letter in wanted.items()])
        with self._open(table) as file:
            try:
                for batch in file.iter_batches(
                    _ROWS, columns=list(present.values()), use_threads=False
                ):
                    arrays = [self._column(table, batch, present, field) for field in schema]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(table, error) from None

    def _column(
        self, table: str, batch: pa.RecordBatch, present: dict[str, str], field: pa.Field
    ) -> pa.Array:
        if field.name not in present:
            return pa.nulls(batch.num_rows, field.type)
        try:
            return _as(batch[present[field.name]], field)
        except pa.ArrowException as error:
            raise self._damaged(table, f"column {field.name}: {error}") from None


def _as(column: pa.Array, field: pa.Field) -> pa.Array:
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(field.type):
        column = column.dictionary_decode()
    if pa.types.is_dictionary(field.type):
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(pa.string()).dictionary_encode()
    # Unsigned 64-bit numbers are stored as their bits.
    return column.view(pa.int64()) if column.type == pa.uint64() else column.cast(field.type)
