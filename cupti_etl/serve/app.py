"""What is served at which address."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from cupti_etl.api import Trace
from cupti_etl.errors import EtlError, UsageError
from cupti_etl.render.json import json_text
from cupti_etl.serve import statement
from cupti_etl.serve.analysed import compared_rows, findings_rows
from cupti_etl.serve.answer import Answer
from cupti_etl.serve.asked import Asked, read, rows_of, statement_rows
from cupti_etl.serve.catalogue import catalogue
from cupti_etl.serve.formats import Answered, choose_format
from cupti_etl.serve.guard import HEALTH, Guard
from cupti_etl.serve.index import index_page
from cupti_etl.serve.openapi import description
from cupti_etl.serve.opened import Opened
from cupti_etl.serve.openmetrics import MEDIA_TYPE, exposition
from cupti_etl.serve.page import Page
from cupti_etl.serve.refusal import refusal
from cupti_etl.serve.refused import Paths, Refused
from cupti_etl.serve.running import Running
from cupti_etl.serve.served import STATEMENT_BYTES, Limits, Served
from cupti_etl.serve.token import Token
from cupti_etl.storage.sources import PARTS

_T = TypeVar("_T")
_HINTS = {404: "GET / lists what there is", 405: "GET; POST for /sql"}


class Service:
    """The answers about some traces; ``app`` is what a server of ASGI serves.

    Args:
        paths: of the traces.
        token: as of ``Guard``.
        hosts: as of ``Guard``.
        limits: how much is served.
        on_fault: gets an error that is none of ours.
        is_awaited: whether a trace that is not there will be.
        page: for browsers.

    Attributes:
        app: what a server of ASGI serves.
        served: the same traces, for other protocols; open until ``close``.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        token: str,
        *,
        hosts: Sequence[str] = (),
        limits: Limits | None = None,
        on_fault: Callable[[BaseException], None] = lambda error: None,
        is_awaited: bool = False,
        page: Page | None = None,
    ) -> None:
        def look() -> None:
            if is_awaited and not all(any(path.glob(f"*/{PARTS}")) for path in paths):
                raise Refused(
                    503,
                    "the capture has written nothing yet",
                    "try again in a second",
                    {"Retry-After": "1"},
                )

        self._token = token
        self._paths = tuple(paths)
        self._page = page or Page()
        limits = limits or Limits()
        self._opened = Opened(paths, limits.memory, look)
        self._hidden = Paths(paths)
        self.served = Served(self._opened, Token(token), limits, self._hidden, on_fault)
        self._pool = ThreadPoolExecutor(limits.clients, "serve")
        shown = self._page.addresses
        inner = Starlette(
            routes=[
                *(Route(address, self._file) for address in shown),
                Route("/", self._index),
                Route("/catalogue.json", self._catalogue),
                Route(HEALTH, self._health),
                Route("/metrics", self._metrics),
                Route("/openapi.json", self._openapi),
                Route("/arrow/{name}", self._rows),
                Route("/findings", self._findings),
                Route("/compare", self._compare),
                Route("/sql", self._sql, methods=["POST"]),
            ],
            exception_handlers={
                HTTPException: self._refuse_address,
                EtlError: self._refuse,
                Exception: self._refuse,
            },
        )
        # The address to which Starlette would redirect has no token.
        inner.router.redirect_slashes = False
        self.app: ASGIApp = Guard(
            inner,
            token=self.served.token,
            hosts=hosts,
            paths=self._hidden,
            most=limits.clients,
            public=(HEALTH, *shown),
        )

    def close(self) -> None:
        """Close the traces; each once the last answer about it is over."""
        self._opened.close()
        self._pool.shutdown(wait=False)

    async def _file(self, request: Request) -> Response:
        return self._page.response(request.url.path)

    async def _catalogue(self, request: Request) -> Response:
        return await self._told(lambda trace: _json(catalogue(trace, self._paths)))

    async def _metrics(self, request: Request) -> Response:
        return await self._told(lambda trace: Response(exposition(trace), media_type=MEDIA_TYPE))

    async def _index(self, request: Request) -> Response:
        def page(trace: Trace) -> str:
            return index_page([path.name for path in trace.paths], trace.tables, self._token)

        return HTMLResponse(await self._told(page))

    async def _health(self, request: Request) -> Response:
        return _json({"status": "ok"})

    async def _openapi(self, request: Request) -> Response:
        return await self._told(lambda trace: _json(description(trace.tables)))

    async def _rows(self, request: Request) -> Answer:
        asked = read(request.query_params.multi_items())
        name = request.path_params["name"]
        ask = partial(self._opened.trace.leased, rows_of, name, asked)
        return self._answer(request, asked, ask)

    async def _findings(self, request: Request) -> Answer:
        asked = read(request.query_params.multi_items())
        ask = partial(self._opened.trace.leased, findings_rows, asked)
        return self._answer(request, asked, ask)

    async def _compare(self, request: Request) -> Answer:
        asked = read(request.query_params.multi_items())
        return self._answer(
            request, asked, lambda running: compared_rows(self._paths, asked, running)
        )

    async def _sql(self, request: Request) -> Answer:
        asked = read(request.query_params.multi_items())
        text = await _body(request)

        def ask(running: Running) -> AbstractContextManager[Answered]:
            statement.check(text)
            return self._opened.for_strangers.leased(statement_rows, text, asked, running)

        return self._answer(request, asked, ask)

    def _answer(
        self,
        request: Request,
        asked: Asked,
        ask: Callable[[Running], AbstractContextManager[Answered]],
    ) -> Answer:
        form = choose_format(asked.format, request.headers.get("accept", ""), asked.compression)
        return Answer(ask, form, self.served, self._pool)

    async def _told(self, tell: Callable[[Trace], _T]) -> _T:
        def work() -> _T:
            with self._opened.trace.lease() as trace:
                return tell(trace)

        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def _refuse(self, request: Request, error: Exception) -> Response:
        self.served.note(error)
        return refusal(error, self._hidden)

    async def _refuse_address(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        # Starlette's own detail is the title again.
        where = request.url.path[:80]
        details = {
            404: f"there is no address {where}",
            405: f"{where} is not asked with {request.method}",
        }
        detail = details.get(error.status_code, str(error.detail))
        hint = _HINTS.get(error.status_code, "")
        refused = Refused(error.status_code, detail, hint, error.headers)
        return refusal(refused, self._hidden)


def _json(value: object) -> Response:
    return Response(json_text(value) + "\n", media_type="application/json")


async def _body(request: Request) -> str:
    """The text that a request sends.

    Raises:
        Refused: it is too long.
        UsageError: it is no text.
    """
    content = bytearray()
    try:
        async for chunk in request.stream():
            content += chunk
            if len(content) > STATEMENT_BYTES:
                raise Refused(
                    413, f"the statement is longer than {STATEMENT_BYTES >> 10} KiB", "shorten it"
                )
        return content.decode()
    except UnicodeDecodeError:
        raise UsageError("the statement is not UTF-8", "send it as text") from None
    except ClientDisconnect:
        raise UsageError("the request ended early") from None
