"""What queries about PM samples ask that SQL is too slow for; the library's header says which."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cupti_etl.pm.attribution import alignment, overlap
from cupti_etl.queries.materialize import Operator

if TYPE_CHECKING:
    import duckdb

Make = Callable[["duckdb.DuckDBPyConnection", str], None]

_ALL = (
    ("pm_alignment", alignment.READS, alignment.make),
    ("_activity_sampled", overlap.READS, overlap.make_sampled),
    ("_activity_metric", overlap.READS, overlap.make_metric),
)


def _operator(name: str, reads: tuple[str, ...], make: Make) -> Operator:
    into = f"_derived_{name}"
    return Operator(name, reads, (into,), lambda con, *_: make(con, into))


# By the name of the query that each computes.
OPERATORS = {name: _operator(name, reads, make) for name, reads, make in _ALL}
