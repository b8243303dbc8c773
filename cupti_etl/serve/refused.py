"""Errors in one form that programs can read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from cupti_etl.errors import EtlError, MemoryLimitError, UsageError


class Refused(EtlError):
    """A request that is not answered.

    Args:
        status: of HTTP.
        message: what is wrong, in one sentence.
        hint: what to do about it, in one sentence.
        headers: that go with it.
    """

    def __init__(
        self, status: int, message: str, hint: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.headers = dict(headers or {})


def fault() -> Refused:
    """What is said of a fault of our own: that there is one."""
    return Refused(500, "the server failed to answer", "its terminal says why with --debug")


def wrong_token() -> Refused:
    """What is said to whom is not let in."""
    return Refused(
        401,
        "the token is missing or wrong",
        "use the address that serve printed, or its token as Authorization: Bearer TOKEN",
        {"WWW-Authenticate": "Bearer"},
    )


def too_many(most: int) -> Refused:
    """What is said while so many requests are being answered."""
    return Refused(
        503, f"{most} requests are being answered", "try again in a second", {"Retry-After": "1"}
    )


class Paths:
    """Takes the paths of this machine out of what is sent.

    Args:
        traces: what is served; their names stay.
    """

    def __init__(self, traces: Iterable[Path]) -> None:
        pairs = {}
        for path in traces:
            for spelt in (path.absolute(), Path(os.path.realpath(path))):
                pairs[str(spelt)] = path.absolute().name
        for place, name in ((Path.home(), "~"), (Path(sys.prefix), "..."), (Path.cwd(), ".")):
            # "/" would be in every fraction.
            if len(place.parts) > 1:
                pairs.setdefault(str(place), name)
        # The longest first, as one can be in another.
        self._pairs = sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def hide(self, text: str) -> str:
        """The text without them."""
        for path, name in self._pairs:
            text = text.replace(path, name)
        return text


def described(error: EtlError, paths: Paths) -> dict[str, Any]:
    """An error as an object of JSON, without the paths of this machine."""
    status = status_of(error)
    hint = error.hint
    if isinstance(error, MemoryLimitError):
        # The limit is not the client's to set.
        hint = "ask for fewer columns or rows, or aggregate"
    return {
        "title": HTTPStatus(status).phrase,
        "detail": paths.hide(error.message),
        "hint": paths.hide(hint),
        "status": status,
    }


def status_of(error: EtlError) -> int:
    """The status of HTTP that says whose fault it is."""
    if isinstance(error, Refused):
        return error.status
    return 422 if isinstance(error, (UsageError, MemoryLimitError)) else 500


def late(limit_s: float) -> Refused:
    """The refusal of what is not computed in time."""
    return Refused(
        504,
        f"the answer took longer than {limit_s:g} s",
        "ask again, as what was computed is kept; or for a part of the trace (from, to, steps), or "
        "serve with a larger --time-limit",
    )
