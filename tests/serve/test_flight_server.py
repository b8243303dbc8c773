"""``cupti-etl serve --flight``: a real server, its addresses and signals, and the page about it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from docs.test_documentation import blocks
from serve.test_server import SERVE, ended, needs_the_extra
from support.command import etl

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "flight.md"
ENDLESS = "SELECT hash(range) AS h FROM range(1000000000000)"


class Served(NamedTuple):
    process: subprocess.Popen[str]
    uri: str
    token: str

    def connect(self) -> Any:
        """A connection of ADBC."""
        dbapi = pytest.importorskip(
            "adbc_driver_flightsql.dbapi", reason="the driver is not installed"
        )
        settings = {"adbc.flight.sql.authorization_header": f"Bearer {self.token}"}
        return dbapi.connect(self.uri, db_kwargs=settings, autocommit=True)


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    needs_the_extra()
    pytest.importorskip("pyarrow.flight", reason="this pyarrow was built without Flight")
    process = subprocess.Popen(
        [*SERVE, "--flight=0", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        page = re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=(\S+)\n", process.stdout.readline())
        flight = re.fullmatch(r"(grpc://127\.0\.0\.1:\d+)\n", process.stdout.readline())
        assert page, process.communicate()
        assert flight, process.communicate()
        yield Served(process, flight[1], page[1])
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_silently(served: Served, number: int) -> None:
    with served.connect() as connection, connection.cursor() as cursor:
        cursor.execute("FROM kernel_summary")
        assert len(cursor.fetchall()) == 2
    status = 130 if number == signal.SIGINT else -number
    assert ended(served.process, number) == (status, "", "")


def test_ctrl_c_ends_it_while_a_client_reads_nothing(served: Served) -> None:
    fl = pytest.importorskip("pyarrow.flight")
    from cupti_etl.serve.flight.messages import Statement

    with_token = fl.FlightCallOptions(
        headers=[(b"authorization", f"Bearer {served.token}".encode())]
    )
    with fl.connect(served.uri) as client:
        reader = client.do_get(fl.Ticket(Statement(ENDLESS).ticket), with_token)
        assert reader.read_chunk().data.num_rows
        assert ended(served.process, signal.SIGINT) == (130, "", "")
        with pytest.raises(fl.FlightError):
            reader.read_all()


def test_nothing_is_lost_with_calls(served: Served) -> None:
    fds = Path(f"/proc/{served.process.pid}/fd")
    with served.connect() as connection:

        def ask(count: int) -> None:
            for number in range(count):
                with connection.cursor() as cursor:
                    if number % 3 == 0:
                        with pytest.raises(Exception, match="kernl"):
                            cursor.execute("FROM kernl")
                    else:
                        cursor.execute(("FROM kernel", ENDLESS)[number % 2])
                        assert cursor.fetch_record_batch().read_next_batch().num_rows

        ask(6)
        before = len(list(fds.iterdir()))
        ask(60)
        # What was left in mid-stream may still be ending.
        assert len(list(fds.iterdir())) <= before + 2


@pytest.mark.parametrize("needed", ["adbc_driver_flightsql", "pandas", "polars"])
def test_the_examples_of_the_page_run(served: Served, needed: str) -> None:
    for name in ("adbc_driver_flightsql", needed):
        pytest.importorskip(name, reason=f"{name} is not installed")
    first, *others = blocks(PAGE, "python")
    others = [text for text in others if needed in text]
    assert needed == "adbc_driver_flightsql" or others
    done = subprocess.run(
        [sys.executable, "-c", "\n".join((first, *others, "connection.close()"))],
        env={**os.environ, "FLIGHT": served.uri, "TOKEN": served.token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def test_a_port_that_is_taken(served: Served, folder: Path) -> None:
    done = etl("serve", folder, "--port", "0", f"--flight={served.uri.rpartition(':')[2]}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot listen on 127.0.0.1" in done.stderr
    assert "--flight=0" in done.stderr


def test_a_pyarrow_without_flight(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_the_extra()
    monkeypatch.setitem(sys.modules, "pyarrow.flight", None)
    done = etl("serve", folder, "--port", "0", "--flight=0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "built without Flight" in done.stderr
