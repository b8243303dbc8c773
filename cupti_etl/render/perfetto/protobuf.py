"""Rows as messages of Protocol Buffers: what a message is of, and the native encoder of batches.

Source of the encoding: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.native.loader import load

if TYPE_CHECKING:
    import pyarrow as pa

_VARINT, _FIXED64, _BYTES = 0, 1, 2
# The kinds of values, as of the native encoder, with their wire types and the types of columns.
_KINDS = {
    "ETL_PB_VARINT": (_VARINT, "int64"),
    "ETL_PB_FIXED64": (_FIXED64, "int64"),
    "ETL_PB_DOUBLE": (_FIXED64, "float64"),
    "ETL_PB_TEXT": (_BYTES, "string"),
}


@dataclass(frozen=True)
class Field:
    """A field with the values of a column; left out where they are NULL."""

    number: int
    column: str
    kind: str


@dataclass(frozen=True)
class Message:
    """A message in another, or in the file; left out where the column ``given`` is NULL."""

    number: int
    parts: tuple[Part, ...]
    given: str = ""


Part = Field | Message | bytes


def integer(number: int, column: str) -> Field:
    """A field of an integer, without zigzag."""
    return Field(number, column, "ETL_PB_VARINT")


def double(number: int, column: str) -> Field:
    """A field of a double."""
    return Field(number, column, "ETL_PB_DOUBLE")


def text(number: int, column: str) -> Field:
    """A field of text."""
    return Field(number, column, "ETL_PB_TEXT")


def message(number: int, *parts: Part, given: str = "") -> Message:
    """A field of a message."""
    return Message(number, parts, given)


def constant(number: int, value: int | str | bytes) -> bytes:
    """A field that is the same in every row."""
    if isinstance(value, int):
        return varint(number << 3 | _VARINT) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | _BYTES) + varint(len(raw)) + raw


def varint(value: int) -> bytes:
    """An integer from 0 on, in groups of 7 bits from the lowest."""
    groups = []
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*groups, value))


class Encoder:
    """Makes the same messages of each row of a batch.

    Raises:
        NativeError: this installation has no native part, or there is no memory.
    """

    def __init__(self, *parts: Part) -> None:
        self._ffi, self._lib = load()
        self._types: dict[str, str] = {}
        self._literals = b""
        steps = list(self._steps(parts))
        array = self._ffi.new("struct etl_protobuf_step[]", steps)
        handle = self._lib.etl_protobuf_new(array, len(steps), self._literals, len(self._literals))
        if handle == self._ffi.NULL:
            raise NativeError("no memory for an encoder")
        self._handle = self._ffi.gc(handle, self._lib.etl_protobuf_free)

    def _steps(self, parts: Iterable[Part]) -> Iterable[tuple[int, int, int, int, int]]:
        lib = self._lib
        for part in parts:
            if isinstance(part, bytes):
                yield lib.ETL_PB_LITERAL, 0, -1, len(self._literals), len(part)
                self._literals += part
            elif isinstance(part, Message):
                tag = part.number << 3 | _BYTES
                yield lib.ETL_PB_OPEN, tag, self._column(part.given, ""), 0, 0
                yield from self._steps(part.parts)
                yield lib.ETL_PB_CLOSE, 0, -1, 0, 0
            else:
                wire, kind = _KINDS[part.kind]
                tag = part.number << 3 | wire
                yield getattr(lib, part.kind), tag, self._column(part.column, kind), 0, 0

    def _column(self, name: str, kind: str) -> int:
        if not name:
            return -1
        self._types[name] = kind or self._types.get(name, "")
        return list(self._types).index(name)

    def encode(self, rows: pa.RecordBatch | pa.Table) -> Iterable[memoryview]:
        """The messages of the rows; each piece is valid until the next one is taken.

        Raises:
            KeyError: a column is missing.
            NativeError: there is no memory.
        """
        import pyarrow as pa

        table = pa.table({name: rows[name] for name in self._types} or {"": [None] * len(rows)})
        schema = pa.schema(
            [(each.name, self._types.get(each.name) or _plain(each.type)) for each in table.schema]
        )
        for batch in table.cast(schema).combine_chunks().to_batches():
            array = self._ffi.new("struct ArrowArray *")
            batch._export_to_c(int(self._ffi.cast("uintptr_t", array)))
            size = self._lib.etl_protobuf_encode(self._handle, array)
            if size < 0:
                raise NativeError(f"rows cannot be encoded: error {-size}")
            yield memoryview(self._ffi.buffer(self._lib.etl_protobuf_bytes(self._handle), size))


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of a column of which only NULL is asked."""
    import pyarrow as pa

    return pa.int64() if pa.types.is_null(kind) else kind


def encoded(parts: Sequence[Part], rows: pa.Table) -> bytes:
    """All messages of a few rows.

    Raises:
        NativeError: as of ``Encoder``.
    """
    return b"".join(bytes(piece) for piece in Encoder(*parts).encode(rows))
