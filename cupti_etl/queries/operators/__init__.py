"""Materialized queries that native operators compute (native/operators)."""

from __future__ import annotations

from cupti_etl.queries.operators import kernels, launches, ranges, timeline
from cupti_etl.queries.operators.definition import operator

_NATIVE = (*timeline.OPERATORS, *kernels.OPERATORS, *launches.OPERATORS, *ranges.OPERATORS)
# By the name of the query that each computes.
OPERATORS = {name: operator(native) for native in _NATIVE for name in native.queries}
