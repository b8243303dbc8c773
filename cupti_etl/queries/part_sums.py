"""What NVTX ranges asked for in a part of a trace, from what they asked for in all of it.

Most ranges have all of their work in the part, or none of it: their rows are those of the whole
trace, which were computed before.  Those that the part cuts are summed anew, from work of their
own and from the ranges inside them, most of which are not cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.materialize import Operator
from cupti_etl.queries.scope import WHOLE, Choice, reads_instead, reads_whole

if TYPE_CHECKING:
    import duckdb

_OWN, _ALL = "_range_own", "range_gpu"
_READS = {
    _OWN: ("_range_served", "launch_to_gpu", "gpu"),
    _ALL: ("_range_parent", "_range_asked"),
}
_CUT = "(SELECT range_id FROM _cut)"
# A range around one that is cut is cut, too: what is not is complete.
_INSTEAD = {
    "_range_parent": f"""
        FROM {WHOLE}.main._range_parent
        WHERE range_id IN {_CUT} OR parent_range_id IN {_CUT}""",
    "_range_asked": f"""
        FROM main._range_asked WHERE range_id IN {_CUT}
        UNION ALL BY NAME
        SELECT * REPLACE (0 AS exclusive_activities, 0 AS exclusive_gpu_ns)
        FROM _derived_{_ALL}
        WHERE range_id IN (
            SELECT range_id FROM {WHOLE}.main._range_parent WHERE parent_range_id IN {_CUT}
        )""",
}

Need = Callable[["duckdb.DuckDBPyConnection", Sequence[str]], None]


def operators(catalog: Catalog, choice: Choice, need: Need) -> Mapping[str, Operator]:
    """What computes sums over ranges of a part, by the names of their queries.

    Args:
        catalog: the queries.
        choice: the part.
        need: makes queries of the whole trace that are not there yet.
    """
    own, both = catalog[_OWN], catalog[_ALL]
    selects = {_OWN: reads_whole(own), _ALL: reads_instead(both.sql, _INSTEAD)}
    return {
        name: Operator(
            name,
            _READS[name],
            (f"_derived_{name}",),
            partial(_compute, name, choice, need, select),
        )
        for name, select in selects.items()
    }


def _compute(
    name: str, choice: Choice, need: Need, select: str, con: duckdb.DuckDBPyConnection, *_: object
) -> None:
    """Make the table of a query.

    Raises:
        duckdb.Error: a part cannot be read.
    """
    need(con, (name, "_range_span", "_range_parent", "gpu_activity"))
    work = f"""(
        SELECT work.*, process_id
        FROM {WHOLE}.main.{name} AS work
        JOIN (
            -- The ranges of a process are numbered one after another.
            SELECT process_id, min(range_id) AS low, max(range_id) AS high
            FROM {WHOLE}.main._range_span
            GROUP BY process_id
        )
            ON range_id BETWEEN low AND high
    )"""
    try:
        con.execute(f"CREATE OR REPLACE TEMP TABLE _in_part AS {choice.whether_cut(work)}")
        con.execute(
            "CREATE OR REPLACE TEMP TABLE _cut AS SELECT range_id FROM _in_part WHERE is_cut"
        )
        con.execute(
            f"CREATE TABLE _derived_{name} AS SELECT * EXCLUDE (process_id, is_cut) FROM _in_part"
            f" WHERE range_id NOT IN {_CUT}"
        )
        con.execute("DROP TABLE _in_part")
        if con.execute("FROM _cut LIMIT 1").fetchall():
            con.execute(
                f"INSERT INTO _derived_{name} BY NAME FROM (\n{select}\n) WHERE range_id IN {_CUT}"
            )
    finally:
        for made in ("_in_part", "_cut"):
            con.execute(f"DROP TABLE IF EXISTS temp.{made}")
