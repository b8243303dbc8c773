"""Flight SQL for whom it is not, and for how long: tokens, hostile requests, limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve.conftest import KERNELS, TOKEN
from serve.flight import (
    AUTHORIZATION,
    ENDLESS,
    WITH_TOKEN,
    Running,
    ask,
    command,
    dbapi,
    fl,
    refusal,
    until,
)
from serve.test_statements import HOSTILE
from support.slow import few
from support.trace import add_part

from cupti_etl.errors import EtlError
from cupti_etl.serve.flight import calls as flight_calls
from cupti_etl.serve.flight.messages import Statement, pack, unpack
from cupti_etl.serve.flight.protobuf import Message

Begin = Callable[..., Running]


# The driver sends what stands before a NUL.
WHOLE = [each for each in HOSTILE if "\0" not in each]


@pytest.mark.parametrize("statement", few(20, WHOLE), ids=lambda text: repr(text[:50]))
def test_what_does_not_run(
    connection: Any, running: Running, kept_folder: Path, statement: str
) -> None:
    (part,) = (kept_folder / "kernel").iterdir()
    content, out = part.read_bytes(), kept_folder.parent / "out"
    statement = statement.replace("{part}", str(part)).replace("{out}", str(out))
    assert "Traceback" not in refusal(connection, statement)
    assert part.read_bytes() == content
    assert not list(kept_folder.parent.glob("out*"))
    assert not running.faults


@pytest.mark.slow
def test_a_handle_of_ones_own_runs_no_more_and_no_error_names_a_path(
    running: Running, kept_folder: Path
) -> None:
    client = running.client()
    for statement in (*HOSTILE, f'FROM "{"ü" * 65536}"'):
        with pytest.raises(fl.FlightServerError) as caught:
            client.do_get(fl.Ticket(Statement(statement).ticket), WITH_TOKEN).read_all()
        said = str(caught.value)
        assert str(kept_folder.parent) not in said
        assert str(Path.home()) not in said
        assert "Traceback" not in said
    assert not running.faults


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x"])
def test_nobody_is_let_in_without_the_token(running: Running, token: str) -> None:
    with pytest.raises(dbapi.Error, match="the token is missing or wrong"):
        ask(running.connect(token), "SELECT 1")


def test_every_method_asks_for_the_token(running: Running) -> None:
    client = running.client()
    ticket = fl.Ticket(Statement("SELECT 1").ticket)
    schema = pa.schema([("a", pa.int64())])
    for method in (
        lambda: list(client.list_flights()),
        lambda: client.list_actions(),
        lambda: client.get_flight_info(command("CommandGetCatalogs")),
        lambda: client.get_schema(command("CommandGetCatalogs")),
        lambda: client.do_get(ticket).read_all(),
        lambda: list(client.do_action(fl.Action("ClosePreparedStatement", b""))),
        lambda: client.do_put(command("CommandGetCatalogs"), schema)[0].close(),
        lambda: client.do_exchange(command("CommandGetCatalogs"))[1].read_chunk(),
        lambda: client.authenticate_basic_token(b"user", TOKEN.encode()),
    ):
        with pytest.raises((fl.FlightUnauthenticatedError, OSError), match="token is missing"):
            method()


def test_what_is_not_supported_is_said_in_a_sentence(connection: Any, running: Running) -> None:
    with connection.cursor() as cursor:
        with pytest.raises(dbapi.Error, match="nothing is written here; .* ask with SELECT"):
            cursor.adbc_ingest("t", pa.table({"a": [1]}))
        with pytest.raises(dbapi.Error, match="nothing is written here"):
            cursor.executemany("FROM kernel WHERE start_ns = ?", [(1,), (2,)])
    client = running.client()
    for method in (
        lambda: list(client.list_flights(options=WITH_TOKEN)),
        lambda: client.do_exchange(command("CommandGetCatalogs"), WITH_TOKEN)[1].read_chunk(),
        lambda: list(client.do_action(fl.Action("BeginTransaction", b""), WITH_TOKEN)),
        lambda: client.get_flight_info(command("CommandStatementSubstraitPlan"), WITH_TOKEN),
        lambda: client.get_flight_info(command("CommandGetXdbcTypeInfo"), WITH_TOKEN),
        lambda: client.get_flight_info(command("CommandStatementUpdate"), WITH_TOKEN),
        lambda: client.get_flight_info(fl.FlightDescriptor.for_path("x"), WITH_TOKEN),
        lambda: client.do_get(fl.Ticket(pack("TicketOfMine", {})), WITH_TOKEN).read_all(),
    ):
        with pytest.raises(fl.FlightServerError) as caught:
            method()
        assert "Traceback" not in str(caught.value)
    with pytest.warns(UserWarning, match="autocommit"):
        dbapi.connect(running.uri, db_kwargs={AUTHORIZATION: f"Bearer {TOKEN}"}).close()
    assert not running.faults


@settings(deadline=None)
@given(data=st.binary(max_size=60))
def test_a_message_is_read_or_refused(data: bytes) -> None:
    try:
        found = Message(data)
        found.text(1), found.texts(4), found.integers(1), found.is_true(5), found.bytes_of(2)
        name, _ = unpack(data)
        assert name is not None
    except EtlError:
        pass


@pytest.mark.slow
@settings(deadline=None)
@given(sql=st.text(max_size=300), values=st.binary(max_size=300))
def test_a_handle_says_all_of_a_statement(sql: str, values: bytes) -> None:
    try:
        one = Statement(sql, values)
    except UnicodeEncodeError:
        return
    assert Statement.read(one.handle) == one


def test_hostile_messages_are_refused_by_the_server(running: Running) -> None:
    client = running.client()
    good = pack("CommandStatementQuery", {1: b"SELECT 1"})
    hostile = [b"", b"\xff", b"\x80" * 20, good[:-3], pack("CommandStatementQuery", {1: b"\xff"})]
    hostile.append(Statement("SELECT ?", b"no stream").ticket)
    for data in hostile:
        for method in (
            lambda data=data: client.get_flight_info(
                fl.FlightDescriptor.for_command(data), WITH_TOKEN
            ),
            lambda data=data: client.do_get(fl.Ticket(data), WITH_TOKEN).read_all(),
        ):
            with pytest.raises((fl.FlightServerError, fl.FlightUnavailableError)) as caught:
                method()
            assert "Traceback" not in str(caught.value)
    assert not running.faults


def test_a_fault_of_ours_says_only_that_there_is_one(
    begin: Begin, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = begin()
    connection = running.connect()

    def broken(*words: Any) -> None:
        raise ZeroDivisionError(str(folder))

    monkeypatch.setattr("cupti_etl.serve.statement.check", broken)
    said = refusal(connection, "SELECT 1")
    assert "the server failed to answer" in said
    assert str(folder) not in said
    assert [type(each) for each in running.faults] == [ZeroDivisionError]


def test_new_parts_are_in_the_next_answer(begin: Begin, folder: Path) -> None:
    connection = begin().connect()
    assert ask(connection, "SELECT count(*) AS n FROM kernel") == [{"n": 3}]
    add_part(folder, "kernel", KERNELS)
    assert ask(connection, "SELECT count(*) AS n FROM kernel") == [{"n": 6}]


def test_a_statement_has_so_much_time(begin: Begin) -> None:
    running = begin(time_s=0.3)
    connection = running.connect()
    late = (
        "SELECT count(*) FROM range(1000000000000) a, range(1000000) b WHERE a.range % 7 = b.range"
    )
    said = refusal(connection, late)
    assert "longer than 0.3 s" in said
    assert "--time-limit" in said
    assert ask(connection, "SELECT 1 AS n") == [{"n": 1}]
    until(running.is_idle)


def test_a_statement_has_so_much_memory(begin: Begin) -> None:
    connection = begin(memory="50MB").connect()
    said = refusal(connection, "SELECT list(range) AS l FROM range(100000000)")
    assert "memory" in said.lower()
    assert "SET" not in said


def test_rows_are_computed_as_fast_as_they_are_taken(begin: Begin) -> None:
    """And a client that leaves ends the statement: nothing stays open for it."""
    running = begin()
    connection = running.connect()
    with connection.cursor() as cursor:
        cursor.execute(ENDLESS)
        reader = cursor.fetch_record_batch()
        assert reader.read_next_batch().nbytes <= 4 << 20
        assert not running.is_idle()
    until(running.is_idle)
    assert ask(connection, "SELECT 1 AS n") == [{"n": 1}]
    assert not running.faults


def test_a_client_that_leaves_before_the_first_row(begin: Begin) -> None:
    running = begin(time_s=1e6)
    slow = f"SELECT count(*) FROM ({ENDLESS}) WHERE hash(h) = 1"
    leaves = fl.FlightCallOptions(
        headers=[(b"authorization", f"Bearer {TOKEN}".encode())], timeout=0.5
    )
    with pytest.raises(fl.FlightTimedOutError):
        running.client().do_get(fl.Ticket(Statement(slow).ticket), leaves).read_all()
    until(running.is_idle)


def test_a_client_that_takes_nothing_is_given_up(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight_calls, "STALLED_S", 0.2)
    running = begin()
    client = running.client()
    reader = client.do_get(fl.Ticket(Statement(ENDLESS).ticket), WITH_TOKEN)
    opened = running.service.served.opened.for_strangers
    # The statement and its rows are let go of; the call is over when the client takes what is sent.
    until(lambda: bool(opened._opened and opened._opened.readers == 0))
    with pytest.raises(fl.FlightTimedOutError, match="took no rows"):
        reader.read_all()
    until(running.is_idle)


def test_so_many_at_once(begin: Begin) -> None:
    running = begin(clients=1)
    client = running.client()
    reader = client.do_get(fl.Ticket(Statement(ENDLESS).ticket), WITH_TOKEN)
    with pytest.raises(fl.FlightUnavailableError, match="1 requests are being answered"):
        client.get_flight_info(command("CommandGetCatalogs"), WITH_TOKEN)
    reader.cancel()
    until(running.is_idle)
    client.get_flight_info(command("CommandGetCatalogs"), WITH_TOKEN)


def test_an_answer_that_fails_late_is_no_short_answer(connection: Any) -> None:
    statement = (
        "SELECT CASE WHEN range < 900000 THEN hash(range)::VARCHAR ELSE error('late') END AS h"
        " FROM range(1000000)"
    )
    assert "late" in refusal(connection, statement)


def test_large_batches_fit_into_messages(connection: Any) -> None:
    rows = ask(connection, "SELECT repeat('x', 100000) AS t FROM range(500)")
    assert len(rows) == 500


def test_a_server_that_ends_waits_for_nobody(begin: Begin) -> None:
    running = begin()
    reader = running.client().do_get(fl.Ticket(Statement(ENDLESS).ticket), WITH_TOKEN)
    assert reader.read_chunk().data.num_rows
    running.server.stop()
    with pytest.raises(fl.FlightError):
        reader.read_all()
    until(running.is_idle)
