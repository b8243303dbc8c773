"""Stored queries that native sweeps make (native/sweeps), for traces that are opened."""

from __future__ import annotations

from functools import partial

from cupti_etl.queries.stored import Maker
from cupti_etl.sweeps import kernels, launches, timeline
from cupti_etl.sweeps.step import run

STEPS = (*timeline.STEPS, *kernels.STEPS, *launches.STEPS)
MAKERS = {name: Maker(step.reads, partial(run, step)) for step in STEPS for name in step.makes}
