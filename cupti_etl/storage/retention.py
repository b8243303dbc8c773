"""``--retain``: the oldest parts of a trace that grows are removed, and small ones merged.

Parts have the rows that arrived until they were finished, so what ended later than a part was
finished is in the parts after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cupti_etl.config import Retain
from cupti_etl.errors import UsageError
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage import disk
from cupti_etl.storage.compaction import PART_ROWS, merge
from cupti_etl.storage.flight_folder import held
from cupti_etl.storage.flights import MARK, is_flight_folder
from cupti_etl.storage.inspect import RESTATED
from cupti_etl.storage.manifest import Entry
from cupti_etl.storage.parts import Parts

AGE, SIZE = "age", "size"
# What the traces of a daemon are called, before the time of its start.
TRACES = "trace-"
# So many parts of a table are merged at a time: fewer are no burden to who reads.
_SMALL_PARTS = 32
# A merged part has this share of what is kept, at most.
_SHARE = 8
# Their only part is the state of the moment.
_STATES = (*RESTATED, "discarded", "flight_trigger")


@dataclass
class _Gone:
    rows: int = 0
    end_ns: int = 0


def remove_earlier(home: Path, retain: Retain) -> list[Path]:
    """Remove the traces in a folder, the oldest first, that go beyond what is kept.

    What is being written, and what is none of ours, stays.

    Raises:
        OSError: a trace cannot be removed.
    """
    found = sorted(home.glob(f"{TRACES}*"), key=lambda path: path.stat().st_mtime_ns)
    gone = [path for path in disk.beyond(found, retain) if _is_removable(path)]
    for path in gone:
        disk.remove(path)
    return gone


def _is_removable(path: Path) -> bool:
    from cupti_etl.storage.replace import check_replaceable

    try:
        if is_flight_folder(path):
            with held(path):
                return all(each.name.startswith(MARK) or each.is_dir() for each in path.iterdir())
        check_replaceable(path)
    except UsageError:
        return False
    return path.is_dir()


class Retention:
    """Chooses what goes; used by the thread that writes the trace, when nothing is being written.

    Args:
        retain: what is kept.
        now_ns: the time, ns of CLOCK_REALTIME.
    """

    def __init__(self, retain: Retain, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._retain = retain
        self._now_ns = now_ns
        self._finished_ns: dict[str, dict[str, int]] = {}
        self._gone: dict[tuple[str, str], _Gone] = {}

    def see(self, parts: Parts) -> None:
        """Take note of parts that are new."""
        now = self._now_ns()
        for table, named in parts.named.items():
            if table not in _STATES:
                known = self._finished_ns.setdefault(table, {})
                for name in named:
                    known.setdefault(name, now)

    def merge(self, parts: Parts) -> dict[str, int]:
        """Merge the small parts of tables that have many; how many parts these tables have then.

        Raises:
            OSError: they do not fit; then the old ones are still there.
        """
        groups = {}
        for table, known in self._finished_ns.items():
            named = parts.named[table]
            if sum(named[name].rows < PART_ROWS for name in known) < _SMALL_PARTS:
                continue
            each = list(self._groups(named, known))
            # Else the same again, with each part that comes.
            if len(each) <= len(known) // 2:
                groups[table] = each
        merge(parts, groups)
        for table, each in groups.items():
            before = self._finished_ns[table]
            names = sorted(parts.named[table])
            self._finished_ns[table] = {
                name: max(before[one] for one in group)
                for name, group in zip(names, each, strict=True)
            }
        return {table: len(each) for table, each in groups.items()}

    def _groups(self, named: dict[str, Entry], known: dict[str, int]) -> Iterator[list[str]]:
        """Parts that come one after the other, as many as make one that is not too large."""
        longest_ns = self._retain.age_ns // _SHARE or 1 << 63
        most_bytes = self._retain.most_bytes // _SHARE or 1 << 63
        group: list[str] = []
        rows = size = 0
        for name in sorted(known):
            rows, size = rows + named[name].rows, size + named[name].bytes
            is_too_large = rows > PART_ROWS * 5 // 4 or size > most_bytes
            if group and (is_too_large or known[name] - known[group[0]] > longest_ns):
                yield group
                group, rows, size = [], named[name].rows, named[name].bytes
            group.append(name)
        if group:
            yield group

    def choose(self, parts: Parts) -> dict[str, list[str]]:
        """The parts that are to go, which are counted as gone; the last of a table stays."""
        oldest = sorted(
            (finished_ns, table, name)
            for table, known in self._finished_ns.items()
            if not TABLES[table].is_lasting
            for name, finished_ns in known.items()
            if name != max(known)
        )
        bytes_left = sum(entry.bytes for named in parts.named.values() for entry in named.values())
        until_ns = self._now_ns() - self._retain.age_ns if self._retain.age_ns else 0
        chosen: dict[str, list[str]] = {}
        for finished_ns, table, name in oldest:
            entry = parts.named[table][name]
            if finished_ns < until_ns:
                reason = AGE
            elif self._retain.most_bytes and bytes_left > self._retain.most_bytes:
                reason = SIZE
            else:
                break
            bytes_left -= entry.bytes
            del self._finished_ns[table][name]
            chosen.setdefault(table, []).append(name)
            if entry.rows:
                gone = self._gone.setdefault((table, reason), _Gone())
                gone.rows += entry.rows
                gone.end_ns = finished_ns
        return chosen

    def discarded(self) -> list[dict[str, Any]]:
        """Rows of the table ``discarded`` as they are now."""
        hours = f"{self._retain.age_ns / 3600e9:g} h"
        why = {
            AGE: f"older than the {hours} that --retain keeps",
            SIZE: f"the trace had more than the {self._retain.most_bytes:,} bytes of --retain",
        }
        return [
            {
                "table_name": table,
                "reason": reason,
                "rows": gone.rows,
                "end_ns": gone.end_ns,
                "detail": why[reason],
            }
            for (table, reason), gone in sorted(self._gone.items())
        ]
