"""Why GPUs were idle in a part of a trace, from why they were in all of it.

Nearly all gaps are in the part as they are, or not at all: their rows are those of the whole trace,
which were computed before.  Those that the part cuts are looked into anew, with what the host did
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import Catalog
from cupti_etl.queries.intervals import Intervals
from cupti_etl.queries.materialize import Operator
from cupti_etl.queries.scope import WHOLE, cut_at_times, reads_instead

if TYPE_CHECKING:
    import duckdb

_CAUSE, _SPENT, _HOST = "_gap_cause", "_gap_spent", "_host_activity"
_TABLE, _CUT = f"_derived_{_CAUSE}", "_cut_gap"
_SAME = "USING (gpu, start_ns, gap_ns)"
_OF_HOST = ("_host_span", "_blocking_copy")
# Of when the first work of each stream began.
_OF_STREAMS = ("_stream_span", "capture")

Need = Callable[["duckdb.DuckDBPyConnection", Sequence[str]], None]


def operators(catalog: Catalog, need: Need) -> Mapping[str, Operator]:
    """What computes the causes of the gaps of a part, by the name of their query.

    Args:
        catalog: the queries.
        need: makes queries of the whole trace that are not there yet.
    """
    compute = partial(_compute, catalog, need)
    return {_CAUSE: Operator(_CAUSE, ("_gap_edge", "_any_api_call"), (_TABLE,), compute)}


def _compute(catalog: Catalog, need: Need, con: duckdb.DuckDBPyConnection, *_: object) -> None:
    """Make the table of the query.

    Raises:
        duckdb.Error: a part cannot be read.
    """
    need(con, (_CAUSE, "api_call", *_OF_STREAMS, *_OF_HOST))
    whole = f"{WHOLE}.main.{_CAUSE}"
    con.execute(f"CREATE TABLE {_TABLE} AS FROM {whole} SEMI JOIN _gap_edge {_SAME}")
    try:
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE {_CUT} AS FROM _gap_edge ANTI JOIN {_TABLE} {_SAME}"
        )
        times = con.sql(
            f"SELECT process_id, start_ns, end_ns FROM {_CUT} WHERE process_id IS NOT NULL"
        ).fetchall()
        cut = Intervals("_cut_gap_time", times)
        cut.make(con)
        con.execute(f"INSERT INTO {_TABLE} BY NAME\n{_causes_of_cut(catalog, cut)}")
    finally:
        con.execute(f"DROP TABLE IF EXISTS temp.{_CUT}")


def _causes_of_cut(catalog: Catalog, times: Intervals) -> str:
    """The SQL of the query, of the gaps that are cut and of what the host did in these."""
    cut = cut_at_times("start_ns", "end_ns")
    meanwhile = {
        name: times.overlapping(f"{WHOLE}.main.{name}", "process_id", "start_ns", "end_ns", cut)
        for name in _OF_HOST
    }
    spent = {
        "_gap_edge": f"FROM {_CUT}",
        "api_call": f"FROM {WHOLE}.main.api_call",
        _HOST: reads_instead(catalog[_HOST].sql, meanwhile),
    }
    causes = {name: f"FROM {WHOLE}.main.{name}" for name in _OF_STREAMS}
    causes[_SPENT] = reads_instead(catalog[_SPENT].sql, spent)
    return reads_instead(catalog[_CAUSE].sql, causes)
