"""Asks several things at once, of one trace or of several.

A statement seldom keeps all processors busy: most of what a question costs is what has to be made
for it first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, TypeVar

from cupti_etl.queries.interruptible import interruptible

if TYPE_CHECKING:
    from cupti_etl.api import Trace

_T = TypeVar("_T")


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

    # Each thread has one of each trace, one after the other being asked there.
    sessions: dict[tuple[int, Trace], Trace] = {}
    opened = ExitStack()

    def run(trace: Trace, ask: Callable[[Trace], _T]) -> _T:
        here = threading.get_ident(), trace
        try:
            if here not in sessions:
                sessions[here] = opened.enter_context(trace.session())
            return ask(sessions[here])
        except BaseException:
            cancel()  # none is begun after that
            raise

    futures: list[Future[_T]] = []

    def cancel() -> None:
        for each in futures:
            each.cancel()

    def run_all() -> list[_T]:
        most = min((each.most_at_once for each in {trace for trace, _ in asks}), default=1)
        with opened, ThreadPoolExecutor(most) as pool:
            with suppress(RuntimeError):  # no thread can be begun at a program's end
                futures.extend(pool.submit(run, *ask) for ask in asks)
            try:
                found = []
                for place, each in enumerate(futures):
                    begin(place)
                    if not (wait([each]) and each.cancelled()):
                        found.append(each.result())
                found.extend(run(*ask) for ask in asks[len(futures) :])
                return found
            finally:
                cancel()

    def stop() -> None:
        cancel()
        for trace, _ in asks:
            trace.stop()

    return interruptible(run_all, stop)
