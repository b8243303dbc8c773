"""Commands in the process of the tests that ask the same trace one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from cupti_etl import api

_open = api.open


class Opened:
    """Traces that are open for all commands that ask them, until it is closed.

    It is for commands of which the answers are what is looked at: each finds what the others have
    computed.
    """

    def __init__(self) -> None:
        self._traces: dict[tuple[object, ...], api.Trace] = {}

    @contextmanager
    def for_commands(self) -> Iterator[None]:
        """Commands that run meanwhile ask these, which are opened when one first asks for them."""
        with patch.object(api, "open", self.open):
            yield

    def open(
        self, *paths: Any, confined: bool = False, settings: Mapping[str, str] | None = None
    ) -> AbstractContextManager[api.Trace]:
        """What ``api.open`` gives, of these; who leaves it leaves it open."""
        given = (*map(os.path.abspath, paths), confined, *sorted((settings or {}).items()))
        if given not in self._traces:
            self._traces[given] = _open(*paths, confined=confined, settings=settings)
        return nullcontext(self._traces[given])

    def close(self) -> None:
        """Close them."""
        with ExitStack() as stack:
            while self._traces:
                stack.enter_context(self._traces.popitem()[1])

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def opened_once() -> Iterator[None]:
    """Commands that run meanwhile open each trace once."""
    with Opened() as opened, opened.for_commands():
        yield
