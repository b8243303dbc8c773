"""Asks several things at once, of one trace or of several.

A statement seldom keeps all processors busy: most of what a question costs is what has to be made
for it first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

from cupti_etl.queries.making import MOST_THREADS

if TYPE_CHECKING:
    from cupti_etl.api import Trace

_T = TypeVar("_T")
# An interrupt can fall between two statements, and is then said once more.
_PERSIST_S = 0.1


def at_once(
    asks: Sequence[tuple[Trace, Callable[[Trace], _T]]],
    begin: Callable[[int], None] = lambda place: None,
) -> list[_T]:
    """What each gave, in their order.

    Args:
        asks: which trace, and what asks it: it gets a session of the trace, and what it gives must
            not read from that any more.
        begin: gets the place of each that is waited for next.

    Raises:
        EtlError: of the first that raised one.
    """

    def run(trace: Trace, ask: Callable[[Trace], _T]) -> _T:
        with closing(trace.session()) as session:
            return ask(session)

    with ThreadPoolExecutor(MOST_THREADS) as pool:
        futures = [pool.submit(run, trace, ask) for trace, ask in asks]
        try:
            found = []
            for place, each in enumerate(futures):
                begin(place)
                found.append(each.result())
            return found
        except BaseException as error:
            for each in futures:
                each.cancel()
            while isinstance(error, KeyboardInterrupt) and wait(futures, _PERSIST_S).not_done:
                for trace, _ in asks:
                    trace.stop()
            raise
