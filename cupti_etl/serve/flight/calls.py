"""Who is let in to a server of Flight, and what ends an answer early."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

import pyarrow.flight as fl

from cupti_etl.errors import EtlError
from cupti_etl.serve.refused import Refused, described, fault, late, too_many, wrong_token
from cupti_etl.serve.running import PERSIST_S, STALLED_S, Running, Stopped
from cupti_etl.serve.served import Served

_T = TypeVar("_T")
# gRPC sends errors as headers, percent-encoded, of which clients take 8 KiB in all; DuckDB repeats
# statements in them.
_MESSAGE_BYTES = 1500
# By the status of HTTP; pyarrow sends a traceback with every exception that is not its own.
_ERRORS = {
    401: fl.FlightUnauthenticatedError,
    500: fl.FlightInternalError,
    503: fl.FlightUnavailableError,
    504: fl.FlightTimedOutError,
}


class Call(fl.ServerMiddleware):  # type: ignore[misc]
    """One call: what it computes, and what is open for it until it is over.

    Args:
        calls: that it is one of.
        limit_s: for what it computes, without what the client takes to read.

    Attributes:
        running: what stops it.
        held: what is closed when it is over, however it ends.
        is_computing: whether it computes now; else the client is waited for.
    """

    def __init__(self, calls: Calls, limit_s: float) -> None:
        super().__init__()
        self.running = Running()
        self.held = ExitStack()
        self._calls = calls
        self._limit_s = self._left_s = limit_s
        self._lock = threading.Lock()
        self.is_computing = False
        self._since = time.monotonic()
        self._is_cancelled: Callable[[], bool] = lambda: False
        self._end: EtlError | None = None

    def compute(self, context: Any, action: Callable[[], _T]) -> _T:
        """Do something of which the time counts, and which can be stopped.

        Raises:
            Refused: it takes too long, the client took nothing, or the server ends.
            Stopped: the client is gone.
        """
        with self._lock:
            if self._end:
                raise self._end
            self.is_computing, self._since = True, time.monotonic()
            self._is_cancelled = context.is_cancelled
        try:
            return action()
        except BaseException:
            # DuckDB says of a statement that was stopped only that it was.
            if self._end:
                raise self._end from None
            raise
        finally:
            with self._lock:
                now = time.monotonic()
                self._left_s -= now - self._since
                self.is_computing, self._since = False, now

    def look(self) -> None:
        """Stop it where it is to go on no longer."""
        with self._lock:
            spent = time.monotonic() - self._since
            if not self.is_computing:
                if spent > STALLED_S and not self._end:
                    self._end = Refused(
                        504,
                        f"the client took no rows for {STALLED_S:g} s",
                        "read the rows without a pause, or ask again",
                    )
                    self.held.close()
                return
            if self._end is None and spent > self._left_s:
                self._end = late(self._limit_s)
            if self._end is None and self._is_cancelled():
                self._end = Stopped("the client is gone")
            if self._end:
                self.running.stop()

    def end(self) -> None:
        """Stop it, as the server ends."""
        with self._lock:
            self._end = self._end or Refused(503, "the server ends", "start it again")
            self.running.stop()

    def call_completed(self, exception: BaseException | None) -> None:
        """Close what it held."""
        self._calls.leave(self)
        with self._lock:
            self.held.close()


class Calls(fl.ServerMiddlewareFactory):  # type: ignore[misc]
    """Lets calls in that have the token, and so many at once, and watches over them.

    Args:
        served: what is asked.
    """

    NAME = "calls"

    def __init__(self, served: Served) -> None:
        super().__init__()
        self._served = served
        self._inside: set[Call] = set()
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._watch = threading.Thread(target=self._look, name="flight calls", daemon=True)
        self._watch.start()

    def start_call(self, info: Any, headers: dict[str, list[str]]) -> Call:
        """Let a call in.

        Raises:
            FlightError: it is not let in.
        """
        (authorization,) = headers.get("authorization", [""])[:1]
        if not isinstance(authorization, str) or not self._served.token.is_in(authorization):
            raise self.refused(wrong_token())
        most = self._served.limits.clients
        with self._lock:
            if len(self._inside) >= most or self._is_over.is_set():
                raise self.refused(too_many(most))
            call = Call(self, self._served.limits.time_s)
            self._inside.add(call)
        return call

    def leave(self, call: Call) -> None:
        """Note that one is over."""
        with self._lock:
            self._inside.discard(call)

    def refused(self, error: BaseException) -> fl.FlightError:
        """An error as Flight sends it."""
        self._served.note(error)
        if isinstance(error, Stopped):
            # Nobody reads it: pyarrow's client would take it for Ctrl-C.
            return fl.FlightCancelledError(error.message)
        if not isinstance(error, EtlError):
            error = fault()
        told = described(error, self._served.paths)
        kind = _ERRORS.get(told["status"], fl.FlightServerError)
        said = "; ".join(text for text in (told["detail"], told["hint"]) if text)
        return kind(said.encode(errors="replace")[:_MESSAGE_BYTES].decode(errors="ignore"))

    def close(self) -> None:
        """Stop all of them, and let in no other."""
        self._is_over.set()
        for call in self.present():
            call.end()

    def present(self) -> list[Call]:
        """Those that are being answered."""
        with self._lock:
            return list(self._inside)

    def _look(self) -> None:
        # As they end, also after the last was let in.
        while not self._is_over.wait(PERSIST_S) or self.present():
            for call in self.present():
                call.look()
            if self._is_over.is_set():
                time.sleep(PERSIST_S)


def unsupported(what: str, hint: str) -> Refused:
    """The refusal of what this server does not do."""
    return Refused(501, what, hint)
