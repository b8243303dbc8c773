"""Reading ahead: the next batches are made by another thread while these are worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
_DEPTH = 2


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """The items, a few of them made in advance; what fails there is raised here."""
    waiting: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(_DEPTH)
    stop = threading.Event()

    def put(item: Item | None, failure: BaseException | None) -> None:
        while not stop.is_set():
            try:
                waiting.put((item, failure), timeout=0.1)
                return
            except queue.Full:
                continue

    def make() -> None:
        try:
            for item in items:
                put(item, None)
                if stop.is_set():
                    return
            put(None, None)
        except BaseException as failure:
            put(None, failure)

    thread = threading.Thread(target=make, name="cupti-etl-ahead", daemon=True)
    thread.start()
    try:
        while True:
            item, failure = waiting.get()
            if failure is not None:
                raise failure
            if item is None:
                return
            yield item
    finally:
        stop.set()
        thread.join()
