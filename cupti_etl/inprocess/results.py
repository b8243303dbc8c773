"""What a capture answers at once: its ranges with their metrics, and their memory."""

from __future__ import annotations

from collections.abc import Sequence

from cupti_etl.api import Result, Trace
from cupti_etl.errors import UsageError, did_you_mean
from cupti_etl.storage.sources import identifier, quoted

REDUCTIONS = ("sum", "max", "mean")


def ranges(trace: Trace, metrics: Sequence[str], reduction: str) -> Result:
    """A row for each range: its kernels, copies, and a column for each metric.

    Raises:
        UsageError: there is no such reduction or metric, or the metric has no sum.
    """
    if reduction not in REDUCTIONS:
        raise UsageError(f"there is no reduction {reduction!r}", f"one of {', '.join(REDUCTIONS)}")
    known = {row["metric"]: row for row in trace.sql("FROM _pm_column")} if metrics else {}
    for name in metrics:
        if name not in known:
            hint = did_you_mean(name, known, "capture with pm=, and see the table pm_metric")
            raise UsageError(f"the trace has no metric {name!r}", hint)
        if reduction == "sum" and known[name]["aggregation"] != "sum":
            raise UsageError(
                f"{name} is no count, and has no sum over kernels", "reduction='mean', or 'max'"
            )
    columns = "".join(
        f", max({reduction}) FILTER (WHERE metric = {quoted(name)}) AS {identifier(name)}"
        for name in metrics
    )
    joined = f"LEFT JOIN (SELECT path, process_id, gpu{columns} FROM range_metric GROUP BY ALL)"
    return trace.sql(
        f"SELECT path, gpu, ranges, kernels, {reduction}_ns AS gpu_ns, copies, copied_bytes"
        f"{''.join(f', {identifier(name)}' for name in metrics)} FROM range_work"
        f" {joined + ' USING (path, process_id, gpu)' if metrics else ''}"
        " ORDER BY gpu_ns DESC NULLS LAST, path"
    )


def memory(trace: Trace, name: str | None) -> Result:
    """What ranges allocated and released; those of a name, or all."""
    if name is None:
        return trace.query("range_memory")
    return trace.sql(
        "FROM range_memory WHERE path = $name OR ends_with(path, ' / ' || $name)", name=name
    )
