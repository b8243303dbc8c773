"""What could be saved, by how much, and which query shows it: the head of a report.

Every finding is a SELECT over queries of the library that gives ``saved_ns`` and ``text``.  What
could save less than a hundredth of the run is none: every run has gaps between its kernels, and
what profiling costs is of that size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cupti_etl.analysis.notes import why_empty
from cupti_etl.errors import EtlError
from cupti_etl.queries.catalog import library

if TYPE_CHECKING:
    from cupti_etl.api import Trace

_SMALLEST = 0.01
NONE = f"None: nothing was found that could save {_SMALLEST:.0%} of the run."


@dataclass(frozen=True)
class Finding:
    """Time that could be saved at most; findings can be of the same time and must not be added."""

    saved_ns: int
    text: str
    advice: str
    query: str


# (query, advice, SELECT): advice is what to do about it.
_FINDINGS = (
    (
        "launch_bound",
        "capture the work in a CUDA graph, or launch fewer and larger kernels",
        "SELECT saved_ns, concat('GPU ', gpu, ' waits for launches: ', verdict) AS text"
        " FROM launch_bound WHERE verdict != 'not launch bound'",
    ),
    (
        "gap_attribution",
        "look at what the host does there: input, Python, other processes",
        "SELECT TRY_CAST(sum(outside_ns) AS BIGINT) AS saved_ns,"
        " concat('GPU ', gpu, ' is idle while its host is outside CUDA') AS text"
        " FROM gap_attribution(min_ns := 100000) GROUP BY gpu",
    ),
    (
        "gap_attribution",
        "look at what its streams wait for: events of other streams, other ranks, graph launches",
        "SELECT TRY_CAST(sum(queued_ns) AS BIGINT) AS saved_ns,"
        " concat('GPU ', gpu, ' is idle while it has work on its queues') AS text"
        # Shorter ones are what beginning a kernel takes.
        " FROM gap_attribution(min_ns := 20000) GROUP BY gpu",
    ),
    (
        "gap_attribution",
        "allocate once and reuse, or use a pool",
        "SELECT TRY_CAST(sum(memory_ns) AS BIGINT) AS saved_ns,"
        " concat('GPU ', gpu, ' is idle while its host allocates, frees or copies') AS text"
        " FROM gap_attribution(min_ns := 0) GROUP BY gpu",
    ),
    (
        "gap_attribution",
        "synchronize less often (item(), print and copies to the host do), or launch ahead of it",
        "SELECT TRY_CAST(sum(waiting_ns) AS BIGINT) AS saved_ns,"
        " concat('GPU ', gpu, ' is idle while its host waits for it') AS text"
        " FROM gap_attribution(min_ns := 0) GROUP BY gpu",
    ),
    (
        "busy_breakdown",
        "overlap it with compute: other streams, smaller buckets, later waits",
        "SELECT exposed_communication_ns AS saved_ns,"
        " concat('GPU ', gpu, ' does nothing but communicate') AS text FROM busy_breakdown",
    ),
    (
        "busy_breakdown",
        "copy in a stream of its own, from pinned memory, while kernels run",
        "SELECT exposed_copy_ns AS saved_ns,"
        " concat('GPU ', gpu, ' does nothing but copy or set memory') AS text FROM busy_breakdown",
    ),
    (
        "memcpy_blocking",
        "pin the host memory, and use asynchronous calls",
        # The run gains no more than the GPUs were idle meanwhile.
        "SELECT TRY_CAST(least(sum(saved_ns), (SELECT sum(waiting_ns + memory_ns)"
        " FROM gap_attribution(min_ns := 0))) AS BIGINT) AS saved_ns,"
        " concat(sum(calls), ' copies or sets keep the host from going on') AS text"
        " FROM memcpy_blocking HAVING count(*) > 0",
    ),
    (
        "memcpy_small",
        "gather them into one copy",
        "SELECT saved_ns, concat(in_runs, ' small copies ', copy_kind, ' come in ', runs, ' runs')"
        " AS text FROM memcpy_small()",
    ),
    (
        "kernel_waves",
        "give them more blocks, or run several at once",
        "SELECT TRY_CAST(sum(wasted_ns) AS BIGINT) AS saved_ns,"
        " concat(count(*), ' kernels and shapes do not fill the device') AS text"
        " FROM kernel_waves WHERE verdict = 'less than one wave' HAVING count(*) > 0",
    ),
    (
        "kernel_tail",
        "see what was around the slowest (kernel_worst): contention, clocks, different data",
        "SELECT TRY_CAST(sum(lost_ns) AS BIGINT) AS saved_ns,"
        " concat(count(*), ' kernels and shapes have runs of more than twice their median') AS text"
        " FROM kernel_tail() WHERE lost_ns > 0 HAVING count(*) > 0",
    ),
    (
        "step_breakdown",
        "compare these steps with the others: warm-up, evaluation, checkpoints",
        "SELECT TRY_CAST(sum(duration_ns) - count(*) * any_value(median_ns) AS BIGINT) AS saved_ns,"
        " concat('GPU ', gpu, ': ', count(*), ' of the steps took far longer than most') AS text"
        " FROM (SELECT *, median(duration_ns) OVER (PARTITION BY process_id, gpu) AS median_ns"
        # A period of kernels is a guess, and may be of layers.
        " FROM step_breakdown WHERE source = 'nvtx') WHERE is_outlier GROUP BY process_id, gpu",
    ),
    (
        "jit_module_load",
        "load and compile before the loop (CUDA_MODULE_LOADING=EAGER, a warm-up step)",
        # A call that loads contains the compilation that it causes: they are not added.
        "SELECT max(late_ns) AS saved_ns, concat(arg_max(late, late_ns),"
        " ' compilations or loads after the start') AS text"
        " FROM (SELECT TRY_CAST(sum(late_ns) AS BIGINT) AS"
        " late_ns, sum(late) AS late FROM jit_module_load GROUP BY source) HAVING max(late_ns) > 0",
    ),
    (
        "rank_stragglers",
        "look at that rank's host, clocks and share of the data",
        "SELECT waiting_caused_ns AS saved_ns, concat('the others wait for rank ', rank) AS text"
        " FROM rank_stragglers WHERE is_persistent",
    ),
)


def find(trace: Trace, failed: dict[str, str] | None = None) -> list[Finding]:
    """All findings, the largest first: what could save a hundredth of the run or more.

    Args:
        trace: where to look.
        failed: gets, by the name of a query that could not be answered, why.

    Raises:
        EtlError: a query could not be answered, and there is no ``failed``.
    """
    found: list[Finding] = []
    whole = "SELECT coalesce(max(span_ns), 0) AS ns FROM busy_breakdown"
    least = 0.0
    for query, advice, sql in (("busy_breakdown", "", whole), *_FINDINGS):
        try:
            rows = [] if why_empty(trace, library()[query]) else list(trace.sql(sql))
        except EtlError as error:
            if failed is None:
                raise
            failed[query] = error.message
            continue
        if sql is whole:
            least = _SMALLEST * max((row["ns"] for row in rows), default=0)
            continue
        found += [
            Finding(row["saved_ns"], row["text"], advice, query)
            for row in rows
            if row["saved_ns"] and row["saved_ns"] >= least
        ]
    return sorted(found, key=lambda finding: -finding.saved_ns)
