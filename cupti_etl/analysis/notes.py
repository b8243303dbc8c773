"""What belongs beside an answer: why it is empty, and what is missing from one that is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Any

from cupti_etl.engines.engine import DUCKDB
from cupti_etl.errors import EtlError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.empty import hidden, why_empty
from cupti_etl.queries.query import Query
from cupti_etl.render.rows import Passed
from cupti_etl.render.values import duration

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.api import Trace
    from cupti_etl.render.rows import Rows

# Queries about losses say so themselves.
_TELLS_LOSSES = "capture_health"
# What has operators and ranges, which are in the part in which the host was in them.
_RANGES = ("pytorch", "ranges", "jax")
# What knows by its calls which work on GPUs an operator, a range or a line asked for.
_BY_CALLS = (*_RANGES, "python")
_OPERATORS = "pytorch"
_KERNELS = "kernels"
_MEMORY = "memory"
# What findings of a report are about.
OF_FINDINGS = frozenset({_KERNELS, _MEMORY})
# Less of the time is not worth a word.
MUCH_PCT = 5
_ERRORS = 3


class Watched(Passed):
    """Rows that know, once they were read, whether there was one."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.is_empty = True

    def through(self, rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """The same rows."""
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(rows.schema, self._watch(rows))

    def _watch(self, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            self.is_empty = self.is_empty and not batch.num_rows
            yield batch


def options_of(trace: Trace, *, is_steady: bool) -> str:
    """The options with which a command asks this part of a trace.

    Args:
        trace: the part.
        is_steady: whether the command asks the steady state unless it is told not to.
    """
    choice = trace.choice
    if not is_steady or (choice and (choice.windows or "--steps" in choice.options)):
        return trace.options
    try:
        has_steady_state = trace.has_steady_state
    except EtlError:  # what needs the steps says so
        has_steady_state = False
    return f"{trace.options} --steps all" if has_steady_state else trace.options


def losses(trace: Trace) -> str:
    """What the capture lost, by cause: ``ring_full 12, killed ?``; "" if nothing is known."""
    rows = sorted(trace.query("_loss_cause"), key=lambda row: str(row["cause"]))
    return ", ".join(
        f"{row['cause']} {'?' if row['records'] is None else row['records']}" for row in rows
    )


def failed_calls(trace: Trace) -> str:
    """Which calls failed, the most first: ``21 of cudaLaunchKernel (invalid PTX, 218)``."""
    rows = sorted(trace.query("_failed_call"), key=lambda row: (-row["calls"], row["name"]))
    return ", ".join(
        f"{row['calls']:,} of {row['name']} ({row['told'] or 'error'}, {row['return_value']})"
        for row in rows[:_ERRORS]
    ) + (f" and {len(rows) - _ERRORS} more errors" if len(rows) > _ERRORS else "")


def notes(
    trace: Trace, query: Query, given: Mapping[str, Any], *, is_empty: bool, engine: str = DUCKDB
) -> Iterator[str]:
    """What belongs beside the rows: why there are none, and what was lost.

    Args:
        trace: that was asked.
        query: by which query.
        given: values of its parameters.
        is_empty: whether it had no row.
        engine: which computed it; it is asked, too, where all of the trace would have to be read.
    """
    if is_empty:
        reason = "it has rows, but --where or --limit leaves none of them."
        if missing := why_empty(trace, query):
            reason = missing
        elif not trace.query(query.name, **given).count():
            reason = hidden(trace, query, given, "--param ")
        yield f"{query.name}: {reason}"
    if not is_empty and query.topic == "metrics":
        yield from _alignment(trace)
    if not is_empty and query.topic == "steps":
        yield from guessed(trace, engine)
    if not is_empty and query.topic == "ranks":
        yield from _clocks(trace, engine)
    if engine == DUCKDB and _is_of_ranges(query):
        yield from (f"{text}." for text in outside(trace))
    if engine == DUCKDB and not is_empty:
        yield from (f"{text}." for text in lacking(trace, {query.topic}))
    lost = "" if query.name == _TELLS_LOSSES else losses(trace.whole)
    if lost:
        yield f"warning: the capture has losses ({lost}), so numbers may be too small."


def _is_of_ranges(query: Query) -> bool:
    """Whether a part has those rows of it whose ranges the host was in."""
    if query.is_of_whole:
        return query.is_of_host and query.topic in _RANGES
    looked_up = set(query.lookup)
    needs = (name for name in query.needs if name in library() and name not in looked_up)
    return any(_is_of_ranges(library()[name]) for name in needs)


def outside(trace: Trace) -> Iterator[str]:
    """That operators and ranges of a part are those of other work, where much of that is."""
    if not trace.says or trace.whole is trace:
        return
    for row in trace.query("_launched_outside"):
        if row["percent"] and row["percent"] >= MUCH_PCT:
            yield (
                f"{row['percent']:.0f} % of the work on GPUs of this part was launched outside of"
                " it, by operators and ranges that are not shown: these are the ones in which the"
                " host was in this part"
            )


def lacking(trace: Trace, topics: Set[str]) -> Iterator[str]:
    """What answers of these topics lack: work on GPUs, where that is much, and page faults."""
    if not topics.isdisjoint(_BY_CALLS):
        for row in trace.query("_work_without_call"):
            if row["percent"] and row["percent"] >= MUCH_PCT:
                yield (
                    f"{row['percent']:.0f} % of the work on GPUs was launched before the trace"
                    " began, or by calls that were not recorded, so no operator and no range has it"
                )
    # Most traces have no such graph; to sum up all work for them would take longer than the answer.
    if _KERNELS in topics and trace.has_rows("graph_trace"):
        for row in trace.query("_whole_graph"):
            if row["percent"] and row["percent"] >= MUCH_PCT:
                yield (
                    f"{row['percent']:.0f} % of the work on GPUs are CUDA graphs that were recorded"
                    " as a whole, so no kernel of them is known (nsys profile"
                    " --cuda-graph-trace=node, cupti-etl capture --graph node)"
                )
    if _MEMORY in topics and trace.whole.has_rows("_managed_memory"):
        yield (
            "the program allocates managed memory, and no page fault or move of it was recorded"
            " (cupti-etl capture --kinds default,unified_memory), so what kernels and the host wait"
            " for it counts as time of their own"
        )
    if _OPERATORS in topics:
        for row in trace.whole.query("_work_without_operator"):
            yield from _without_operators(row)


def _without_operators(row: Mapping[str, Any]) -> Iterator[str]:
    percent, graphs = row["percent"] or 0, row["graph_percent"] or 0
    # Where graphs did more, operators launched some of them.
    if MUCH_PCT <= graphs <= percent + 1:
        yield (
            f"{percent:.0f} % of the work on GPUs was asked for by no operator: graphs of CUDA or"
            f" HIP, which launched {graphs:.0f} %, run without operators; a run without graphs"
            " shows whose it is"
        )
    elif percent - (row["annotation_percent"] or 0) >= MUCH_PCT:
        yield f"{percent:.0f} % of the work on GPUs was asked for by no operator"


def guessed(trace: Trace, engine: str = DUCKDB) -> Iterator[str]:
    """That steps are a guess, if they are."""
    # Workers know no step alone.
    name = "step" if engine == DUCKDB else "step_breakdown"
    steps = trace.engine(engine).query(name)
    guesses = [row["confidence"] for row in steps if row["source"] == "kernels"]
    if guesses:
        yield (
            f"these steps are guessed from kernels that repeat (confidence {min(guesses):.2f});"
            " steps that NVTX ranges mark are certain."
        )


def _clocks(trace: Trace, engine: str) -> Iterator[str]:
    for row in trace.engine(engine).query("_clock_apart"):
        ahead_ns = row["ahead_ns"]
        yield (
            f"the clock of {row['who']} is {duration(abs(ahead_ns))}"
            f" {'ahead of' if ahead_ns > 0 else 'behind'} that of {row['first']}, as their"
            " collectives tell; queries about ranks take that out, and times in tables of"
            " different hosts cannot be compared."
        )


def _alignment(trace: Trace) -> Iterator[str]:
    for row in sorted(trace.query("pm_alignment"), key=lambda row: str(row["device_uuid"])):
        if row["detail"] is not None:
            yield (
                f"warning: how late the samples of {row['device_uuid']} are is not known:"
                f" {row['detail']}."
            )
