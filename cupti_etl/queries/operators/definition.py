"""A materialized query, or several, that a native operator computes faster than their SQL.

The SQL of a query stays its definition: it is what runs where there is no native part, and what
the tests compare with.  What an operator makes is narrow, numbers instead of names, as there can
be a row for every few kernels; the query is a view over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from cupti_etl.errors import NativeError
from cupti_etl.queries.materialize import Begins, Operator, Put

if TYPE_CHECKING:
    import duckdb

# Stands for NULL in what an operator reads and gives back: see native/operators/operator.h.
UNKNOWN = "(-9223372036854775807 - 1)"
# A number that stands for a name; operators compare them and do no more.
ID = "(hash(name) >> 1)::BIGINT"


def known(column: str) -> str:
    """A column that may be NULL, as an operator reads it."""
    return f"coalesce({column}::BIGINT, {UNKNOWN})"


def numbered(column: str = "name") -> str:
    """The number of a name that may be NULL."""
    number = ID.replace("name", column)
    return f"CASE WHEN {column} IS NULL THEN {UNKNOWN} ELSE {number} END"


def names_of(operator: str) -> str:
    """The names that an operator reads as numbers, by their ``id``.

    Each number is there once, so that DuckDB leaves the join out where nobody asks for the name.
    """
    return f"(SELECT id, any_value(name) AS name FROM {_names(operator)} GROUP BY id)"


def calls(what: str) -> str:
    """As native/operators/calls.h has them, with a number that is wanted of each."""
    return (
        f"SELECT process_id, correlation_id, {known('start_ns')}, {known('end_ns')}, {what},"
        " CASE WHEN domain = 'runtime' THEN 1::BIGINT ELSE 0::BIGINT END,"
        " CASE WHEN contains(name, 'GraphLaunch') THEN 1::BIGINT ELSE 0::BIGINT END FROM api_call"
        " WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL"
    )


@dataclass(frozen=True)
class NativeOperator:
    """A native operator, and the materialized queries that it computes.

    Attributes:
        name: of native/operators.
        reads: tables and queries that it reads.
        inputs: SELECTs of 64-bit integers without NULL, for its inputs.
        outputs: by the name of a table, its columns with spaces between them, as NAME for a
            BIGINT, NAME:TYPE, and NAME:TYPE? for one whose UNKNOWN is kept as NULL.
        queries: as SELECTs over these tables.
        named: a table whose names are read as numbers; ``_derived_OPERATOR_name`` tells the names,
            and is of this operator alone.
        along: the column along which the inputs are cut in slices; "" of one that needs none.
        counted: the tables by whose rows they are cut.
        first: a SELECT for an input before these, which is given whole.
        before: tables to make first, which are there for the inputs and while the rest is made.
        kept: tables to make next, which the queries may read, too.
        paired: a table with whose rows those of the outputs are kept, first with first and so on.
        added: what makes one row of those of several executions, as a list of a SELECT that groups
            by all else, if rows can be shared out to them.
    """

    name: str
    reads: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    queries: Mapping[str, str]
    named: str = ""
    along: str = ""
    counted: Sequence[str] = ()
    first: str = ""
    before: Mapping[str, str] = field(default_factory=dict)
    kept: Mapping[str, str] = field(default_factory=dict)
    paired: str = ""
    added: str = ""


def operator(native: NativeOperator) -> Operator:
    """What computes the queries of a native operator."""
    names = (_names(native.name),) if native.named else ()
    tables = (*names, *native.kept, *native.outputs)
    compute = partial(_compute, native)
    return Operator(native.name, native.reads, tables, compute, native.queries, native.counted)


def _compute(
    native: NativeOperator, con: duckdb.DuckDBPyConnection, put: Put, begins: Begins
) -> None:
    """Make the tables of an operator.

    Raises:
        NativeError: it cannot be done this way.
        duckdb.Error: a part cannot be read.
    """
    from cupti_etl.queries.operators.native import Execution, feed, taken

    try:
        execution = Execution(native.name)
        if native.named:
            _make_names(native, con, put)
        for name, select in native.before.items():
            con.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS\n{select}")
        for name, select in native.kept.items():
            put(name, select)
        executions = feed(con, execution, native, begins)
        for place, (name, words) in enumerate(native.outputs.items()):
            columns = {
                column: kind or "BIGINT"
                for column, _, kind in (word.partition(":") for word in words.split())
            }
            con.register("_output", taken(executions, place, columns))
            kept = f"SELECT {', '.join(_kept(*column) for column in columns.items())} FROM _output"
            if len(executions) > 1:
                kept = f"SELECT {native.added} FROM ({kept}) GROUP BY ALL"
            if native.paired:
                kept = f"FROM {native.paired} POSITIONAL JOIN ({kept})"
            put(name, kept)
            con.unregister("_output")
    finally:
        for name in native.before:
            con.execute(f"DROP TABLE IF EXISTS temp.{name}")


def _kept(column: str, kind: str) -> str:
    value = f'nullif("{column}", {UNKNOWN})' if kind.endswith("?") else f'"{column}"'
    return f'{value}::{kind.removesuffix("?")} AS "{column}"'


def _names(operator: str) -> str:
    return f"_derived_{operator}_name"


def _make_names(native: NativeOperator, con: duckdb.DuckDBPyConnection, put: Put) -> None:
    """Make the table that tells which name each number stands for.

    Raises:
        NativeError: two names have the same number, as in one of 10^8 tables.
    """
    names = _names(native.name)
    distinct = f"SELECT DISTINCT name FROM {native.named} WHERE name IS NOT NULL"
    put(names, f"SELECT {ID} AS id, name FROM ({distinct})")
    if con.sql(f"SELECT count(*) > count(DISTINCT id) FROM {names}").fetchall()[0][0]:
        raise NativeError("two names have one number")
