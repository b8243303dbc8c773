"""Sums over a trace that grows, to which each part adds once.

The queries that sum are those of the library; they are asked of the parts that are new, and what
they say is added to what earlier parts gave.  So a reading costs what came since the last one,
however much came before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cupti_etl.queries.catalog import library
from cupti_etl.queries.scope import reads_instead

# Runs SQL; rows are read at once.
Run = Callable[[str], Sequence[dict[str, Any]]]

# The query of each, what tells its rows apart, and how those of several parts are one.
_SETS = {
    "work": (
        "_work_sum",
        "process_id, device_id, kind, name",
        "any_value(gpu) AS gpu, sum(calls)::BIGINT AS calls,"
        " TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,"
        " TRY_CAST(sum(bytes) AS BIGINT) AS bytes, min(first_ns) AS first_ns,"
        " max(last_ns) AS last_ns",
    ),
    "call": (
        "_call_sum",
        "domain, name",
        "sum(calls)::BIGINT AS calls, TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,"
        " sum(errors)::BIGINT AS errors, sum(launches)::BIGINT AS launches",
    ),
}
# Kinds of memory that lie on a GPU, or may.
_ON_GPU = ("device", "array", "managed", "device_static", "managed_static")


class RunningSums:
    """Sums of the work, calls and memory of a trace.

    Args:
        run: asks the parts that are new; the sums are tables in the same database.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        for name, (query, *_) in _SETS.items():
            for when in ("total", "now"):
                run(f"CREATE OR REPLACE TABLE _{when}_{name} AS FROM {query}() LIMIT 0")
        run("CREATE OR REPLACE TABLE _kept_memory AS FROM memory LIMIT 0")
        self._held: Sequence[dict[str, Any]] = ()
        # By GPU: how long it was busy, and until when that is summed.
        self.busy: dict[int, int] = {}
        self.busy_until_ns: int | None = None
        run(
            "CREATE OR REPLACE TABLE _interval AS"
            " SELECT gpu, start_ns, end_ns FROM gpu_interval LIMIT 0"
        )
        union = reads_instead(library()["_busy_between"].sql, {"gpu_interval": "FROM _interval"})
        run(f"CREATE OR REPLACE MACRO _busy_kept(from_ns, to_ns) AS TABLE\n{union}")

    def add(self) -> None:
        """Add what is new.  It is "now", too, until somebody says otherwise.

        Raises:
            TraceError: a part is damaged, or has vanished.
        """
        for name, (query, keys, sums) in _SETS.items():
            self._run(f"CREATE OR REPLACE TABLE _now_{name} AS FROM {query}()")
            self._run(
                f"CREATE OR REPLACE TABLE _total_{name} AS SELECT {keys}, {sums} FROM"
                f" (FROM _total_{name} UNION ALL BY NAME FROM _now_{name}) GROUP BY {keys}"
            )
        self._add_memory()

    def say_now(self, from_ns: int | None) -> None:
        """Take for "now" what ended after a time; None for nothing."""
        which = "() LIMIT 0" if from_ns is None else f"({from_ns})"
        for name, (query, *_) in _SETS.items():
            self._run(f"CREATE OR REPLACE TABLE _now_{name} AS FROM {query}{which}")

    def add_busy(self, until_ns: int, now_ns: int) -> Mapping[int, int]:
        """Sum how long GPUs were busy up to a time; what ended later is kept for the next sum.

        Args:
            until_ns: the time.
            now_ns: where "now" begins, if nothing was summed yet.

        Returns:
            By GPU, how long it was since the last sum.
        """
        since = self.busy_until_ns
        if since is None:
            self.add_all_busy(until_ns)
            found = self._run(f"FROM _busy_between({min(now_ns, until_ns)}, {until_ns})")
            fresh = "gpu_interval"
        else:
            self._run(
                "CREATE OR REPLACE TABLE _interval AS FROM _kept_interval"
                " UNION ALL SELECT gpu, start_ns, end_ns FROM gpu_interval"
            )
            found = self._run(f"FROM _busy_kept({since}, {until_ns})")
            for row in found:
                self.busy[row["gpu"]] = self.busy.get(row["gpu"], 0) + row["busy_ns"]
            fresh = "_interval"
        self._run(
            "CREATE OR REPLACE TABLE _kept_interval AS SELECT gpu, start_ns, end_ns"
            f" FROM {fresh} WHERE end_ns > {until_ns}"
        )
        self.busy_until_ns = until_ns
        return {row["gpu"]: row["busy_ns"] for row in found}

    def add_all_busy(self, until_ns: int | None = None) -> None:
        """Sum how long GPUs were busy in all that is asked, up to a time."""
        # However many rows there are: computed in C, in slices.
        end = "end_ns" if until_ns is None else f"least(end_ns, {until_ns})"
        where = "" if until_ns is None else f"AND start_ns < {until_ns}"
        rows = self._run(
            f"SELECT gpu, TRY_CAST(sum({end} - start_ns) AS BIGINT) AS busy_ns"
            f" FROM _busy_interval WHERE work = 'any' {where} GROUP BY gpu"
        )
        self.busy = {row["gpu"]: row["busy_ns"] for row in rows}
        self._run("DROP VIEW IF EXISTS _busy_interval")
        self._run("DROP TABLE IF EXISTS _derived__busy_interval")

    def _add_memory(self) -> None:
        """Memory is in use until it is released: what is not yet goes on with the next rows."""
        if not self._run("SELECT 1 AS n FROM memory LIMIT 1"):
            return
        self._run(
            "CREATE OR REPLACE TABLE _new_memory AS FROM _kept_memory UNION ALL BY NAME FROM memory"
        )
        self._run("CREATE OR REPLACE VIEW memory AS FROM _new_memory")
        self._held = self._run("SELECT * FROM _memory_held")
        self._run(
            "CREATE OR REPLACE TABLE _kept_memory AS SELECT rows.* FROM memory AS rows"
            " SEMI JOIN (SELECT process_id, address, start_ns FROM allocation WHERE end_ns IS NULL)"
            " AS open ON open.process_id = rows.process_id AND open.address = rows.address"
            " AND open.start_ns = rows.timestamp_ns"
            # What an allocator says of itself holds until it says something else.
            " UNION (SELECT * FROM memory WHERE pool_utilized_bytes IS NOT NULL"
            " AND pool_address IS NULL QUALIFY row_number() OVER ("
            "PARTITION BY process_id, device_id, memory_kind ORDER BY timestamp_ns DESC) = 1)"
        )

    def held(self) -> Sequence[dict[str, Any]]:
        """Memory in use by process and device, as far as it lies on GPUs."""
        return [row for row in self._held if row["memory_kind"] in _ON_GPU]

    def last_ns(self) -> int | None:
        """When the last work ended."""
        (row,) = self._run("SELECT max(last_ns) AS last_ns FROM _total_work")
        return None if row["last_ns"] is None else int(row["last_ns"])

    def devices(self) -> Sequence[dict[str, Any]]:
        """Work of each process on each device, all in all and now."""
        return self._run(
            """
            SELECT process_id, device_id, any_value(gpu) AS gpu, min(first_ns) AS first_ns,
                   max(last_ns) AS last_ns,
                   TRY_CAST(coalesce(sum(calls) FILTER (WHERE is_kernel), 0) AS BIGINT) AS kernels,
                   TRY_CAST(coalesce(sum(now_calls) FILTER (WHERE is_kernel), 0) AS BIGINT)
                       AS now_kernels
            FROM (
                SELECT process_id, device_id, gpu, kind IN ('kernel', 'graph') AS is_kernel,
                       first_ns, last_ns, calls, 0 AS now_calls
                FROM _total_work
                UNION ALL
                SELECT process_id, device_id, gpu, kind IN ('kernel', 'graph'), NULL, NULL, 0, calls
                FROM _now_work
            )
            GROUP BY process_id, device_id
            """
        )

    def kernels(self) -> Sequence[dict[str, Any]]:
        """Kernels by name, those with most time first: all in all and now."""
        return self._run(
            """
            WITH works AS (
                SELECT name, kind, calls, total_ns, 0 AS now_calls, 0 AS now_ns FROM _total_work
                UNION ALL
                SELECT name, kind, 0, 0, calls, total_ns FROM _now_work
            ),
            named AS (
                SELECT coalesce(names.short, works.name) AS name,
                       coalesce(names.demangled, works.name,
                                CASE kind WHEN 'graph' THEN 'CUDA graphs' END) AS demangled,
                       TRY_CAST(sum(calls) AS BIGINT) AS calls,
                       TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,
                       TRY_CAST(sum(now_calls) AS BIGINT) AS now_calls,
                       TRY_CAST(sum(now_ns) AS BIGINT) AS now_total_ns
                FROM works
                LEFT JOIN _readable_name AS names ON names.mangled = works.name
                WHERE kind IN ('kernel', 'graph')
                GROUP BY ALL
            )
            SELECT coalesce(name, demangled) AS name, demangled,
                   100.0 * now_total_ns / nullif(sum(now_total_ns) OVER (), 0) AS now_pct,
                   now_calls, now_total_ns, now_total_ns / nullif(now_calls, 0) AS now_mean_ns,
                   100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS percent,
                   calls, total_ns, total_ns / nullif(calls, 0) AS mean_ns
            FROM named
            ORDER BY total_ns DESC, demangled
            """
        )

    def copies(self) -> Sequence[dict[str, Any]]:
        """Copies and memsets by direction, all in all and now."""
        return self._run(
            """
            SELECT CASE kind WHEN 'memset' THEN 'memset' ELSE coalesce(name, 'copy') END
                       AS direction,
                   TRY_CAST(sum(now_bytes) AS BIGINT) AS now_bytes,
                   TRY_CAST(sum(now_calls) AS BIGINT) AS now_copies,
                   TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
                   TRY_CAST(sum(calls) AS BIGINT) AS copies,
                   TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns
            FROM (
                SELECT kind, name, calls, total_ns, bytes, 0 AS now_calls, 0 AS now_bytes
                FROM _total_work
                UNION ALL
                SELECT kind, name, 0, 0, 0, calls, bytes FROM _now_work
            )
            WHERE kind NOT IN ('kernel', 'graph')
            GROUP BY direction
            ORDER BY sum(bytes) DESC, direction
            """
        )

    def calls(self) -> dict[str, Any]:
        """API calls and launches, all in all and now."""
        (row,) = self._run(
            """
            SELECT TRY_CAST(coalesce(sum(calls), 0) AS BIGINT) AS calls,
                   TRY_CAST(coalesce(sum(launches), 0) AS BIGINT) AS launches,
                   TRY_CAST(coalesce(sum(total_ns), 0) AS BIGINT) AS total_ns,
                   TRY_CAST(coalesce(sum(errors), 0) AS BIGINT) AS errors,
                   TRY_CAST(coalesce((SELECT sum(calls) FROM _now_call), 0) AS BIGINT) AS now_calls,
                   TRY_CAST(coalesce((SELECT sum(launches) FROM _now_call), 0) AS BIGINT)
                       AS now_launches,
                   TRY_CAST(coalesce((SELECT sum(total_ns) FROM _now_call), 0) AS BIGINT) AS now_ns
            FROM _total_call
            """
        )
        return row
