"""The part of a trace that is asked: a time range, steps, GPUs, ranks, processes, ranges.

A scope has two halves.  *Who* (GPUs, ranks, processes) is taken off the tables: all else is
computed as if the trace held nothing else.  *When* (times, steps, ranges) is chosen further up,
where a query says how (``scope`` in its header): what has a start is in the scope where it
starts, what lasts is cut at its edges, and what is looked up, such as the launch of a kernel, is
looked up in the whole trace.  So two adjacent scopes add up to the scope over both: of counts, of
busy and of idle time.  The host is ahead of its GPUs: what it did for a step is chosen by other
times than the work that it asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from cupti_etl.queries.intervals import LEAST, MOST, Intervals
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.sources import identifier, quoted

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from cupti_etl.queries.query import Query

# The database in which the whole trace is, which a DuckDB in memory calls so; a part has another.
WHOLE = "memory"
# Tables of the times that are asked, by process, by GPU and of all; and by process of its host.
_OF_PROCESS, _OF_GPU, _OF_ALL = "_scope_process", "_scope_gpu", "_scope_time"
_OF_HOST = "_scope_host"
# Columns that count rows of the whole trace.
_COUNTS = {"capture": ("row_counts",), "process": ("emitted", "stored")}


@dataclass(frozen=True)
class Window:
    """A stretch of time.

    Attributes:
        start_ns: when it begins; None for before everything.
        end_ns: when it is over; None for after everything.
        process_id: the process whose time is meant; None for all of them.
        of_host: when its host did what this is about, if that was at other times.
    """

    start_ns: int | None
    end_ns: int | None
    process_id: int | None = None
    of_host: Window | None = None

    @property
    def is_some(self) -> bool:
        """Whether there is any time in it."""
        return self.end_ns is None or self.row[1] < self.end_ns

    @property
    def row(self) -> tuple[int | None, int, int]:
        """The process, and the times as numbers."""
        return (
            self.process_id,
            LEAST if self.start_ns is None else self.start_ns,
            MOST if self.end_ns is None else self.end_ns,
        )


@dataclass(frozen=True)
class Gpu:
    """A GPU as a process sees it, a row of the query ``gpu``."""

    gpu: int
    process_id: int
    device_id: int
    device_uuid: str | None
    device_name: str | None
    host: str | None


@dataclass(frozen=True)
class Choice:
    """What of a trace is asked, in its own terms.

    Attributes:
        says: the scope in words, for those who read an answer.
        options: the same as options of a command, each with a blank before it.
        processes: those that are asked; None for all.
        gpus: those that are asked, with the numbers that they have in the whole trace.
        some_gpus: whether these are not all GPUs of the processes.
        windows: times that do not overlap, of the same process; none for all of the time.
        given: rows of tables and queries that are not looked up here, by name.
    """

    says: str
    options: str = ""
    processes: tuple[int, ...] | None = None
    gpus: tuple[Gpu, ...] = ()
    some_gpus: bool = False
    windows: tuple[Window, ...] = ()
    given: Mapping[str, pa.Table] = field(default_factory=dict, hash=False, compare=False)

    @property
    def is_of_some(self) -> bool:
        """Whether only some processes or GPUs are asked."""
        return self.processes is not None or self.some_gpus

    def who(self, table: str) -> str:
        """The condition on rows of a table, by who they are of; "" for all rows."""
        columns = {column.name for column in TABLES[table].columns} if table in TABLES else set()
        words = []
        if self.processes is not None and "process_id" in columns:
            known = f"process_id IN ({_list(map(str, self.processes))})"
            # What is of no process, as a loss of samples, is of all; but not the rows of them all.
            words.append(known if table == "row_count" else f"({known} OR process_id IS NULL)")
        if self.some_gpus and {"process_id", "device_id"} <= columns:
            pairs = _list(f"({each.process_id}, {each.device_id})" for each in self.gpus)
            words.append(f"((process_id, device_id) IN ({pairs}) OR device_id IS NULL)")
        elif self.some_gpus and "device_uuid" in columns:
            uuids = _list(quoted(each.device_uuid) for each in self.gpus if each.device_uuid)
            words.append(f"(device_uuid IN ({uuids}) OR device_uuid IS NULL)")
        return " AND ".join(words)

    def without_counts(self, table: str, select: str) -> str:
        """A SELECT of a table that does not count rows of processes that are not asked."""
        if table != "capture" or self.processes is None:
            return select
        # That they were counted is still known.
        return f"SELECT * REPLACE (least(row_counts, 0) AS row_counts) FROM (\n{select}\n)"

    def known(self, query: Query) -> str:
        """A SELECT of what is known beforehand of some processes or GPUs; "" if nothing is."""
        if query.name == "gpu" and self.is_of_some:
            return self.gpu_rows()
        # Ranks that nobody asked for are not missing.
        return query.no_rows if query.name == "_rank_missing" and self.processes else ""

    def gpu_rows(self) -> str:
        """A SELECT of the rows of the query ``gpu``, which numbers those of the whole trace."""
        values = [
            f"({each.gpu}::BIGINT, {each.process_id}::BIGINT, {each.device_id}::INTEGER,"
            f" {_text(each.device_uuid)}, {_text(each.device_name)}, {_text(each.host)})"
            for each in self.gpus
        ]
        rows = ", ".join(values) or "(NULL::BIGINT, NULL::BIGINT, NULL::INTEGER, '', '', '')"
        return (
            f"SELECT * FROM (VALUES {rows}) AS"
            " gpu(gpu, process_id, device_id, device_uuid, device_name, host)"
            f" WHERE {str(bool(values)).lower()}"
        )

    def begin(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make what the views over the whole trace read, in the current database."""
        for intervals in self._intervals.values():
            intervals.make(con)

    @cached_property
    def _intervals(self) -> Mapping[str, Intervals]:
        """The windows by what they are of; none if one condition for all rows will do."""
        if self._at_once() is not None:
            return {}
        rows = [each.row for each in self.windows if each.is_some]
        hosts = [each.of_host or each for each in self.windows]
        gpus = [
            (gpu.gpu, *window[1:])
            for gpu in self.gpus
            for window in rows
            if window[0] in (None, gpu.process_id)
        ]
        times = [(None, *row[1:]) for row in rows]
        of_hosts = [each.row for each in hosts if each.is_some]
        tables = ((_OF_PROCESS, rows), (_OF_HOST, of_hosts), (_OF_GPU, gpus), (_OF_ALL, times))
        return {name: Intervals(name, of) for name, of in tables}

    def table(self, table: str) -> str:
        """A SELECT of what is chosen of a table."""
        if table == "row_count":
            return f"SELECT * FROM {WHOLE}.main.row_count WHERE false"
        if table in _COUNTS:
            unknown = ", ".join(f"NULL AS {name}" for name in _COUNTS[table])
            return f"SELECT * REPLACE ({unknown}) FROM {WHOLE}.main.{table}"
        spec = TABLES.get(table)
        columns = {column.name for column in spec.columns} if spec else set()
        by = (spec.chosen_by,) if spec and spec.chosen_by else ()
        is_of_host = spec is not None and spec.is_of_host
        return self._rows(f"{WHOLE}.main.{identifier(table)}", by, columns, is_of_host)

    def query(self, query: Query) -> str:
        """A SELECT of what is chosen of a query that is computed over the whole trace."""
        columns = {column.name for column in query.columns}
        relation = f"{WHOLE}.main.{query.name}"
        is_ordered = "\nORDER BY " in query.sql.rsplit(")\n", 1)[-1]
        if not is_ordered or not query.chosen_by or self._at_once():
            return self._rows(relation, query.chosen_by, columns, query.is_of_host)
        # A join with the times would lose the order.
        placed = f"(SELECT *, row_number() OVER () AS _place FROM {relation})"
        chosen = self._rows(placed, query.chosen_by, columns, query.is_of_host)
        return f"SELECT * EXCLUDE (_place) FROM (\n{chosen}\n) ORDER BY _place"

    def whether_cut(self, work: str) -> str:
        """A SELECT of rows about work of the whole trace that has to do with the times.

        It has one more column, ``is_cut``: whether some of the work is not in them.

        Args:
            work: its process, in start_ns when the first of it began, in end_ns when the last
                was over.
        """
        window = self._at_once()
        if window is not None:
            low = LEAST if window.start_ns is None else window.start_ns
            high = MOST if window.end_ns is None else window.end_ns
            times = f"JOIN (SELECT {low} AS start_ns, {high} AS end_ns) AS times ON true"
        else:
            # Times of a process do not meet: the last that begins by then is the last of all.
            times = f"ASOF JOIN {_OF_PROCESS} AS times ON rows.process_id = times.key"
        # What ends with the times began in them, unless it took no time.
        return f"""
            SELECT rows.*, rows.start_ns < times.start_ns OR rows.end_ns > times.end_ns
                       OR (rows.end_ns = times.end_ns AND times.end_ns IN (
                           SELECT start_ns FROM {WHOLE}.main.gpu_activity WHERE end_ns <= start_ns
                       )) AS is_cut
            FROM {work} AS rows
            {times} AND times.start_ns <= rows.end_ns
            WHERE rows.start_ns < times.end_ns"""

    def _rows(self, relation: str, by: Sequence[str], columns: set[str], is_of_host: bool) -> str:
        if not by:
            return f"SELECT * FROM {relation}"
        window = self._at_once()
        if window is not None:
            where = _starts(window, *by) if len(by) == 1 else _overlaps(window, *by[:2])
            return f"SELECT {_cut(by, window)} FROM {relation} WHERE {where}"
        if is_of_host:
            times, key = _OF_HOST, "process_id"
        # Without a row of device, nobody knows which number is of which process.
        elif "gpu" in columns and self.gpus:
            times, key = _OF_GPU, "gpu"
        elif "process_id" in columns:
            times, key = _OF_PROCESS, "process_id"
        else:
            times, key = _OF_ALL, ""
        if len(by) == 1:
            return self._intervals[times].starting(relation, key, by[0])
        return self._intervals[times].overlapping(relation, key, by[0], by[1], cut_at_times(*by))

    def _at_once(self) -> Window | None:
        """The window, if one condition for all rows will do."""
        only = self.windows[0] if len(self.windows) == 1 else None
        return only if only and only.process_id is None else None


def reads_whole(query: Query) -> str:
    """The SQL of a query, in which what it looks up is that of the whole trace."""
    return reads_instead(query.sql, {name: f"FROM {WHOLE}.main.{name}" for name in query.lookup})


def reads_instead(sql: str, instead: Mapping[str, str]) -> str:
    """The SQL of a query, in which some names stand for other SELECTs."""
    if not instead:
        return sql
    others = ", ".join(f"{name} AS ({select})" for name, select in instead.items())
    for begin in ("WITH RECURSIVE ", "WITH "):
        if sql.startswith(begin):
            return f"{begin}{others},\n{sql.removeprefix(begin)}"
    return f"WITH {others}\n{sql}"


def _starts(window: Window, start: str) -> str:
    """Whether something starts in a window; what has no start is in the first of all windows."""
    words = [] if window.start_ns is None else [f"{start} >= {window.start_ns}"]
    if window.end_ns is not None:
        until = f"{start} < {window.end_ns}"
        words.append(until if words else f"({until} OR {start} IS NULL)")
    return " AND ".join(words) or "true"


def _overlaps(window: Window, start: str, end: str) -> str:
    """Whether something that lasts, perhaps to no known end, lies in a window."""
    words = []
    if window.start_ns is not None:
        words.append(f"(coalesce({end} > {window.start_ns}, true) OR {start} >= {window.start_ns})")
    if window.end_ns is not None:
        words.append(f"{start} < {window.end_ns}")
    return " AND ".join(words) or "true"


def _cut(by: Sequence[str], window: Window) -> str:
    """The columns, with the times cut at the edges of a window."""
    if len(by) == 1:
        return "*"
    low = LEAST + 1 if window.start_ns is None else window.start_ns
    high = MOST if window.end_ns is None else window.end_ns
    return f"* REPLACE ({_cut_times(by, by[0], by[1], str(low), str(high))})"


def cut_at_times(*by: str) -> str:
    """Columns of ``rows``, a begin, an end and the time between them, cut as ``times`` are."""
    return _cut_times(by, f"rows.{by[0]}", f"rows.{by[1]}", "times.start_ns", "times.end_ns")


def _cut_times(by: Sequence[str], start: str, end: str, low: str, high: str) -> str:
    # least() passes over NULL, and what has no known end shall have none here.
    begins = f"greatest({start}, {low})"
    ends = f"CASE WHEN {end} IS NOT NULL THEN least({end}, {high}) END"
    replaced = [f"{begins} AS {by[0]}", f"{ends} AS {by[1]}"]
    replaced += [f"{ends} - {begins} AS {name}" for name in by[2:]]
    return ", ".join(replaced)


def _list(words: Sequence[str] | Iterator[str] | map[str]) -> str:
    return ", ".join(words) or "NULL"


def _text(value: str | None) -> str:
    return "NULL::VARCHAR" if value is None else quoted(value)
