"""Who is let in, and what is left behind."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from serve.conftest import TOKEN, Serve
from serve.test_answers import error

pytest.importorskip("starlette", reason="the extra serve is not installed")

from cupti_etl.serve.app import Service
from cupti_etl.serve.served import Limits


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \u00ff", TOKEN],
)
def test_without_the_token_nothing_is_said(kept_client: Any, authorization: str) -> None:
    headers = {"Authorization": authorization.encode("latin-1")}
    for address in ("/", "/arrow/kernel", "/openapi.json", "/nothing", "/?token=", "/?token=x"):
        refused = kept_client.get(address, headers=headers)
        assert "token" in error(refused, 401)["hint"]
        assert refused.headers["www-authenticate"] == "Bearer"
    error(kept_client.post("/sql", content="SELECT 1", headers=headers), 401)


def test_the_token_may_be_in_the_address(client: Any) -> None:
    response = client.get(f"/arrow/kernel?token={TOKEN}", headers={"Authorization": ""})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8756", "localhost:1", "LOCALHOST", "[::1]:8756", "10.0.0.7:80"]
)
def test_hosts_of_this_machine(kept_client: Any, host: str) -> None:
    assert kept_client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8756", "127.0.0.1.evil.example", "", "[::1", "::1]x", "a]"],
)
def test_other_hosts(kept_client: Any, host: str) -> None:
    error(kept_client.get("/health", headers={"Host": host}), 421)


def test_the_host_that_was_given(folder: Path) -> None:
    from starlette.testclient import TestClient

    service = Service((folder,), TOKEN, hosts=["node7"])
    assert TestClient(service.app, "http://node7:8756").get("/health").status_code == 200
    service.close()


def test_every_response_is_guarded(client: Any) -> None:
    for response in (client.get("/"), client.get("/arrow/kernel"), client.get("/nothing")):
        assert response.headers["content-security-policy"].startswith("default-src 'self'")
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    "name",
    [
        "<script>alert(1)</script>",
        "'\"><img src=x>",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "kernel'; DROP TABLE kernel; --",
        "%ff%fe",
        "\u202egnp.exe",
        "x" * 60000,
        "\x1b[2J",
    ],
    ids=lambda name: repr(name[:20]),
)
def test_hostile_names(kept_client: Any, name: str) -> None:
    from urllib.parse import quote

    for address in (
        f"/arrow/{quote(name, safe='%')}",
        f"/arrow/kernel?{quote(name, safe='%')}=1",
        f"/arrow/kernel?sort={quote(name, safe='%')}",
        f"/arrow/kernel?range={quote(name, safe='%')}",
        f"/arrow/kernel_summary?param={quote(name, safe='%')}=1",
    ):
        refused = kept_client.get(address)
        assert refused.status_code in (404, 422), (address[:80], refused.text[:200])
        said = error(refused, refused.status_code)
        assert "Traceback" not in said["detail"]
        assert "\x1b" not in refused.text


def test_names_of_a_trace_are_text_on_the_index(serve: Serve, folder: Path) -> None:
    from support.trace import write_trace

    other = write_trace(folder.with_name("<img src=x onerror=alert(1)>&'\""), kernel="start_ns\n1")
    page = serve(other).get("/").text
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;&#x27;&quot;" in page


def test_a_range_of_any_name_is_a_header(serve: Serve, folder: Path) -> None:
    from support.trace import write_trace

    other = write_trace(
        folder.with_name("other"),
        kernel="start_ns end_ns name process_id\n1 2 a 1",
        marker="""
            process_id thread_id marker_id event timestamp_ns name          domain
            1          5         1         start 0            "\u00fc\u202ex" -
            1          5         1         end   9            -             -
        """,
    )
    response = serve(other).get("/arrow/kernel", params={"range": "\u00fc\u202ex"})
    assert response.status_code == 200, response.text
    assert response.headers["x-cupti-etl-part"] == "in \\xfc\\u202ex"


def open_things() -> tuple[int, int]:
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()


@pytest.mark.slow
def test_nothing_is_lost_with_requests(client: Any) -> None:
    addresses = ("/arrow/kernel", "/arrow/kernl", "/arrow/kernel?from=15ns", "/arrow/kernel?gpu=9")

    def ask(count: int) -> None:
        for number in range(count):
            client.get(addresses[number % len(addresses)])
            client.post("/sql", content=("FROM kernel", "FROM x", "COPY kernel TO 'x'")[number % 3])

    ask(12)
    before = open_things()
    ask(40)
    files, threads = open_things()
    assert files <= before[0]
    # The pool may still have been growing.
    assert threads <= before[1] + 4


class Asgi:
    """A client that reads as slowly as it likes, and goes away."""

    def __init__(self, service: Service, path: str, body: bytes = b"") -> None:
        self.sent: list[dict[str, Any]] = []
        self.leaves = asyncio.Event()
        self.takes = asyncio.Semaphore(0)
        self._has_asked = False
        self._body = body
        scope = {
            "type": "http",
            "method": "POST" if body else "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [
                (b"host", b"127.0.0.1"),
                (b"authorization", f"Bearer {TOKEN}".encode()),
            ],
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", 1),
        }
        self.task = asyncio.ensure_future(service.app(scope, self._receive, self._send))  # type: ignore[arg-type]

    async def _receive(self) -> dict[str, Any]:
        if not self._has_asked:
            self._has_asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def answered(self) -> list[dict[str, Any]]:
        """What it is sent, all of which it takes."""
        for _ in range(100):
            self.takes.release()
        await asyncio.wait_for(self.task, 60)
        return self.sent

    async def _send(self, message: Any) -> None:
        await self.takes.acquire()
        self.sent.append(dict(message))


def test_so_many_at_once(folder: Path) -> None:
    async def run() -> None:
        service = Service((folder,), TOKEN, limits=Limits(clients=1))
        first = Asgi(service, "/sql", b"SELECT hash(range) AS h FROM range(1000000000000)")
        # It is let in at its first step.
        await asyncio.sleep(0)
        refused = await Asgi(service, "/health").answered()
        assert refused[0]["status"] == 503
        assert (b"retry-after", b"1") in refused[0]["headers"]
        assert json.loads(refused[1]["body"])["error"]["status"] == 503
        first.leaves.set()
        await asyncio.wait_for(first.task, 60)
        assert (await Asgi(service, "/health").answered())[0]["status"] == 200
        service.close()

    asyncio.run(run())


def test_rows_are_computed_as_fast_as_they_are_taken(folder: Path) -> None:
    """Else those of a large table would wait in memory for a slow client."""

    async def run() -> None:
        service = Service((folder,), TOKEN, limits=Limits(time_s=30))
        client = Asgi(service, "/sql", b"SELECT hash(range) AS h FROM range(1000000000000)")
        for _ in range(20):
            client.takes.release()
        while len(client.sent) < 20:
            await asyncio.sleep(0.01)
        assert not client.task.done()
        # A client that leaves ends the statement.
        client.leaves.set()
        client.takes.release()
        await asyncio.wait_for(client.task, 60)
        sizes = [len(message.get("body", b"")) for message in client.sent]
        assert max(sizes) < 4 << 20
        assert client.sent[-1].get("more_body", True)
        service.close()

    asyncio.run(run())


def test_an_answer_that_fails_late_is_broken_off(folder: Path) -> None:
    async def run() -> None:
        service = Service((folder,), TOKEN)
        statement = (
            "SELECT CASE WHEN range < 900000 THEN hash(range)::VARCHAR ELSE error('late') END AS h"
            " FROM range(1000000)"
        )
        client = Asgi(service, "/sql", statement.encode())
        for _ in range(10000):
            client.takes.release()
        await asyncio.wait_for(client.task, 60)
        assert client.sent[0]["status"] == 200
        # The last chunk of a whole answer says that there is no more.
        assert client.sent[-1]["more_body"]
        service.close()

    asyncio.run(run())
