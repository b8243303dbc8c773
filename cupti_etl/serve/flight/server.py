"""The server of Flight SQL: statements and prepared ones, and what there is to ask."""

from __future__ import annotations

import functools
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.flight as fl

from cupti_etl.api import Trace
from cupti_etl.errors import UsageError
from cupti_etl.queries.result import Result
from cupti_etl.serve import statement
from cupti_etl.serve.flight import metadata
from cupti_etl.serve.flight.calls import Call, Calls, unsupported
from cupti_etl.serve.flight.messages import Statement, pack, unpack
from cupti_etl.serve.flight.protobuf import Message, message
from cupti_etl.serve.refused import Refused
from cupti_etl.serve.served import STATEMENT_BYTES, Served

_T = TypeVar("_T")
# By default, clients take messages of at most 4 MiB (gRPC) or 16 MiB (ADBC).
_BATCH_ROWS = 16384
_BATCH_BYTES = 2 << 20
# What is still being answered at the end.
_GRACE_S = 1.0
_READ_ONLY = "cupti-etl serves traces to be read: ask with SELECT"
_ACTIONS = ("CreatePreparedStatement", "ClosePreparedStatement")


def _answers(method: Callable[..., _T]) -> Callable[..., _T]:
    """A method whose errors are sent as what they say, without tracebacks and paths."""

    @functools.wraps(method)
    def answer(self: Server, context: Any, *words: Any) -> _T:
        try:
            return method(self, context, *words)
        except BaseException as error:
            raise self.calls.refused(error) from None

    return answer


class Server(fl.FlightServerBase):  # type: ignore[misc]
    """Answers Flight SQL from the moment that it is made, until ``stop``.

    Args:
        served: what is asked.
        host: the address to listen on.
        port: 0 for one that is free.

    Attributes:
        calls: those that are being answered.

    Raises:
        UsageError: the address or the port cannot be had.
    """

    def __init__(self, served: Served, host: str, port: int) -> None:
        self._opened = served.opened
        self.calls = Calls(served)
        try:
            location = fl.Location.for_grpc_tcp(f"[{host}]" if ":" in host else host, port)
            super().__init__(location, middleware={Calls.NAME: self.calls})
        except (pa.ArrowException, OSError):
            self.calls.close()
            raise UsageError(
                f"gRPC cannot listen on {host}, port {port}",
                "choose another --flight; --flight=0 takes one that is free",
            ) from None
        self._port = self.port

    def stop(self) -> None:
        """End what is being answered, and take no more.

        A client that reads nothing would be waited for, so after a second connections are broken
        off.
        """
        self.calls.close()
        closing = threading.Thread(target=self.shutdown, name="flight shutdown", daemon=True)
        closing.start()
        closing.join(_GRACE_S)
        if closing.is_alive():
            _break_off(self._port)
            closing.join(_GRACE_S)

    @_answers
    def get_flight_info(self, context: Any, descriptor: fl.FlightDescriptor) -> fl.FlightInfo:
        """Say the columns of an answer, and what it is fetched with."""
        name, asked = unpack(descriptor.command)
        known = metadata.schema_of(name, asked)
        if known is not None:
            return _info(known, descriptor, descriptor.command)
        found = self._statement(name, asked)
        return _info(self._columns(context, found), descriptor, found.ticket)

    @_answers
    def get_schema(self, context: Any, descriptor: fl.FlightDescriptor) -> fl.SchemaResult:
        """Say the columns of an answer."""
        name, asked = unpack(descriptor.command)
        known = metadata.schema_of(name, asked)
        if known is None:
            known = self._columns(context, self._statement(name, asked))
        return fl.SchemaResult(known)

    @_answers
    def do_get(self, context: Any, ticket: fl.Ticket) -> fl.FlightDataStream:
        """Send the rows of an answer while they are computed."""
        call = _call(context)
        name, asked = unpack(ticket.ticket)
        if metadata.schema_of(name, asked) is not None:

            def told() -> pa.Table:
                with self._opened.for_strangers.lease() as trace:
                    return metadata.answer(name, asked, trace)

            return fl.RecordBatchStream(call.compute(context, told))
        if name != "TicketStatementQuery":
            raise _unknown(name)
        found = Statement.read(asked.bytes_of(1))

        def begin() -> pa.RecordBatchReader:
            return self._asked(call, found).reader(_BATCH_ROWS)

        reader = call.compute(context, begin)
        return fl.GeneratorStream(reader.schema, self._batches(context, call, reader))

    @_answers
    def do_put(
        self, context: Any, descriptor: fl.FlightDescriptor, reader: Any, writer: Any
    ) -> None:
        """Bind the values of a prepared statement's parameters."""
        name, asked = unpack(descriptor.command)
        if name != "CommandPreparedStatementQuery":
            raise _unknown(name)
        rows, size = [], 0
        for chunk in reader:
            if chunk.data is not None:
                rows.append(chunk.data)
                size += chunk.data.nbytes
            if size > STATEMENT_BYTES:
                raise Refused(
                    413, f"the values are longer than {STATEMENT_BYTES >> 10} KiB", "shorten them"
                )
        found = Statement(Statement.read(asked.bytes_of(1)).sql, _stream(reader.schema, rows))
        found.params()
        writer.write(pa.py_buffer(message({1: found.handle})))

    @_answers
    def do_action(self, context: Any, action: fl.Action) -> list[fl.Result]:
        """Prepare a statement, or close one."""
        if action.type not in _ACTIONS:
            raise unsupported(
                f"the server does not do {action.type[:80]}",
                "it has no transactions, savepoints, sessions or Substrait plans",
            )
        if action.type == "ClosePreparedStatement":
            return []
        _, asked = unpack(action.body.to_pybytes())
        found = Statement(asked.text(1))
        statement.check(found.sql)
        told = {1: found.handle, 3: _serialized(found.parameters)}
        if not found.names:
            told[2] = _serialized(self._columns(context, found))
        return [fl.Result(pa.py_buffer(pack("ActionCreatePreparedStatementResult", told)))]

    @_answers
    def list_actions(self, context: Any) -> list[fl.ActionType]:
        """List what ``do_action`` does."""
        return [fl.ActionType(name, "") for name in _ACTIONS]

    @_answers
    def list_flights(self, context: Any, criteria: bytes) -> Any:
        """Refuse it."""
        raise unsupported("there is no list of flights", "ask with a client of Flight SQL")

    @_answers
    def do_exchange(
        self, context: Any, descriptor: fl.FlightDescriptor, reader: Any, writer: Any
    ) -> None:
        """Refuse it."""
        raise unsupported("nothing is exchanged", "ask with a client of Flight SQL")

    def _statement(self, name: str, asked: Message) -> Statement:
        if name == "CommandStatementQuery":
            return Statement(asked.text(1))
        if name == "CommandPreparedStatementQuery":
            return Statement.read(asked.bytes_of(1))
        raise _unknown(name)

    def _columns(self, context: Any, found: Statement) -> pa.Schema:
        """The columns of a statement, which is bound and not run."""
        call = _call(context)

        def bound() -> pa.Schema:
            # Its rows are asked for when they are fetched.
            with self._asked(call, found).refined("LIMIT 0").reader() as reader:
                return reader.schema

        return call.compute(context, bound)

    def _asked(self, call: Call, found: Statement) -> Result:
        """The answer to a statement, in a session that lasts as long as the call."""
        statement.check(found.sql)
        trace: Trace = call.held.enter_context(self._opened.for_strangers.lease())
        session = call.held.enter_context(call.running.session(trace))
        return session.sql(found.sql, **found.params())

    def _batches(
        self, context: Any, call: Call, reader: pa.RecordBatchReader
    ) -> Iterator[pa.RecordBatch]:
        try:
            while (batch := call.compute(context, lambda: next(reader, None))) is not None:
                yield from _parts(batch)
        except Exception as error:
            raise self.calls.refused(error) from None


def _break_off(port: int) -> None:
    """Break off the connections to a port of this process, which gRPC has no call for."""
    for path in Path("/dev/fd").iterdir():
        with suppress(OSError):
            number = int(path.name)
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            with socket.socket(fileno=os.dup(number)) as each:
                # One that listens has no peer.
                if each.getpeername() and each.getsockname()[1:2] == (port,):
                    each.shutdown(socket.SHUT_RDWR)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in parts that fit into a message."""
    if batch.nbytes <= _BATCH_BYTES or batch.num_rows <= 1:
        yield batch
        return
    half = batch.num_rows // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))


def _call(context: Any) -> Call:
    call = context.get_middleware(Calls.NAME)
    assert isinstance(call, Call)
    return call


def _info(schema: pa.Schema, descriptor: fl.FlightDescriptor, ticket: bytes) -> fl.FlightInfo:
    # No location: where it was asked.
    return fl.FlightInfo(schema, descriptor, [fl.FlightEndpoint(fl.Ticket(ticket), [])], -1, -1)


def _stream(schema: pa.Schema, rows: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        for batch in rows:
            stream.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _serialized(schema: pa.Schema) -> bytes:
    written: bytes = schema.serialize().to_pybytes()
    return written


def _unknown(name: str) -> UsageError | Refused:
    if "Update" in name or "Ingest" in name:
        return unsupported("nothing is written here", _READ_ONLY)
    return unsupported(f"the server does not do {name[:80]}", _READ_ONLY)
