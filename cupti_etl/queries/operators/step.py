"""A stored query, or several, that a native sweep makes faster than their SQL.

The SQL of a query stays what it means: it is what runs where there is no native part, and what
the tests compare with.  What is kept is narrow, numbers instead of names, as there can be a row
for every few kernels; the query is a view over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.queries.stored import Maker

if TYPE_CHECKING:
    import duckdb

# Stands for NULL in what a sweep reads and gives back: see native/operators/operator.h.
UNKNOWN = "(-9223372036854775807 - 1)"
# A number that stands for a name; sweeps compare them and do no more.
ID = "(hash(name) >> 1)::BIGINT"


def known(column: str) -> str:
    """A column that may be NULL, as a sweep reads it."""
    return f"coalesce({column}::BIGINT, {UNKNOWN})"


def numbered(column: str = "name") -> str:
    """The number of a name that may be NULL."""
    number = ID.replace("name", column)
    return f"CASE WHEN {column} IS NULL THEN {UNKNOWN} ELSE {number} END"


def calls(what: str) -> str:
    """As native/operators/calls.h has them, with a number that is wanted of each."""
    return (
        f"SELECT process_id, correlation_id, {known('start_ns')}, {known('end_ns')}, {what},"
        " CASE WHEN domain = 'runtime' THEN 1::BIGINT ELSE 0::BIGINT END,"
        " CASE WHEN contains(name, 'GraphLaunch') THEN 1::BIGINT ELSE 0::BIGINT END FROM api_call"
        " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL"
    )


@dataclass(frozen=True)
class Step:
    """A sweep, and the stored queries that it makes.

    Attributes:
        sweep: its name, of native/operators.
        reads: tables and queries that it reads.
        inputs: SELECTs of 64-bit integers without NULL, for the sweep's inputs.
        outputs: by the name of what is kept, what to keep of the columns that the sweep gives.
        makes: the queries as SELECTs over what is kept.
        named: tables whose names are read as numbers; what is kept has ``_kept_TABLE_name``.
        along: the column along which the inputs are cut in slices; "" of a sweep that needs none.
        counted: the table by whose rows they are cut.
        first: a SELECT for an input before these, which is given whole.
        before: tables to make first, which are there for the inputs and while the rest is made.
        kept: tables to make next, which stay for the queries.
        then: tables to make of the outputs, which stay, too.
    """

    sweep: str
    reads: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: Mapping[str, tuple[tuple[str, ...], str]]
    makes: Mapping[str, str]
    named: tuple[str, ...] = ()
    along: str = ""
    counted: str = ""
    first: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    then: Mapping[str, str] = field(default_factory=dict)


def maker(step: Step) -> Maker:
    """What makes the queries of a step."""
    names = tuple(map(_names, step.named))
    keeps = (*names, *step.kept, *step.outputs, *step.then)
    return Maker(step.sweep, step.reads, keeps, partial(_run, step), step.makes)


def _run(step: Step, con: duckdb.DuckDBPyConnection) -> None:
    """Make what is kept.

    Raises:
        NativeError: it cannot be done this way.
        duckdb.Error: a part cannot be read.
    """
    from cupti_etl.queries.operators.native import Sweep, feed

    try:
        sweep = Sweep(step.sweep)
        for named in step.named:
            _keep_names(con, named)
        for name, select in step.before.items():
            con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS\n{select}")
        for name, select in step.kept.items():
            con.execute(f"CREATE OR REPLACE TABLE {name} AS\n{select}")
        feed(con, sweep, step.along, step.counted, step.first, step.inputs)
        sweep.finish()
        for place, (name, (columns, select)) in enumerate(step.outputs.items()):
            con.register("_swept", sweep.take(place, columns))
            con.execute(f"CREATE OR REPLACE TABLE {name} AS {select} FROM _swept")
            con.unregister("_swept")
        for name, select in step.then.items():
            con.execute(f"CREATE OR REPLACE TABLE {name} AS\n{select}")
    finally:
        for name in step.before:
            con.execute(f"DROP TABLE IF EXISTS temp.{name}")


def _names(table: str) -> str:
    return f"_kept_{table}_name"


def _keep_names(con: duckdb.DuckDBPyConnection, table: str) -> None:
    """Keep which name each number stands for.

    Raises:
        NativeError: two names have the same number, as in one of 10^8 tables.
    """
    kept = _names(table)
    con.execute(
        f"CREATE OR REPLACE TABLE {kept} AS SELECT {ID} AS id, name"
        f" FROM (SELECT DISTINCT name FROM {table} WHERE name IS NOT NULL)"
    )
    if con.sql(f"SELECT count(*) > count(DISTINCT id) FROM {kept}").fetchall()[0][0]:
        raise NativeError("two names have one number")
