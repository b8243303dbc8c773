"""The join of samples to the work that ran under them, in one pass over both.

The native part is ``native/attribution``; ``docs/design/pm-join.md`` says what is computed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import EtlError
from cupti_etl.native.loader import load
from cupti_etl.pm.attribution import feed
from cupti_etl.storage.sources import quoted

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

READS = ("_activity_run", "_activity_group", "pm_alignment", "_pm_column", "pm_sample")
_LEAST_COVERAGE = 0.5
# What stands for "no correlation id" on the way through the native part.
_NONE = -(2**63)
_SAME = " AND ".join(
    f"runs.{name} IS NOT DISTINCT FROM groups.{name}"
    for name in ("name", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
)
_Take = Callable[["pa.Table"], None]


class _Join:
    """One pass.

    Args:
        con: where the tables are.
        is_ordered: sort the samples first, instead of taking them as they are stored.
        take: gets the runs that are done, if they are wanted at all.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, *, is_ordered: bool, take: _Take | None
    ) -> None:
        self._ffi, self._lib = load()
        self._con = con
        self._take = take
        self._order = " ORDER BY start_ns" if is_ordered else ""
        self.metrics = feed.metrics(con)
        rows = con.sql(
            "SELECT device_uuid, lag_ns, interval_ns FROM pm_alignment ORDER BY device_uuid"
        ).fetchall()
        self.devices = [uuid for uuid, _, _ in rows]
        lengths = self._by_device(
            "SELECT device_uuid, list(total_ns / runs ORDER BY activity_group) FROM _activity_group"
        )
        self._groups = {uuid: len(each) for uuid, each in lengths.items()}
        if not self.devices:
            return
        values = feed.sample_values(self.metrics)
        known = ", ".join(f"count(*) FILTER (NOT isnan({value})) > 0" for value in values)
        there = self._by_device(
            f"SELECT device_uuid, (count(*), [{known}]) FROM pm_sample WHERE end_ns > start_ns"
        )
        counts, flags = zip(*(there[uuid] for uuid in self.devices), strict=True)
        new = self._ffi.new
        asked = new("struct etl_overlap_options *")
        kept = (
            new("int64_t[]", [self._groups.get(uuid, 0) for uuid in self.devices]),
            new("int64_t[]", list(counts)),
            new("int64_t[]", [lag for _, lag, _ in rows]),
            new("double[]", [interval for _, _, interval in rows]),
            new("double[]", [ns for uuid in self.devices for ns in lengths.get(uuid, [])] or [0]),
            new("uint8_t[]", [int(metric.is_sum) for metric in self.metrics] or [0]),
            new("uint8_t[]", [int(metric.is_union) for metric in self.metrics] or [0]),
            new("uint8_t[]", [each for device in flags for each in device] or [0]),
        )
        asked.groups, asked.samples, asked.lag_ns, asked.interval_ns = kept[:4]
        asked.mean_ns, asked.is_sum, asked.is_union, asked.is_known = kept[4:]
        asked.devices, asked.metrics = len(self.devices), len(self.metrics)
        asked.is_rows_wanted = take is not None
        asked.least_coverage = _LEAST_COVERAGE
        handle = self._lib.etl_overlap_new(asked)
        if handle == self._ffi.NULL:
            raise EtlError("no memory for the join of samples", "open a shorter trace")
        self._handle = self._ffi.gc(handle, self._lib.etl_overlap_free)

    def _by_device(self, select: str) -> dict[str, Any]:
        return dict(self._con.sql(f"{select} GROUP BY device_uuid").fetchall())

    def run(self) -> bool:
        """Do it; False if the samples are not in order.

        Raises:
            EtlError: there is not enough memory.
        """
        lib, number = self._lib, feed.number_of(self.devices)
        more_runs = feed.batches(
            self._con,
            f"SELECT {number.replace('device_uuid', 'runs.device_uuid')},"
            " groups.activity_group, start_ns, end_ns, process_id,"
            f" coalesce(correlation_id, {_NONE}) FROM _activity_run AS runs"
            " JOIN _activity_group AS groups ON groups.device_uuid = runs.device_uuid"
            f" AND groups.kind = runs.kind AND {_SAME}"
            f" WHERE runs.{feed.among(self.devices)} ORDER BY start_ns",
        )
        values = "".join(f", {value}" for value in feed.sample_values(self.metrics))
        more_samples = feed.batches(
            self._con,
            # A condition with IN would lose the order in which they are stored.
            f"SELECT {number}, start_ns, end_ns{values} FROM pm_sample"
            f" WHERE end_ns > start_ns AND device_uuid IS NOT NULL{self._order}",
        )
        # What was given last must stay.
        runs = samples = feed.Columns(None)
        while (result := lib.etl_overlap_step(self._handle)) != lib.ETL_OVERLAP_END:
            if result == lib.ETL_OVERLAP_RUNS:
                runs = feed.Columns(next(more_runs, None))
                lib.etl_overlap_give_runs(self._handle, feed.runs(self._ffi, runs))
            elif result == lib.ETL_OVERLAP_SAMPLES:
                samples = feed.Columns(next(more_samples, None))
                given = feed.samples(self._ffi, samples)
                lib.etl_overlap_give_samples(self._handle, given)
            elif result == lib.ETL_OVERLAP_ROWS:
                self._hand_on()
            elif result == lib.ETL_OVERLAP_UNSORTED:
                return False
            else:
                raise EtlError(f"the join of samples failed: {os.strerror(-result)}")
        self._hand_on()
        return True

    def _hand_on(self) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._take is None:
            return
        out = self._ffi.new("struct etl_overlap_rows *")
        self._lib.etl_overlap_take(self._handle, out)
        columns = [_copy(self._ffi, out.columns[i], out.rows, pa.int64()) for i in range(9)]
        values = _copy(self._ffi, out.values, out.rows * len(self.metrics), pa.float64())
        values = pc.if_else(pc.is_nan(values), None, values)
        columns.append(pa.FixedSizeListArray.from_arrays(values, len(self.metrics)))
        names = ["device", "grp", "start_ns", "end_ns", "process_id", "correlation_id"]
        names += ["samples", "covered_ns", "alone_ns", "sampled"]
        self._take(pa.Table.from_arrays(columns, names))

    def totals(self, at: int) -> pa.Table:
        """One row a group of device ``at``, idle time first; values are lists, by metric."""
        import pyarrow as pa

        ffi, lib = self._ffi, self._lib
        groups, n = self._groups.get(self.devices[at], 0) + 1, len(self.metrics)
        counts, count_array = feed.array(ffi, "int64_t", groups * lib.ETL_OVERLAP_COUNTS)
        fits, fit_array = feed.array(ffi, "double", groups * lib.ETL_OVERLAP_FITS)
        planes, plane_array = feed.array(ffi, "double", groups * n * lib.ETL_OVERLAP_PLANES)
        failed = lib.etl_overlap_totals(self._handle, at, counts, fits, planes)
        if failed:
            raise EtlError(f"the fit to samples failed: {os.strerror(-failed)}")
        columns: dict[str, Any] = {"grp": pa.array(range(groups))}
        names = ("runs", "samples", "duration_ns", "covered_ns", "alone_ns", "held_samples")
        for i, name in enumerate(names):
            columns[name] = count_array.slice(i * groups, groups)
        for i, name in enumerate(_FITS):
            columns[name] = fit_array.slice(i * groups, groups)
        for i, name in enumerate(_PLANES):
            plane = plane_array.slice(i * groups * n, groups * n)
            columns[name] = pa.FixedSizeListArray.from_arrays(plane, n)
        return pa.table(columns)


_FITS = (
    *(
        f"{fit}_{what}"
        for fit in ("alone", "additive")
        for what in ("weight", "inflation", "blocks")
    ),
    "unknown",
)
_PLANES = (
    "weight_ns", "value_ns", "known_runs", "known_mean", "known_squares", "held_mean",
    "held_squares", "alone_level", "alone_variance", "additive_level", "additive_variance",
    "shared_level", "shared_variance", "spread",
)  # fmt: skip
# Columns of _activity_metric behind its counts: name, and what it is made from.
_ANSWERS = {
    "known_runs": "known_runs",
    "known_mean": "CASE WHEN known_runs > 0 THEN known_mean END",
    "known_stddev": "CASE WHEN known_runs > 1 THEN sqrt(known_squares / (known_runs - 1)) END",
    "mean": "value_ns / nullif(weight_ns, 0)",
    "held_samples": "held_samples",
    "held_mean": "CASE WHEN held_samples > 0 THEN held_mean END",
    "held_stddev": "CASE WHEN held_samples > 1 THEN sqrt(held_squares / (held_samples - 1)) END",
    **{
        f"{fit}_{what}": sql.format(fit)
        for fit in ("alone", "additive")
        for what, sql in {
            "level": "nullif({0}_level, 'nan')",
            "stderr": "CASE WHEN {0}_blocks >= 3 THEN nullif(sqrt({0}_variance), 'nan') END",
            "weight": "{0}_weight",
            "inflation": "{0}_inflation",
            "blocks": "{0}_blocks",
        }.items()
    },
    "shared_level": "nullif(shared_level, 'nan')",
    "shared_stderr": "CASE WHEN additive_blocks >= 3 THEN nullif(sqrt(shared_variance), 'nan') END",
    "shared_spread": "CASE WHEN NOT isnan(shared_level) THEN spread END",
    "unknown_pct": "100 * unknown",
}
_COUNTED = ("known_runs", "held_samples")


def _copy(ffi: Any, pointer: Any, count: int, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    data = ffi.buffer(pointer, 8 * count)[:] if count else b""
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])


def _joined(con: duckdb.DuckDBPyConnection, begin: Callable[[], _Take | None]) -> _Join | None:
    """A join that is done; None where there is nothing to join."""
    for is_ordered in (False, True):
        join = _Join(con, is_ordered=is_ordered, take=begin())
        if not join.devices or not join.metrics:
            return None
        if join.run():
            return join
    # Sorted samples are in order, but for times with which no lag can be reckoned.
    return None


def make_sampled(con: duckdb.DuckDBPyConnection, into: str) -> None:
    """The rows of _activity_sampled, as the table ``into``.

    Raises:
        NativeError: this installation has no native part.
        EtlError: there is not enough memory.
    """

    def begin() -> _Take:
        con.execute(
            f"CREATE OR REPLACE TABLE {into} (device_uuid VARCHAR, activity_group BIGINT,"
            " process_id BIGINT, correlation_id BIGINT, start_ns BIGINT, end_ns BIGINT,"
            " samples BIGINT, covered_ns BIGINT, alone_ns BIGINT, sampled DOUBLE[])"
        )
        return take

    def take(rows: pa.Table) -> None:
        con.register("_rows", rows)
        con.execute(
            f"INSERT INTO {into} SELECT uuids[device + 1], grp, process_id,"
            f" nullif(correlation_id, {_NONE}), start_ns, end_ns, samples, covered_ns, alone_ns,"
            f" sampled FROM _rows, (SELECT {_list(con)} AS uuids)"
        )
        con.unregister("_rows")

    load()
    _joined(con, begin)


def _list(con: duckdb.DuckDBPyConnection) -> str:
    rows = con.sql("SELECT device_uuid FROM pm_alignment ORDER BY device_uuid").fetchall()
    return f"[{', '.join(quoted(uuid) for (uuid,) in rows)}]"


def make_metric(con: duckdb.DuckDBPyConnection, into: str) -> None:
    """The rows of _activity_metric, as the table ``into``.

    Raises:
        NativeError: this installation has no native part.
        EtlError: there is not enough memory.
    """
    load()
    join = _joined(con, lambda: None)
    con.execute(
        f"CREATE OR REPLACE TABLE {into} (device_uuid VARCHAR, activity_group BIGINT,"
        " metric VARCHAR, runs BIGINT, samples BIGINT, duration_ns BIGINT, covered_ns BIGINT,"
        " alone_ns BIGINT, "
        + ", ".join(f"{n} {'BIGINT' if n in _COUNTED else 'DOUBLE'}" for n in _ANSWERS)
        + ")"
    )
    if join is None:
        return
    answers = ", ".join(f"{sql} AS {name}" for name, sql in _ANSWERS.items())
    unnested = ", ".join(f"unnest({name}::DOUBLE[]) AS {name}" for name in _PLANES)
    for at, uuid in enumerate(join.devices):
        con.register("_totals", join.totals(at))
        con.execute(
            f"INSERT INTO {into} BY NAME SELECT {quoted(uuid)} AS device_uuid,"
            " grp AS activity_group, _pm_column.metric, runs, samples, duration_ns, covered_ns,"
            f" alone_ns, {answers} FROM (SELECT * EXCLUDE ({', '.join(_PLANES)}), {unnested},"
            f" unnest(range(1, {len(join.metrics) + 1})) AS place FROM _totals WHERE runs > 0)"
            " JOIN _pm_column USING (place)"
        )
        con.unregister("_totals")
