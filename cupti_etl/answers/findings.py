"""What could be saved, by how much, and which query shows it: the head of a report.

Every finding is a SELECT over queries of the library that gives ``saved_ns`` and ``text``.  What
is below a thousandth of the run is not worth a line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cupti_etl.answers.notes import why_empty
from cupti_etl.queries.catalog import library

if TYPE_CHECKING:
    from cupti_etl.trace import Trace

_SMALLEST = 0.001


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
        "SELECT sum(outside_ns)::BIGINT AS saved_ns,"
        " concat('GPU ', gpu, ' is idle while its host is outside CUDA') AS text"
        " FROM gap_attribution(min_ns := 100000) GROUP BY gpu",
    ),
    (
        "gap_attribution",
        "look at what its streams wait for: events of other streams, other ranks, graph launches",
        "SELECT sum(queued_ns)::BIGINT AS saved_ns,"
        " concat('GPU ', gpu, ' is idle while it has work on its queues') AS text"
        # Shorter ones are what beginning a kernel takes.
        " FROM gap_attribution(min_ns := 20000) GROUP BY gpu",
    ),
    (
        "gap_attribution",
        "allocate once and reuse, or use a pool",
        "SELECT sum(memory_ns)::BIGINT AS saved_ns,"
        " concat('GPU ', gpu, ' is idle while its host allocates, frees or copies') AS text"
        " FROM gap_attribution(min_ns := 0) GROUP BY gpu",
    ),
    (
        "gap_attribution",
        "synchronize less often (item(), print and copies to the host do), or launch ahead of it",
        "SELECT sum(waiting_ns)::BIGINT AS saved_ns,"
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
        "SELECT least(sum(saved_ns), (SELECT sum(waiting_ns + memory_ns)"
        " FROM gap_attribution(min_ns := 0)))::BIGINT AS saved_ns,"
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
        "SELECT sum(wasted_ns)::BIGINT AS saved_ns,"
        " concat(count(*), ' kernels and shapes do not fill the device') AS text"
        " FROM kernel_waves WHERE verdict = 'less than one wave' HAVING count(*) > 0",
    ),
    (
        "kernel_tail",
        "see what was around the slowest (kernel_worst): contention, clocks, different data",
        "SELECT sum(lost_ns)::BIGINT AS saved_ns,"
        " concat(count(*), ' kernels and shapes have runs of more than twice their median') AS text"
        " FROM kernel_tail() WHERE lost_ns > 0 HAVING count(*) > 0",
    ),
    (
        "step_breakdown",
        "compare these steps with the others: warm-up, evaluation, checkpoints",
        "SELECT (sum(duration_ns) - count(*) * any_value(median_ns))::BIGINT AS saved_ns,"
        " concat('GPU ', gpu, ': ', count(*), ' of the steps took far longer than most') AS text"
        " FROM (SELECT *, median(duration_ns) OVER (PARTITION BY process_id, gpu) AS median_ns"
        " FROM step_breakdown) WHERE is_outlier GROUP BY process_id, gpu",
    ),
    (
        "jit_module_load",
        "load and compile before the loop (CUDA_MODULE_LOADING=EAGER, a warm-up step)",
        # A call that loads contains the compilation that it causes: they are not added.
        "SELECT max(late_ns) AS saved_ns, concat(arg_max(late, late_ns),"
        " ' compilations or loads after the start') AS text FROM (SELECT sum(late_ns)::BIGINT AS"
        " late_ns, sum(late) AS late FROM jit_module_load GROUP BY source) HAVING max(late_ns) > 0",
    ),
    (
        "rank_stragglers",
        "look at that rank's host, clocks and share of the data",
        "SELECT waiting_caused_ns AS saved_ns, concat('the others wait for rank ', rank) AS text"
        " FROM rank_stragglers WHERE is_persistent",
    ),
)


def find(trace: Trace) -> list[Finding]:
    """All findings, the largest first.

    Raises:
        TraceError: a part of the trace cannot be read.
    """
    whole = trace.sql("SELECT coalesce(max(span_ns), 0) AS ns FROM busy_breakdown").arrow()
    least = _SMALLEST * whole["ns"][0].as_py()
    found = []
    for query, advice, sql in _FINDINGS:
        if why_empty(trace, library()[query]):
            continue
        found += [
            Finding(row["saved_ns"], row["text"], advice, query)
            for row in trace.sql(sql)
            if (row["saved_ns"] or 0) > least
        ]
    return sorted(found, key=lambda finding: -finding.saved_ns)
