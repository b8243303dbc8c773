"""How late the PM samples of a GPU are against its activity records.

Both are nanoseconds of one clock, but read at different places.  Where work comes and goes, the
share of each sample in which it ran and what the counters say rise and fall together; the lag
is where their correlation is largest.  ``docs/design/pm-join.md`` has the details.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupti_etl.native.loader import load
from cupti_etl.pm.attribution import feed
from cupti_etl.storage.sources import quoted

if TYPE_CHECKING:
    import duckdb

READS = ("_activity_run", "_pm_column", "pm_sample")
# So many samples from the first work on are looked at, and so many sorts of work.
_SAMPLES = 30_000
_SORTS = 4
_LEAST_SAMPLES = 200
_LEAST_CORRELATION = 0.3
# Lags that are tried, in lengths of a sample: first far and coarsely, then closely.
_FAR, _COARSE, _NEAR, _FINE = 20, 0.5, 1.5, 0.05
_BLOCKS = 16
_NEARBY = "_nearby"
# Peaks that differ by less are the same peak of a program that repeats itself.
_ALIKE = 0.99


@dataclass(frozen=True)
class _Peak:
    lag: float
    correlation: float
    metric: int
    is_inside: bool


class _Signals:
    """The samples of one device, against the intervals of one sort of work after the other."""

    def __init__(self, con: duckdb.DuckDBPyConnection, uuid: str, first: int | None) -> None:
        import pyarrow.compute as pc

        self._ffi, self._lib = load()
        self._con = con
        self._where = f"device_uuid = {quoted(uuid)}"
        self.metrics = [metric for metric in feed.metrics(con) if metric.is_there]
        values = "".join(f", {value}" for value in feed.sample_values(self.metrics))
        there = f"FROM pm_sample WHERE {self._where} AND end_ns > start_ns"
        near = "" if first is None else self._near(first, there)
        table = con.sql(
            f"SELECT 0::BIGINT, start_ns, end_ns{values} {there}{near}"
            f" ORDER BY start_ns LIMIT {_SAMPLES}"
        ).to_arrow_table()
        batch = next(iter(table.combine_chunks().to_batches()), None)
        self._columns = feed.Columns(batch)
        self._samples = feed.samples(self._ffi, self._columns)
        self.rows = 0 if first is None else self._columns.rows
        self.interval = 0.0
        if batch is not None and batch.num_rows:
            self.interval = pc.quantile(pc.subtract(batch.column(2), batch.column(1)))[0].as_py()
            # What the work that they can fall into is taken from, again and again.
            con.execute(
                f"CREATE OR REPLACE TEMP TABLE {_NEARBY} AS SELECT kind, name, start_ns, end_ns"
                f" FROM _activity_run WHERE {self._where}"
                f" AND start_ns <= {batch.column(2)[-1].as_py()}"
            )

    def _near(self, first: int, there: str) -> str:
        """The condition that a sample is among those that are looked at, or not far behind.

        Without an end to their time all samples of the trace would be read to find the first.
        """
        ((length,),) = self._con.sql(
            f"SELECT max(end_ns - start_ns) FROM (SELECT start_ns, end_ns {there} LIMIT 1000)"
        ).fetchall()
        after, until = first - length * _FAR, first + length * _SAMPLES * 2
        return f" AND start_ns > {after} AND start_ns < {until}"

    def sorts(self) -> list[tuple[str, str]]:
        """What work is looked at: a name for it, and the condition on _activity_run."""
        rows = self._con.sql(
            f"SELECT kind, name FROM {_NEARBY} GROUP BY kind, name"
            f" ORDER BY sum(end_ns - start_ns) DESC, kind, name LIMIT {_SORTS}"
        ).fetchall()
        found = [("any", "true")]
        for kind, name in rows:
            same = "name IS NULL" if name is None else f"name = {quoted(name)}"
            words = kind if name is None else f"{kind} {name}"
            found.append((words, f"kind = {quoted(kind)} AND {same}"))
        return found

    def intervals(self, condition: str) -> feed.Columns:
        """The union of the intervals of such work."""
        table = self._con.sql(
            "SELECT min(start_ns), max(end_ns) FROM (SELECT *, sum(is_new) OVER"
            " (ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING) AS number FROM ("
            "SELECT start_ns, end_ns, (start_ns > coalesce(max(end_ns) OVER (ORDER BY start_ns,"
            " end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), -1))::BIGINT AS is_new"
            f" FROM {_NEARBY} WHERE {condition}"
            ")) GROUP BY number ORDER BY 1"
        ).to_arrow_table()
        return feed.Columns(next(iter(table.combine_chunks().to_batches()), None))

    def curves(self, work: feed.Columns, lags: Sequence[float]) -> list[list[list[float]]]:
        """Sums as of ``etl_lag_sums``, by lag and block."""
        of_block = 3 + 3 * len(self.metrics)
        size = len(lags) * _BLOCKS * of_block
        out = self._ffi.new("double[]", size)
        failed = self._lib.etl_lag_sums(
            self._samples, len(self.metrics), work.integers(0), work.integers(1), work.rows,
            [round(lag) for lag in lags], len(lags), _BLOCKS, out,
        )  # fmt: skip
        assert failed == 0
        flat = self._ffi.unpack(out, size)
        blocks = [flat[at : at + of_block] for at in range(0, size, of_block)]
        return [blocks[at : at + _BLOCKS] for at in range(0, len(blocks), _BLOCKS)]


def _correlation(sums: Sequence[float], metric: int) -> float:
    n, x, xx = sums[:3]
    y, yy, xy = sums[3 + 3 * metric : 6 + 3 * metric]
    both = (n * xx - x * x) * (n * yy - y * y)
    # Not where a signal does not change, but for rounding.
    if not both > 1e-12 * (n * xx) * (n * yy):
        return math.nan
    return (n * xy - x * y) / math.sqrt(both)


def _whole(blocks: Sequence[Sequence[float]]) -> list[float]:
    return [sum(each) for each in zip(*blocks, strict=True)]


def _without(whole: Sequence[float], block: Sequence[float]) -> list[float]:
    return [all_ - one for all_, one in zip(whole, block, strict=True)]


def _peak(
    lags: Sequence[float], sums: Sequence[Sequence[float]], metrics: Sequence[int]
) -> _Peak | None:
    """The largest correlation; of peaks alike the one nearest to 0, between its neighbours."""
    points = [
        (correlation, at, metric)
        for metric in metrics
        for at in range(len(lags))
        if (correlation := _correlation(sums[at], metric)) > 0
    ]
    if not points:
        return None
    most, _, metric = max(points)
    curve = [_correlation(each, metric) for each in sums]
    tops = [
        at
        for at, value in enumerate(curve)
        if value >= _ALIKE * most and value == max(curve[max(at - 1, 0) : at + 2])
    ]
    at = min(tops, key=lambda top: abs(lags[top]))
    if not 0 < at < len(lags) - 1:
        return _Peak(lags[at], most, metric, is_inside=False)
    before, top, after = curve[at - 1 : at + 2]
    bend = before - 2 * top + after
    shift = 0.5 * (before - after) / bend if bend < 0 else 0.0
    lag = lags[at] + max(-1.0, min(1.0, shift)) * (lags[at + 1] - lags[at])
    return _Peak(lag, top, metric, is_inside=True)


def _grid(middle: float, reach: float, step: float) -> list[float]:
    count = round(reach / step)
    return [middle + at * step for at in range(-count, count + 1)]


def _estimate(signals: _Signals) -> tuple[Any, ...]:
    """``lag, error, correlation, metric, work, detail``."""
    if signals.rows < _LEAST_SAMPLES:
        return _none(f"{signals.rows} samples since the first work are too few")
    interval = signals.interval
    peaks: list[tuple[_Peak, str, feed.Columns]] = []
    far = _grid(0, _FAR * interval, _COARSE * interval)
    for words, condition in signals.sorts():
        work = signals.intervals(condition)
        sums = [_whole(blocks) for blocks in signals.curves(work, far)]
        if found := _peak(far, sums, range(len(signals.metrics))):
            peaks.append((found, words, work))
    if not peaks:
        return _none("no metric rises with any work: neither changes")
    peaks.sort(key=lambda each: -each[0].correlation)
    if peaks[0][0].correlation < _LEAST_CORRELATION:
        return _none(f"the best correlation with any work is {peaks[0][0].correlation:.2f}")
    # The best may be of work that was there once: what goes nearly as well is taken then.
    estimates = (
        _closely(signals, *each) for each in peaks if each[0].correlation >= _LEAST_CORRELATION
    )
    first = next(estimates)
    return first if first[-1] is None else next((e for e in estimates if e[-1] is None), first)


def _closely(signals: _Signals, far: _Peak, words: str, work: feed.Columns) -> tuple[Any, ...]:
    """The estimate from one sort of work, around its best lag."""
    interval, metric = signals.interval, far.metric
    near = _grid(far.lag, _NEAR * interval, _FINE * interval)
    curves = signals.curves(work, near)
    sums = [_whole(blocks) for blocks in curves]
    peak = _peak(near, sums, [metric])
    if peak is None or not far.is_inside or not peak.is_inside:
        return _none("the correlation has no peak among the lags that were tried")
    others = [
        _peak(near, [_without(*each) for each in zip(sums, one, strict=True)], [metric])
        for one in zip(*curves, strict=True)
    ]
    if any(other is None for other in others):
        return _none("the signals change in one stretch of the trace alone")
    lags = [other.lag for other in others if other is not None]
    mean = sum(lags) / _BLOCKS
    error = math.sqrt((_BLOCKS - 1) / _BLOCKS * sum((lag - mean) ** 2 for lag in lags))
    if error > interval:
        return _none(f"stretches of the trace differ: the error would be {error:.0f} ns")
    return (round(peak.lag), error, peak.correlation, signals.metrics[metric].name, words, None)


def _none(detail: str) -> tuple[Any, ...]:
    return (0, None, None, None, None, f"{detail}; joined as if there were no lag")


def make(con: duckdb.DuckDBPyConnection, into: str) -> None:
    """The rows of pm_alignment, as the table ``into``.

    Raises:
        NativeError: this installation has no native part.
    """
    load()
    con.execute(
        f"CREATE OR REPLACE TABLE {into} (device_uuid VARCHAR, lag_ns BIGINT, stderr_ns DOUBLE,"
        " correlation DOUBLE, metric VARCHAR, work VARCHAR, samples BIGINT, interval_ns DOUBLE,"
        " detail VARCHAR)"
    )
    devices = con.sql(
        "SELECT device_uuid, count(*) FROM pm_sample"
        " WHERE end_ns > start_ns AND device_uuid IS NOT NULL"
        " AND (SELECT count(*) FROM _pm_column) > 0 GROUP BY device_uuid ORDER BY device_uuid"
    ).fetchall()
    first = dict(
        con.sql("SELECT device_uuid, min(start_ns) FROM _activity_run GROUP BY ALL").fetchall()
        if devices
        else []
    )
    for uuid, count in devices:
        signals = _Signals(con, uuid, first.get(uuid))
        lag, error, correlation, metric, work, detail = _estimate(signals)
        con.execute(
            f"INSERT INTO {into} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [uuid, lag, error, correlation, metric, work, count, signals.interval, detail],
        )
    con.execute(f"DROP TABLE IF EXISTS {_NEARBY}")
