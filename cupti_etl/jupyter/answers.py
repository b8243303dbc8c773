"""What a widget asks, answered by threads: messages come in, Arrow goes out.

A question is ``{"id", "name", "params"}`` or ``{"id", "sql"}``, and ``{"id", "stop"}`` takes it
back.  The answer is ``{"id"}`` with an Arrow stream as its only buffer, or ``{"id", "error"}``.
"""

from __future__ import annotations

import asyncio
import contextvars
import io
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import Any

from cupti_etl.api import Trace
from cupti_etl.errors import EtlError, UsageError
from cupti_etl.serve.asked import read, rows_of, statement_rows
from cupti_etl.serve.formats import Answered, choose_format
from cupti_etl.serve.opened import Opened
from cupti_etl.serve.refused import Paths, Refused, described
from cupti_etl.serve.running import Running
from cupti_etl.serve.statement import check

_MEMORY = "1GB"
# More is not for a browser, and all of it is in memory at once.
_MOST_BYTES = 64 << 20
# Of all widgets together.
_THREADS = 8
# An interrupt can fall between two statements, and is then said once more.
_PERSIST_S = 0.1

Message = Mapping[str, Any]
Send = Callable[[dict[str, Any], list[bytes]], None]


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "cupti-etl-widget")


class Answers:
    """Answers the questions of one widget.

    Queries of the library read the opened trace.  Statements are those that ``cupti-etl serve``
    runs, too, and read a DuckDB of their own that reaches nothing but the trace.

    Args:
        trace: that is asked.
        send: sends a message and its buffers.  It is called in the event loop in which the question
            came, or in a thread where there was none.
    """

    def __init__(self, trace: Trace, send: Send) -> None:
        self._trace = trace
        self._send = send
        self._opened = Opened(trace.paths, _MEMORY)
        self._paths = Paths(trace.paths)
        self._lock = threading.Lock()
        self._running: dict[str, tuple[Running, Future[None]]] = {}
        self._is_closed = False

    def take(self, message: Message) -> None:
        """Begin to answer a question, or stop that.  What is no message of ours is left alone."""
        number = message.get("id")
        if not isinstance(number, str):
            return
        with self._lock:
            former = self._running.pop(number, None)
            if not self._is_closed and not message.get("stop"):
                running = Running()
                work = _pool().submit(self._work, message, running, _sender(self._deliver))
                self._running[number] = (running, work)
        if former:
            _stop(*former)

    def close(self) -> None:
        """Stop all that runs, and send nothing any more."""
        with self._lock:
            self._is_closed = True
            left = list(self._running.values())
            self._running.clear()
        for running, work in left:
            _stop(running, work)
        self._opened.close()

    @property
    def is_idle(self) -> bool:
        """Whether every question is answered."""
        return not self._running

    def _deliver(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        if not self._is_closed:
            self._send(content, buffers)

    def _work(self, message: Message, running: Running, send: Send) -> None:
        number = message["id"]
        try:
            content, buffers = {"id": number}, [self._arrow(message, running)]
        except BaseException as error:
            content, buffers = {"id": number, "error": self._told(error)}, []
        with self._lock:
            if self._running.get(number, (None,))[0] is not running:
                return  # nobody waits any more
            del self._running[number]
        send(content, buffers)

    def _arrow(self, message: Message, running: Running) -> bytes:
        out = _Bounded(_MOST_BYTES)
        with self._answered(message, running) as answered:
            running.check()
            choose_format("arrow", "", "none").write(answered, out)
        return out.getvalue()

    def _answered(self, message: Message, running: Running) -> AbstractContextManager[Answered]:
        name, text, params = (message.get(key) for key in ("name", "sql", "params"))
        if isinstance(name, str) and isinstance(params or {}, dict):
            asked = read([("param", f"{key}={value}") for key, value in (params or {}).items()])
            return rows_of(self._trace, name, asked, running)
        if isinstance(text, str):
            check(text)
            return self._opened.for_strangers.leased(statement_rows, text, read([]), running)
        raise UsageError("a question has a name and params, or sql", "ask for one of them")

    def _told(self, error: BaseException) -> dict[str, Any]:
        if not isinstance(error, EtlError):
            logging.getLogger(__name__).error("a widget got no answer", exc_info=error)
            error = Refused(
                500, f"{type(error).__name__}: {error}", "the log of the notebook says more"
            )
        return described(error, self._paths)


class _Bounded(io.BytesIO):
    """Takes so many bytes.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > self._most:
            raise UsageError(
                f"the answer is larger than {self._most >> 20} MiB", "ask for fewer rows or columns"
            )
        return super().write(data)


def _sender(deliver: Send) -> Send:
    """Delivers from any thread, to whom a message came from: Jupyter keeps that in the context."""
    context = contextvars.copy_context()
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda content, buffers: context.run(deliver, content, buffers)

    def send(content: dict[str, Any], buffers: list[bytes]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(deliver, content, buffers, context=context)

    return send


def _stop(running: Running, work: Future[None]) -> None:
    running.stop()
    if not work.cancel() and not work.done():
        threading.Thread(target=_persist, args=(running, work), daemon=True).start()


def _persist(running: Running, work: Future[None]) -> None:
    while wait({work}, _PERSIST_S).not_done:
        running.stop()
