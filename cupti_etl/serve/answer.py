"""A response whose rows a thread computes while they are sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, cast

from starlette.types import Receive, Scope, Send

from cupti_etl.progress import printable
from cupti_etl.serve.channel import Channel
from cupti_etl.serve.formats import Answered, Format
from cupti_etl.serve.refusal import refusal
from cupti_etl.serve.refused import late
from cupti_etl.serve.running import PERSIST_S, STALLED_S, Running
from cupti_etl.serve.served import Served

Ask = Callable[[Running], AbstractContextManager[Answered]]


class Answer:
    """Sends the rows of a question, chunk by chunk, or the error that it ended with.

    The time limit counts what is spent on waiting for rows, and not for the client.  Where it is
    over, or an error comes, after the first rows were sent, the connection is broken off, so that
    nobody takes a part of the rows for all of them.

    Args:
        ask: begins the question; called in a thread of ``pool``.
        form: how the rows are sent.
        served: what is asked.
        pool: runs it.
    """

    def __init__(self, ask: Ask, form: Format, served: Served, pool: Executor) -> None:
        self._ask = ask
        self._form = form
        self._served = served
        self._pool = pool
        self._says = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        if scope["method"] == "HEAD":
            await self._start(send)
            await send({"type": "http.response.body"})
            return
        running, channel = Running(), Channel()
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._pool, self._work, running, channel)
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await self._send_all(scope, receive, send, channel, gone)
        finally:
            gone.cancel()
            channel.abandon()
            while not work.done():
                running.stop()
                # The slot of the client is taken until the thread is free.
                await asyncio.wait({work}, timeout=PERSIST_S)

    def _work(self, running: Running, channel: Channel) -> None:
        try:
            with self._ask(running) as answered:
                running.check()
                self._says = answered.says
                self._form.write(answered, cast("BinaryIO", channel))
            channel.finish()
        except BaseException as error:
            channel.finish(error)

    async def _send_all(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        channel: Channel,
        gone: asyncio.Future[Any],
    ) -> None:
        left = self._served.limits.time_s
        is_begun = False
        while True:
            before = time.monotonic()
            chunk = asyncio.ensure_future(channel.next())
            await asyncio.wait({chunk, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            left = max(0.0, left - (time.monotonic() - before))
            if gone.done():
                chunk.cancel()
                return
            error: BaseException | None
            if chunk.done():
                error = chunk.exception()
            else:
                chunk.cancel()
                error = late(self._served.limits.time_s)
            if error is not None:
                self._served.note(error)
                if not is_begun:
                    await refusal(error, self._served.paths)(scope, receive, send)
                return
            if not is_begun:
                await self._start(send)
                is_begun = True
            body = chunk.result()
            message = {"type": "http.response.body", "body": body or b"", "more_body": bool(body)}
            try:
                await asyncio.wait_for(send(message), STALLED_S)
            except OSError:  # it left, or takes nothing
                return
            if body is None:
                return

    async def _start(self, send: Send) -> None:
        headers = [(b"content-type", self._form.media_type.encode())]
        if self._says:
            # Names of ranges can hold anything; a header cannot.
            said = printable(self._says).encode("ascii", "backslashreplace")
            headers.append((b"x-cupti-etl-part", said))
        await send({"type": "http.response.start", "status": 200, "headers": headers})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
