"""Of processes and losses, what belongs to the time that a flight recorder keeps."""

from __future__ import annotations

from collections import deque
from typing import Any

_Rows = list[dict[str, Any]]
_Known = dict[tuple[Any, ...], int]


def _key(loss: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(loss.get(name) for name in ("process_id", "cause", "table_name", "device_uuid"))


class Recent:
    """How many records had been lost at each time."""

    def __init__(self) -> None:
        self._known: deque[tuple[int, _Known]] = deque()

    def note(self, losses: _Rows, now_ns: int, dropped_ns: int) -> None:
        """Take note of the losses so far; what was known before ``dropped_ns`` is one."""
        counts = {_key(row): row["records"] for row in losses if row["records"] is not None}
        if counts != (self._known[-1][1] if self._known else {}):
            self._known.append((now_ns, counts))
        while len(self._known) > 1 and self._known[1][0] <= dropped_ns:
            self._known.popleft()

    def before(self, dropped_ns: int) -> _Known:
        """What had been lost until then, by process, cause, table and GPU."""
        known: _Known = {}
        for at, counts in self._known:
            if at <= dropped_ns:
                known = counts
        return known


def tables_since(tables: dict[str, _Rows], since_ns: int, before: _Known) -> dict[str, _Rows]:
    """The tables ``process`` and ``loss`` without what was over before.

    Args:
        tables: as they are for the whole run.
        since_ns: ns of CLOCK_REALTIME.
        before: what had been lost by then.
    """
    processes = [r for r in tables["process"] if r["end_ns"] is None or r["end_ns"] >= since_ns]
    gone = {row["process_id"] for row in tables["process"]} - {r["process_id"] for r in processes}
    losses = []
    for row in tables["loss"]:
        if row["process_id"] in gone:
            continue
        records = row["records"]
        left = None if records is None else records - before.get(_key(row), 0)
        if left or records is None or records == 0:
            losses.append({**row, "records": left})
    return {**tables, "process": processes, "loss": losses}
