"""Intervals of time, and the rows that begin or lie in them.

To compare each row with each interval takes a time that is the product of both; of many intervals,
such as those of a range that every layer of every step is in, those near a row are looked up by
equality: time is divided into buckets in which there is about one, and rows that are longer than
some of these look among larger ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

# The interval that has no first or no last moment.
LEAST, MOST = -(2**63), 2**63 - 1
# So many intervals of one key are compared with each of its rows, which takes no longer.
_FEW = 8
# A row is looked up in so many buckets at most, and one more.
_BUCKETS = 8

Row = tuple[int | None, int, int]


class Intervals:
    """Intervals of time of each key, as tables of a database.

    Args:
        table: what the table is called.
        rows: key, begin and end of each; those of a key that overlap are one.
    """

    def __init__(self, table: str, rows: Sequence[Row]) -> None:
        self.table = table
        self.rows = list(_united(rows))
        edges = [edge for row in self.rows for edge in row[1:] if edge not in (LEAST, MOST)]
        self._first, self._last = min(edges, default=0), max(edges, default=0)
        # How wide the buckets are, the smallest first; none where there are few intervals.
        self._widths = self._bucket_widths()

    def make(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the tables that the SELECTs read, in the current database."""
        import pyarrow as pa

        columns = zip(*self.rows, strict=True) if self.rows else ([], [], [])
        names = ("key", "start_ns", "end_ns")
        arrays = [pa.array(column, pa.int64()) for column in columns]
        # One row after another, thousands would take seconds.
        con.register("_rows", pa.table(arrays, names=names))
        con.execute(f"CREATE OR REPLACE TABLE {self.table} AS FROM _rows")
        con.unregister("_rows")
        if self._widths:
            widths = ", ".join(f"({width}::BIGINT)" for width in self._widths)
            first, last = self._bucket("start_ns", "width"), self._bucket("end_ns - 1", "width")
            con.execute(
                f"CREATE OR REPLACE TABLE {self._near} AS"
                f" SELECT *, unnest(range({first}, {last} + 1)) AS bucket"
                f" FROM {self.table}, (VALUES {widths}) AS widths(width)"
            )

    def starting(self, relation: str, key: str, start: str) -> str:
        """A SELECT of the rows of a relation that start in an interval.

        Args:
            relation: the rows.
            key: their column with the key of an interval; "" for all of any key.
            start: the column that says when they start.
        """
        begins = f"rows.{start} >= times.start_ns AND rows.{start} < times.end_ns"
        if not self._widths:
            return self._joined(f"SELECT rows.* FROM {relation} AS rows", key, begins)
        width = self._widths[0]
        where = f"{begins} AND times.width = {width}"
        where += f" AND times.bucket = {self._bucket(f'rows.{start}', str(width))}"
        return self._joined(f"SELECT rows.* FROM {relation} AS rows", key, where)

    def overlapping(self, relation: str, key: str, start: str, end: str, cut: str) -> str:
        """A SELECT of the rows of a relation for each interval that they have time in.

        What takes no time is where it starts, and what has no end goes on forever.

        Args:
            relation: the rows.
            key: as in ``starting``.
            start: the column that says when they start.
            end: the column that says when they end.
            cut: columns to replace, with the interval as ``times``, as in SELECT * REPLACE.
        """
        begin, over = f"rows.{start}", f"rows.{end}"
        meets = (
            f"{begin} < times.end_ns"
            f" AND (coalesce({over} > times.start_ns, true) OR {begin} >= times.start_ns)"
        )
        if not self._widths:
            select = f"SELECT rows.* REPLACE ({cut}) FROM {relation} AS rows"
            return self._joined(select, key, meets)
        last = f"greatest(coalesce({end}, {self._last}), {start})"
        low, high = self._bucket(start, "_width"), self._bucket(last, "_width")
        # Most rows lie in one bucket, for which a range would take twice as long.
        buckets = f"CASE WHEN {low} = {high} THEN [{low}] ELSE range({low}, {high} + 1) END"
        # Of the buckets that a row and an interval share, where the later of them begins is one.
        shared = self._bucket(f"greatest({begin}, times.start_ns)", "times.width")
        return self._joined(
            f"SELECT rows.* EXCLUDE (_width, _bucket) REPLACE ({cut}) FROM ("
            f"SELECT *, {self._width(start, last)} AS _width, unnest({buckets}) AS _bucket"
            f" FROM {relation}) AS rows",
            key,
            f"times.width = rows._width AND times.bucket = rows._bucket AND {meets}"
            f" AND rows._bucket = {shared}",
        )

    def _joined(self, select: str, key: str, on: str) -> str:
        table = self._near if self._widths else self.table
        of_key = f"rows.{key} = times.key AND " if key else ""
        return f"{select} JOIN {table} AS times ON {of_key}{on}"

    @property
    def _near(self) -> str:
        return f"{self.table}_near"

    def _bucket(self, time: str, width: str) -> str:
        """The bucket of a time; beyond the last edge that is known, that of the edge."""
        return f"least(greatest({time}, {self._first}), {self._last}) // {width}"

    def _width(self, start: str, end: str) -> str:
        """How wide the buckets are that a row is looked up in."""
        *smaller, largest = self._widths
        cases = [f"WHEN {end} - {start} < {_BUCKETS * width} THEN {width}" for width in smaller]
        return f"CASE {' '.join(cases)} ELSE {largest} END::BIGINT" if cases else f"{largest}"

    def _bucket_widths(self) -> Sequence[int]:
        groups = [list(rows) for _, rows in groupby(self.rows, lambda row: row[0])]
        if max(map(len, groups), default=0) <= _FEW:
            return ()
        apart = median(
            later[1] - max(row[1], self._first) for rows in groups for row, later in pairwise(rows)
        )
        within = sum(min(row[2], self._last) - max(row[1], self._first) for row in self.rows)
        # No more buckets than eight for each, how unlike one another they may be.
        widths = [max(2 * int(apart), within // (_BUCKETS * len(self.rows)), 1)]
        while _BUCKETS * widths[-1] < self._last - self._first:
            widths.append(_BUCKETS * widths[-1])
        return widths


def _united(rows: Sequence[Row]) -> Iterator[Row]:
    last: Row | None = None
    for key, start, end in sorted(rows, key=lambda row: (row[0] is None, row)):
        if last and last[0] == key and start <= last[2]:
            last = (key, last[1], max(last[2], end))
            continue
        if last:
            yield last
        last = (key, start, end)
    if last:
        yield last
