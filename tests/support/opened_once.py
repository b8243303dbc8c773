"""Commands in the process of the tests that ask the same trace one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from cupti_etl import api


@contextmanager
def opened_once() -> Iterator[None]:
    """Commands that run meanwhile open each trace once, and find there what others computed.

    It is for those of which the answers are what is looked at.
    """
    opened: dict[tuple[object, ...], api.Trace] = {}
    open_trace = api.open

    with ExitStack() as stack:

        def kept(
            *paths: Any, confined: bool = False, settings: Mapping[str, str] | None = None
        ) -> AbstractContextManager[api.Trace]:
            given = (*map(os.path.abspath, paths), confined, *sorted((settings or {}).items()))
            if given not in opened:
                trace = open_trace(*paths, confined=confined, settings=settings)
                opened[given] = stack.enter_context(trace)
            return nullcontext(opened[given])

        with patch.object(api, "open", kept):
            yield
