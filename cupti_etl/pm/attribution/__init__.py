"""What queries about PM samples ask that SQL is too slow for; the library's header says which."""

from __future__ import annotations

from functools import partial

from cupti_etl.pm.attribution import alignment, overlap
from cupti_etl.queries.materialize import Operator

_ALL = (
    ("pm_alignment", alignment.READS, alignment.make),
    ("_activity_sampled", overlap.READS, overlap.make_sampled),
    ("_activity_metric", overlap.READS, overlap.make_metric),
)

# By the name of the query that each computes.
OPERATORS = {
    name: Operator(name, reads, (f"_derived_{name}",), partial(make, into=f"_derived_{name}"))
    for name, reads, make in _ALL
}
