"""Which kinds cannot be recorded beside counters, or be switched on and off."""

from __future__ import annotations

from cupti_etl.config import BudgetOptions, RangeOptions, SassOptions
from cupti_etl.errors import UsageError


def kinds_beside(
    kinds: tuple[str, ...],
    named: str,
    range_metrics: RangeOptions | None,
    sass_metrics: SassOptions | None,
    budget: BudgetOptions | None,
) -> tuple[str, ...]:
    """Those of the kinds that can be recorded beside what is counted, and switched on and off.

    For records of kernels, CUPTI adds instructions to them (8 a warp on an H200), which the
    counters of a range would count; launches that are replayed have none.  While instructions are
    counted, CUPTI 13.0 and 13.5 hang after some hundred launches if kernels are recorded, and count
    nothing if copies and memsets are, but not kernels.  Where CUPTI sees a thread enter a call and
    not leave it, as calls are not recorded any more, all that it launches has the correlation of
    that call from then on (13.0 and 13.5).

    Args:
        kinds: what would be recorded without counters.
        named: what the user asked for, with commas between.
        range_metrics: what ``--range-metrics`` asks for.
        sass_metrics: what ``--sass-metrics`` asks for.
        budget: what ``--budget`` asks for.

    Raises:
        UsageError: the user named one that cannot be recorded.
    """
    from cupti_etl.schema.kinds import GPU_WORK, SWITCHABLE

    why = "what is counted would change"
    if sass_metrics is not None:
        option, left_out = "--sass-metrics", GPU_WORK
    elif range_metrics is not None and range_metrics.by == "range":
        option, left_out = "--range-by range", ("kernel", "graph_trace")
    elif budget is not None:
        option, why = "--budget", "switching them on and off gives kernels wrong correlations"
        left_out = tuple(kind for kind in kinds if kind not in SWITCHABLE)
    else:
        return kinds
    asked = [word for word in (word.strip() for word in named.split(",")) if word in left_out]
    if asked:
        raise UsageError(
            f"{', '.join(asked)} cannot be recorded with {option}: {why}",
            "make two captures, one with each",
        )
    return tuple(kind for kind in kinds if kind not in left_out)
