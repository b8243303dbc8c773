"""``cupti_etl.range_metrics()``: exact counters of what a block launches."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cupti_etl.inprocess.capture import Capture


def range_metrics(
    metrics: str | Sequence[str],
    out: str | os.PathLike[str] | None = None,
    *,
    filter: str = "",
    limit: int | None = None,
    cache_control: str = "flush",
    by: str = "kernel",
    **options: object,
) -> Capture:
    """Measures hardware counters of each launch in a block, by executing its kernel repeatedly.

    It is a ``capture`` of its own, and can be a decorator, too::

        with cupti_etl.range_metrics(["memory", "smsp__inst_executed.sum"], limit=3) as run:
            train()
        run.trace.query("kernel_counter").show()

    Times of kernels in it are not those of the program.  Where CUPTI refuses, the rest is recorded,
    and the table ``loss`` says why (``range_refused``).

    Args:
        metrics: names as CUPTI has them, and presets, as ``cupti-etl capture --range-metrics``.
        out: as of ``capture``.
        filter: extended regular expression; measure only kernels whose mangled name matches.
        limit: measure only the first so many launches of each kernel and shape.
        cache_control: ``flush`` empties caches before each execution, ``none`` does not.
        by: ``kernel``, or ``range``: what runs while the range of ``capture_range`` is open.
        options: those of ``capture``.

    Raises:
        UsageError: when it begins: a metric, the expression or another option cannot be, or this
            process is being captured already.
        CaptureError: when it begins: there is no CUPTI, or it refuses.
    """
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    return Capture(
        out,
        range_metrics=names,
        range_filter=filter or None,
        range_limit=limit,
        range_cache_control=None if cache_control == "flush" else cache_control,
        range_by=None if by == "kernel" else by,
        **options,  # type: ignore[arg-type]
    )
