"""Stored queries that native sweeps make (native/operators), for traces that are opened."""

from __future__ import annotations

from cupti_etl.queries.operators import kernels, launches, ranges, timeline
from cupti_etl.queries.operators.step import maker

STEPS = (*timeline.STEPS, *kernels.STEPS, *launches.STEPS, *ranges.STEPS)
MAKERS = {name: maker(step) for step in STEPS for name in step.makes}
