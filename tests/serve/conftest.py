"""A served trace of a few rows, asked in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.trace import write_tables

if TYPE_CHECKING:
    from serve.flight import Running

TOKEN = "the-token"
KERNELS = """
    start_ns end_ns name process_id device_id
    0        10     a    1          0
    20       50     b    1          0
    60       70     b    1          0
"""
DEVICES = """
    process_id device_id device_uuid name
    1          0         u0          H200
"""

Serve = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tables(tmp_path / "run42", kernel=KERNELS, device=DEVICES)


@contextmanager
def serving(default: Path) -> Iterator[Serve]:
    from starlette.testclient import TestClient

    from cupti_etl.serve.app import Service
    from cupti_etl.serve.page import Page
    from cupti_etl.serve.served import Limits

    # As if it was not built, wherever the tests run.
    page = Page(default / "no-page")
    with ExitStack() as stack:

        def begin(*paths: Path, **limits: Any) -> TestClient:
            service = Service(paths or (default,), TOKEN, limits=Limits(**limits), page=page)
            stack.callback(service.close)
            client = TestClient(
                service.app,
                "http://127.0.0.1:8756",
                raise_server_exceptions=False,
                headers={"Authorization": f"Bearer {TOKEN}"},
            )
            return stack.enter_context(client)

        yield begin


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    """Serves the folder, or other ones, with other limits; gives a client that has the token."""
    with serving(folder) as begin:
        yield begin


@pytest.fixture
def client(serve: Serve) -> Any:
    return serve()


@pytest.fixture(scope="module")
def kept_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For tests that leave it as it is."""
    return write_tables(tmp_path_factory.mktemp("kept") / "run42", kernel=KERNELS, device=DEVICES)


@pytest.fixture(scope="module")
def kept_client(kept_folder: Path) -> Iterator[Any]:
    with serving(kept_folder) as begin:
        yield begin()


@pytest.fixture
def begin(folder: Path) -> Iterator[Callable[..., Running]]:
    """Serves the folder over Flight SQL, with other limits."""
    from serve.flight import Running

    with ExitStack() as stack:
        yield lambda **limits: Running(folder, stack, **limits)


@pytest.fixture(scope="module")
def running(kept_folder: Path) -> Iterator[Running]:
    """A server of Flight SQL, for tests that leave the trace as it is."""
    from serve.flight import Running

    with ExitStack() as stack:
        yield Running(kept_folder, stack)


@pytest.fixture(scope="module")
def connection(running: Running) -> Any:
    """Of ADBC, to that server."""
    return running.connect()
