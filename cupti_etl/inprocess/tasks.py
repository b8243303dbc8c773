"""Ranges of tasks: a task of asyncio runs in pieces, and others run in between.

An event loop runs each piece as one ``Handle``.  Where it ends, the ranges that the task has opened
are put aside, and where the task goes on they do, too.  That is asyncio's own loop; one that brings
handles of its own, as uvloop, does not tell where a piece ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary


def follow(functions: Mapping[str, Any]) -> bool:
    """Follow the tasks of all event loops from here on.

    Args:
        functions: ``mark``, ``suspend`` and ``resume`` of native/inject/python_range.c.

    Returns:
        False if asyncio is only being imported.
    """
    asyncio, events = sys.modules.get("asyncio"), sys.modules["asyncio.events"]
    if not hasattr(asyncio, "current_task") or not hasattr(events, "Handle"):
        return False
    mark, suspend, resume = functions["mark"], functions["suspend"], functions["resume"]
    aside: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    # The piece in which this is called ends unseen: it is over when its thread begins another.
    begun: dict[int, tuple[int, Any]] = {}
    if events._get_running_loop() is not None and (task := asyncio.current_task()):  # type: ignore[union-attr]
        begun[threading.get_ident()] = mark(), task
    run_handle = events.Handle._run

    def put_aside(since: int, task: Any) -> None:
        if ranges := suspend(since):
            aside[task] = ranges

    def run(handle: Any) -> None:
        if begun and (unseen := begun.pop(threading.get_ident(), None)):
            put_aside(*unseen)
        task = getattr(handle._callback, "__self__", None)
        if not hasattr(task, "get_coro"):
            run_handle(handle)
            return
        since = mark()
        if aside and (ranges := aside.pop(task, 0)):
            resume(ranges)
        try:
            run_handle(handle)
        finally:
            put_aside(since, task)

    events.Handle._run = run
    return True
