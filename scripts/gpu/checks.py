"""What has to be true of a captured trace, each as a check with its numbers.

The Parquet parts are read with plain DuckDB, not with the code that is being judged; only the
view ``launch`` is the product's own.  A check takes the trace and the log of one program (see
``cupti_etl/demo/launched.py``) and returns what it counted and what is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from cupti_etl.demo import check as compare
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.schema.kinds import KINDS

Log = Mapping[str, Any]
# GPU times are interpolated onto the host's clock; this much error is not a fault.
TOLERANCE_NS = 20_000
LAUNCH_CALL = r"^(cudaLaunch(Cooperative)?Kernel|cuLaunch(Cooperative)?Kernel)"
OUTSIDE_GRAPHS = "coalesce(graph_id, graph_node_id) IS NULL"


@dataclass
class Check:
    """One check: what was counted, and what is wrong ([] if nothing)."""

    name: str
    numbers: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """The check as plain data."""
        return {
            "name": self.name,
            "passed": self.passed,
            "numbers": self.numbers,
            "problems": self.problems[:20],
        }


class TraceFiles:
    """The tables of a trace folder, read from its Parquet parts.

    Args:
        path: the trace folder.
        launch: an Arrow table with the rows of the product's view ``launch``.
    """

    def __init__(self, path: Path, launch: Any) -> None:
        self.connection = duckdb.connect()
        for table in TABLES:
            parts = f"{path}/{table}/part-*.parquet"
            if (path / table).exists():
                self.connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{parts}')")
            else:  # not among the kinds that were recorded
                self.connection.register(table, arrow_schema(table).empty_table())
        self.connection.register("launch", launch)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return self.connection.execute(query).fetchall()

    def value(self, query: str) -> Any:
        """First column of the only row of a query."""
        ((value, *_),) = self.rows(query)
        return value

    def process(self, log: Log) -> str:
        """The condition that selects the program's rows."""
        ids = [
            row[0] for row in self.rows(f"SELECT process_id FROM process WHERE pid = {log['pid']}")
        ]
        return f"process_id IN ({', '.join(map(str, ids)) or 'NULL'})"


def kernel_counts(trace: TraceFiles, log: Log) -> Check:
    """Counts per kernel name and stream are what the program launched."""
    rows = trace.rows(compare.KERNEL_ROWS.format(process=trace.process(log)))
    expected = sum(entry["count"] for entry in log["kernels"])
    problems = compare.compare_kernels(log, rows)
    numbers = {
        "launched": expected,
        "recorded": sum(row[3] for row in rows),
        "names_and_streams": len(log["kernels"]),
        "stream_ids_as_the_driver_says": _same_stream_ids(log, rows),
    }
    return Check("counts per kernel name and stream", numbers, problems)


def _same_stream_ids(log: Log, rows: list[tuple[Any, ...]]) -> str:
    """For information: whether CUPTI numbers streams as cuStreamGetId does."""
    stream_of = {(name, grid): stream for name, grid, stream, _ in rows}
    pairs = {
        (log["streams"].get(k["stream"]), stream_of.get((k["name"], k["grid_x"])))
        for k in log["kernels"]
    }
    return f"{sum(a == b for a, b in pairs)} of {len(pairs)}"


def graph_kernel_counts(trace: TraceFiles, log: Log) -> Check:
    """Kernels that graph replays ran are what the program replayed."""
    process = trace.process(log)
    rows = trace.rows(compare.GRAPH_KERNEL_ROWS.format(process=process))
    check = Check(
        "counts per kernel name in graphs", problems=compare.compare_graph_kernels(log, rows)
    )
    graphs = log.get("graphs", [])
    for table in ("kernel", "memcpy", "memset"):
        expected = sum(graph["replays"] * graph["nodes"].get(table, 0) for graph in graphs)
        found = trace.value(
            f"SELECT count(*) FROM {table} WHERE NOT ({OUTSIDE_GRAPHS}) AND {process}"
        )
        check.numbers[table] = {"replays_times_nodes": expected, "recorded": found}
        if found != expected:
            check.problems.append(
                f"{table} nodes: replays times nodes is {expected}, {found} recorded"
            )
    return check


def names(trace: TraceFiles, log: Log) -> Check:
    """Every kernel has a name, and every name stands in kernel_name."""
    process = trace.process(log)
    nameless = trace.value(
        f"SELECT count(*) FROM kernel WHERE coalesce(name, '') = '' AND {process}"
    )
    unknown = trace.value(
        "SELECT count(DISTINCT name) FROM kernel ANTI JOIN kernel_name ON name = mangled "
        f"WHERE name IS NOT NULL AND {process}"
    )
    distinct = trace.value(f"SELECT count(DISTINCT name) FROM kernel WHERE {process}")
    streams = trace.value(f"SELECT count(DISTINCT stream_id) FROM kernel WHERE {process}")
    check = Check("names", {"names": distinct, "streams": streams, "nameless": nameless})
    if nameless:
        check.problems.append(f"{nameless} kernels have no name")
    if unknown:
        check.problems.append(f"{unknown} names are not in kernel_name")
    for what, found in (("kernel_names", distinct), ("streams", streams)):
        least = log.get(f"min_{what}", 1)
        if found < least:
            check.problems.append(f"{found} {what}, expected at least {least}")
    return check


def time_order(trace: TraceFiles, log: Log) -> Check:
    """Nothing ends before it begins, and every time is known."""
    check = Check("start <= end")
    for table in ("kernel", "memcpy", "memset", "api_call"):
        rows, unknown, wrong = trace.rows(
            "SELECT count(*), count(*) FILTER (start_ns IS NULL OR end_ns IS NULL), "
            f"count(*) FILTER (start_ns > end_ns) FROM {table} WHERE {trace.process(log)}"
        )[0]
        check.numbers[table] = rows
        if unknown or wrong:
            check.problems.append(
                f"{table}: {wrong} end before they begin, {unknown} without a time"
            )
    return check


def clock_brackets(trace: TraceFiles, log: Log) -> Check:
    """GPU work lies between the program's own readings of the clock."""
    check = Check("inside the program's clock brackets")
    for table in ("kernel", "memcpy", "memset"):
        first, last = trace.rows(
            f"SELECT min(start_ns), max(end_ns) FROM {table} WHERE {trace.process(log)}"
        )[0]
        if first is not None:
            _bracket(check, table, log["begin_ns"], first, last, log["end_ns"])
    times = {
        (name, grid): (begin, end)
        for name, grid, begin, end in trace.rows(
            "SELECT name, grid_x, min(start_ns), max(end_ns) FROM kernel "
            f"WHERE {trace.process(log)} GROUP BY ALL"
        )
    }
    margins = []
    for probe in log["probes"]:
        begin, end = times.get((probe["name"], probe["grid_x"]), (None, None))
        if begin is None or end is None:
            check.problems.append(f"the probe with a grid of {probe['grid_x']} was not recorded")
            continue
        margins.append((begin - probe["begin_ns"], probe["end_ns"] - end))
    if margins:
        check.numbers["probes"] = len(margins)
        check.numbers["smallest_margin_before_ns"] = min(before for before, _ in margins)
        check.numbers["smallest_margin_after_ns"] = min(after for _, after in margins)
        outside = sum(min(margin) < -TOLERANCE_NS for margin in margins)
        if outside:
            check.problems.append(f"{outside} of {len(margins)} probes lie outside their brackets")
    return check


def _bracket(check: Check, what: str, begin: int, first: int, last: int, end: int) -> None:
    check.numbers[what] = {"after_begin_ns": first - begin, "before_end_ns": end - last}
    if first < begin - TOLERANCE_NS or last > end + TOLERANCE_NS:
        check.problems.append(
            f"{what}: from {first - begin} ns after begin to {end - last} before end"
        )


def launch_rows(trace: TraceFiles, log: Log) -> Check:
    """Each kernel outside graphs has exactly one row of the view launch."""
    process = trace.process(log)
    kernels, without, several = trace.rows(
        f"""WITH mine AS (SELECT process_id, correlation_id FROM kernel
                          WHERE {OUTSIDE_GRAPHS} AND {process}),
             found AS (SELECT process_id, correlation_id, count(*) AS n FROM launch GROUP BY ALL)
        SELECT count(*), count(*) FILTER (n IS NULL), count(*) FILTER (n > 1)
        FROM mine LEFT JOIN found USING (process_id, correlation_id)"""
    )[0]
    check = Check("one launch row per kernel", {"kernels_outside_graphs": kernels})
    if without or several:
        check.problems.append(f"{without} kernels without a launch row, {several} with several")
    # The other way round, from the calls themselves: every call that launches, and that was
    # not made while a stream was being captured, has one kernel.
    calls = trace.value(
        f"""SELECT count(DISTINCT correlation_id) FROM api_call
        WHERE regexp_matches(name, '{LAUNCH_CALL}') AND coalesce(return_value, 0) = 0
          AND {process}"""
    )
    captured = sum(graph["nodes"].get("kernel", 0) for graph in log.get("graphs", []))
    check.numbers |= {"launch_calls": calls, "calls_captured_into_graphs": captured}
    if calls - captured != kernels:
        check.problems.append(
            f"{calls} launch calls, {captured} of them into graphs, but {kernels} kernels"
        )
    return check


def copies(trace: TraceFiles, log: Log) -> Check:
    """Copies match in bytes and direction, sets in bytes."""
    process = trace.process(log)
    copied = trace.rows(compare.COPY_ROWS.format(process=process))
    cleared = trace.rows(compare.MEMSET_ROWS.format(process=process))
    by_kind: Counter[str] = Counter()
    for kind, size, count in copied:
        by_kind[kind] += size * count
    problems = compare.compare_copies(log, copied) + compare.compare_memsets(log, cleared)
    numbers = {
        "copies": sum(row[2] for row in copied),
        "bytes": dict(by_kind),
        "sets": sum(n for _, n in cleared),
    }
    return Check("copies and sets", numbers, problems)


def markers(trace: TraceFiles, log: Log) -> Check:
    """NVTX ranges and marks of the default domain are what the program made, and each ends."""
    process = trace.process(log)
    found = dict(
        trace.rows(
            f"""SELECT name, count(*) FROM marker
            WHERE event IN ('start', 'instant') AND domain IS NULL AND {process} GROUP BY ALL"""
        )
    )
    expected = {entry["name"]: entry["count"] for entry in log.get("markers", [])}
    check = Check("NVTX", {"expected": expected})
    for name in sorted(set(expected) | set(found), key=str):
        if expected.get(name, 0) != found.get(name, 0):
            check.problems.append(
                f"{name}: {expected.get(name, 0)} made, {found.get(name, 0)} recorded"
            )
    unended = trace.value(
        f"""SELECT count(*) FROM (SELECT marker_id FROM marker WHERE event IN ('start', 'end')
        AND {process} GROUP BY marker_id
        HAVING count(*) FILTER (event = 'start') <> 1 OR count(*) FILTER (event = 'end') <> 1)"""
    )
    if unended:
        check.problems.append(f"{unended} ranges do not have one start and one end")
    return check


def losses(trace: TraceFiles, log: Log) -> Check:
    """Nothing was lost, and emitted = stored + lost = rows + lost."""
    process = trace.process(log)
    lost = trace.rows(f"SELECT cause, table_name, records, bytes, detail FROM loss WHERE {process}")
    check = Check("losses and accounting", {"loss_rows": len(lost)})
    check.problems += [f"loss: {row}" for row in lost]
    tables = " + ".join(f"(SELECT count(*) FROM {k.table} WHERE {process})" for k in KINDS)
    rows = trace.value(f"SELECT {tables}")
    for emitted, stored, state, detail in trace.rows(
        f"SELECT emitted, stored, state, detail FROM process WHERE {process}"
    ):
        not_stored = trace.value(
            "SELECT coalesce(sum(records), 0) FROM loss "
            f"WHERE NOT coalesce(is_stored, false) AND {process}"
        )
        check.numbers |= {"emitted": emitted, "stored": stored, "lost": not_stored, "rows": rows}
        if emitted is None or emitted != stored + not_stored:
            check.problems.append(f"emitted {emitted}, stored {stored}, lost {not_stored}")
        if stored != rows:
            check.problems.append(f"stored {stored}, but the tables hold {rows} rows")
        if state != "finished":
            check.problems.append(f"the process is {state}: {detail}")
    return check


PER_PROGRAM: tuple[Callable[[TraceFiles, Log], Check], ...] = (
    kernel_counts, graph_kernel_counts, names, time_order, clock_brackets,
    launch_rows, copies, markers, losses,
)  # fmt: skip
