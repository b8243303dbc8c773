"""A server of Flight SQL in this process, and what asks it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from serve.conftest import TOKEN

fl = pytest.importorskip("pyarrow.flight", reason="this pyarrow was built without Flight")
pytest.importorskip("starlette", reason="the extra serve is not installed")
dbapi = pytest.importorskip("adbc_driver_flightsql.dbapi", reason="the driver is not installed")

from cupti_etl.serve.app import Service  # noqa: E402
from cupti_etl.serve.flight.messages import pack  # noqa: E402
from cupti_etl.serve.flight.server import Server  # noqa: E402
from cupti_etl.serve.served import Limits  # noqa: E402

AUTHORIZATION = "adbc.flight.sql.authorization_header"
ENDLESS = "SELECT hash(range) AS h FROM range(1000000000000)"
WITH_TOKEN = fl.FlightCallOptions(headers=[(b"authorization", f"Bearer {TOKEN}".encode())])


class Running:
    """A server, its service and what was no error of ours."""

    def __init__(self, folder: Path, stack: ExitStack, **limits: Any) -> None:
        self.faults: list[BaseException] = []
        self.service = Service(
            (folder,), TOKEN, limits=Limits(**limits), on_fault=self.faults.append
        )
        stack.callback(self.service.close)
        self.server = Server(self.service.served, "127.0.0.1", 0)
        stack.callback(self.server.stop)
        self.uri = f"grpc://127.0.0.1:{self.server.port}"
        self._stack = stack

    def connect(self, token: str = TOKEN) -> Any:
        """A connection of ADBC."""
        settings = {AUTHORIZATION: f"Bearer {token}"}
        return self._stack.enter_context(
            dbapi.connect(self.uri, db_kwargs=settings, autocommit=True)
        )

    def client(self) -> Any:
        """A client of Flight alone, which sends what it is told."""
        return self._stack.enter_context(fl.connect(self.uri))

    def is_idle(self) -> bool:
        """Whether nothing is held for a client any more."""
        lent = [self.service.served.opened.for_strangers]
        return not self.server.calls.present() and not any(
            each._opened and each._opened.readers for each in lent
        )


def ask(connection: Any, statement: str, *values: Any) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        rows: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
        return rows


def refusal(connection: Any, statement: str, *values: Any) -> str:
    with pytest.raises(dbapi.Error) as caught:
        ask(connection, statement, *values)
    return str(caught.value)


def until(is_so: Callable[[], bool]) -> None:
    """Wait for what comes without our doing; pytest's time limit ends it if it does not."""
    while not is_so():
        time.sleep(0.01)


def command(name: str, fields: dict[int, bytes] | None = None) -> Any:
    return fl.FlightDescriptor.for_command(pack(name, fields or {}))
