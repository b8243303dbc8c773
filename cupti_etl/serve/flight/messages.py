"""The messages of Flight SQL: what a client asks, and the handle that stands for a statement.

Names and numbers are those of FlightSql.proto of Apache Arrow, package arrow.flight.protocol.sql.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from cupti_etl.errors import UsageError
from cupti_etl.queries.runner import connect
from cupti_etl.serve.flight.protobuf import Message, message
from cupti_etl.serve.refused import Refused
from cupti_etl.serve.served import STATEMENT_BYTES

_TYPE = "type.googleapis.com/arrow.flight.protocol.sql."


def unpack(data: bytes | None) -> tuple[str, Message]:
    """The name of a command, and its fields.

    Raises:
        UsageError: it is none of Flight SQL.
    """
    outer = Message(data or b"")
    url = outer.text(1)
    if not url.startswith(_TYPE):
        raise UsageError("the request is none of Flight SQL", "ask with a client of Flight SQL")
    return url.removeprefix(_TYPE), Message(outer.bytes_of(2))


def pack(name: str, fields: Mapping[int, bytes]) -> bytes:
    """A message with its name, as commands and tickets are sent."""
    return message({1: (_TYPE + name).encode(), 2: message(fields)})


@dataclass(frozen=True)
class Statement:
    """A statement, and the values of its parameters.

    The handle of a statement says all of it, so nothing is kept for a client that never closes one.

    Attributes:
        sql: its text.
        values: a row with a column for each parameter, as a stream of Arrow's IPC; empty where none
            was given.
    """

    sql: str
    values: bytes = b""

    def __post_init__(self) -> None:
        if len(self.sql.encode()) + len(self.values) > STATEMENT_BYTES:
            raise Refused(
                413,
                f"the statement and its values are longer than {STATEMENT_BYTES >> 10} KiB",
                "shorten them",
            )

    @classmethod
    def read(cls, handle: bytes) -> Statement:
        """The statement of a handle.

        Raises:
            UsageError: it is no handle.
        """
        fields = Message(handle)
        return cls(fields.text(1), fields.bytes_of(2))

    @property
    def handle(self) -> bytes:
        """What stands for it."""
        return message({1: self.sql.encode(), 2: self.values})

    @property
    def ticket(self) -> bytes:
        """What its rows are fetched with."""
        return pack("TicketStatementQuery", {1: self.handle})

    @cached_property
    def names(self) -> list[str]:
        """The names of its parameters: "1", "2" and so on for question marks.

        Raises:
            UsageError: DuckDB cannot parse it.
        """
        import duckdb

        if not {"?", "$"} & set(self.sql):
            return []
        with connect() as con:
            try:
                found = con.extract_statements(self.sql)
            except duckdb.Error as error:
                raise UsageError(str(error).strip()) from None
        names = {name for each in found for name in each.named_parameters}
        return sorted(names, key=lambda name: (not name.isdecimal(), len(name), name))

    @property
    def parameters(self) -> pa.Schema:
        """Its parameters, whose types depend on the values."""
        return pa.schema([(name, pa.null()) for name in self.names])

    def params(self) -> dict[str, Any]:
        """The values by the names of the parameters.

        Raises:
            UsageError: they are other than the statement takes.
        """
        if not self.values:
            if self.names:
                raise self._other_number(0)
            return {}
        try:
            with pa.ipc.open_stream(self.values) as stream:
                rows = stream.read_all()
            rows.validate(full=True)
        except (pa.ArrowException, OSError):
            raise UsageError("the values are none of Arrow", "bind them with the client") from None
        if rows.num_rows != 1:
            raise UsageError(
                f"values for {rows.num_rows} executions were sent",
                "bind one row, and execute once for each",
            )
        (row,) = rows.to_pylist()
        if self.names and not self.names[0].isdecimal() and set(self.names) == set(row):
            return dict(row)
        # Question marks have no names, and each client calls their columns as it likes.
        if len(rows.column_names) != len(self.names):
            raise self._other_number(rows.num_columns)
        return dict(zip(self.names, row.values(), strict=True))

    def _other_number(self, sent: int) -> UsageError:
        return UsageError(
            f"the number of values to bind is {len(self.names)}, and {sent} were sent",
            "bind one for each ? or $name",
        )
