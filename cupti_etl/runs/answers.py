"""What is shown of a catalogue: the runs, and how kernels changed from one to the next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import LEAST_EPOCH
from cupti_etl.queries.query import Chart, Label
from cupti_etl.queries.runner import connect
from cupti_etl.render.columns import Column, Shape
from cupti_etl.render.output import InMemory

if TYPE_CHECKING:
    import pyarrow as pa

_OURS = {
    "run": "1",
    "started": "date",
    "duration_ns": "ns",
    "step_change_pct": "%",
    "verdict": "1",
    "problem": "1",
    "bytes": "bytes",
}
_RUNS_FIRST = (
    "run", "started", "duration_ns", "step_ns", "step_change_pct", "steps", "busy_pct", "gpus",
    "ranks", "verdict", "command",
)  # fmt: skip
# Runs of one command are compared, each with the one before it that has steps. An import may know
# times since its recording began alone, and so not the date.
_RUNS = f"""
    WITH before AS (
        SELECT run, lag(step_ns) OVER (PARTITION BY command ORDER BY start_ns, run) AS step_ns
        FROM catalogue
        WHERE step_ns > 0 AND command IS NOT NULL
    )
    SELECT catalogue.run,
           CASE WHEN start_ns >= {LEAST_EPOCH} THEN
               strftime(make_timestamp(start_ns // 1000), '%Y-%m-%d %H:%M:%SZ') END AS started,
           end_ns - start_ns AS duration_ns,
           catalogue.* EXCLUDE (run, digest, top_kernels),
           100 * (catalogue.step_ns / before.step_ns - 1) AS step_change_pct
    FROM catalogue
    LEFT JOIN before ON before.run = catalogue.run
    ORDER BY start_ns NULLS LAST, catalogue.run
"""
_KERNELS = {
    "name": "1",
    "demangled": "1",
    "runs": "runs",
    "first_mean_ns": "ns",
    "last_mean_ns": "ns",
    "change_pct": "%",
    "least_mean_ns": "ns",
    "greatest_mean_ns": "ns",
    "last_calls": "executions",
    "last_total_ns": "ns",
    "first_run": "1",
    "last_run": "1",
    "command": "1",
}
_KERNELS_FIRST = (
    "change_pct", "first_mean_ns", "last_mean_ns", "runs", "last_total_ns", "last_run", "name",
)  # fmt: skip
_TRENDS = """
    WITH each AS (
        SELECT command, run, start_ns, unnest(top_kernels, recursive := true)
        FROM catalogue
    ),
    timed AS (
        SELECT *, total_ns / calls AS mean_ns, (start_ns, run) AS place FROM each
    )
    SELECT any_value(name) AS name, demangled, count(*) AS runs,
           arg_min(mean_ns, place) AS first_mean_ns, arg_max(mean_ns, place) AS last_mean_ns,
           CASE WHEN count(*) > 1
                THEN 100 * (arg_max(mean_ns, place) / arg_min(mean_ns, place) - 1)
           END AS change_pct,
           min(mean_ns) AS least_mean_ns, max(mean_ns) AS greatest_mean_ns,
           arg_max(calls, place) AS last_calls, arg_max(total_ns, place) AS last_total_ns,
           arg_min(run, place) AS first_run, arg_max(run, place) AS last_run, command
    FROM timed
    GROUP BY coalesce(command, run), command, demangled
    ORDER BY last_total_ns DESC, demangled, command
"""


def runs(catalogue: pa.Table) -> InMemory:
    """The runs, each with the change of its median step from the run of that command before it."""
    table = _asked(catalogue, _RUNS)
    units = {each.name: each.unit for each in library()["_run"].columns} | _OURS
    # What the chart is of is what rows are about, of which a narrow terminal shows most.
    shape = replace(_shape(table, units, _RUNS_FIRST, None), chart=Chart("bars", "run", "step_ns"))
    return InMemory(table, shape)


def kernels(catalogue: pa.Table) -> InMemory:
    """The kernels of the runs of each command: how long they took in the first and in the last."""
    table = _asked(catalogue, _TRENDS)
    return InMemory(
        table, _shape(table, _KERNELS, _KERNELS_FIRST, Label("name", "kernel", ("demangled",)))
    )


def _asked(catalogue: pa.Table, sql: str) -> pa.Table:
    with connect(()) as con:
        con.register("catalogue", catalogue)
        return con.sql(sql).to_arrow_table()


def _shape(
    table: pa.Table, units: dict[str, str], first: tuple[str, ...], label: Label | None
) -> Shape:
    columns = tuple(Column(name, units.get(name, "1")) for name in table.column_names)
    return Shape(columns, label, first, is_known=True)
