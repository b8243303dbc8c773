"""Tables of a folder that ``nsys export --type parquetdir`` wrote: a Parquet file each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cupti_etl.errors import ForeignError
from cupti_etl.imports.sqlite import TYPES

_ROWS = 1 << 16


class ParquetTables:
    """A folder with a Parquet file for each table.

    Raises:
        ForeignError: a file is damaged or truncated.
    """

    kind = "parquetdir"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = {file.stem: file for file in sorted(path.glob("*.parquet"))}
        self._columns: dict[str, list[str]] = {
            table: self._open(table).schema_arrow.names for table in self._files
        }

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
        return int(self._open(table).metadata.num_rows)

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
            found: list[dict[str, Any]] = self._open(table).read().to_pylist()
        except (pa.ArrowException, OSError) as error:
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
                    yield pa.RecordBatch.from_arrays(
                        [_column(batch, field, present.get(field.name)) for field in schema],
                        schema=schema,
                    )
            except (pa.ArrowException, OSError) as error:
                raise self._damaged(table, error) from None


def _column(batch: pa.RecordBatch, field: pa.Field, name: str | None) -> pa.Array:
    if name is None:
        return pa.nulls(batch.num_rows, field.type)
    column = batch[name]
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(field.type):
        column = column.dictionary_decode()
    if pa.types.is_dictionary(field.type):
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(pa.string()).dictionary_encode()
    # Unsigned 64-bit numbers are stored as their bits.
    return column.view(pa.int64()) if column.type == pa.uint64() else column.cast(field.type)
