"""Answers that take more than one query: what could be saved, and what differs in two traces."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cupti_etl.analysis.diff import comparable, diff_as_given
from cupti_etl.analysis.findings import find, none
from cupti_etl.analysis.notes import options_of
from cupti_etl.api import Trace
from cupti_etl.api import open as open_trace
from cupti_etl.errors import UsageError
from cupti_etl.queries.choose import Scope
from cupti_etl.queries.query import Chart
from cupti_etl.render.columns import Column, Shape
from cupti_etl.render.narrow import narrow
from cupti_etl.render.output import InMemory
from cupti_etl.serve.asked import Asked, part_of
from cupti_etl.serve.formats import Answered
from cupti_etl.serve.refused import Refused
from cupti_etl.serve.running import Running

_FINDINGS = {
    "saved_ns": "ns",
    "percent": "%",
    "finding": "1",
    "sure": "1",
    "advice": "1",
    "query": "1",
}
_FINDINGS_FORM = Shape(
    tuple(Column(name, unit) for name, unit in _FINDINGS.items()),
    chart=Chart("bars", "finding", "saved_ns"),
)
_COMPARED = (
    "name", "subject", "verdict", "slower_pct", "before_mean_ns", "after_mean_ns", "change_ns",
    "before_calls", "after_calls",
)  # fmt: skip


@contextmanager
def findings_rows(whole: Trace, asked: Asked, running: Running) -> Iterator[Answered]:
    """What could be saved, of the steady state where nobody asks for something else.

    Raises:
        UsageError: the scope cannot be.
        TraceError: a part is damaged, or has vanished.
    """
    import pyarrow as pa

    with part_of(whole, whole.usual(asked.scope)) as part, running.session(part) as session:
        rows = [{**vars(each), "finding": each.text} for each in find(session)]
        found = pa.table({name: [row[name] for row in rows] for name in _FINDINGS})
        names = shlex.join(path.name for path in whole.paths)
        command = f"cupti-etl report {names}{options_of(part, is_steady=True)}"
        form = InMemory(found, _FINDINGS_FORM)
        said = [none(session)]
        yield Answered(
            narrow(form, asked.rows), part.says, command, lambda empty: said if empty else []
        )


@contextmanager
def compared_rows(paths: Sequence[Path], asked: Asked, running: Running) -> Iterator[Answered]:
    """What differs from the first of two traces to the second, of the part that `diff` compares.

    Raises:
        Refused: other than two traces are served.
        UsageError: a part is asked for.
        TraceError: a part is damaged, or has vanished.
    """
    if len(paths) != 2:
        raise Refused(
            422,
            f"two traces are compared, and the number of those that are served is {len(paths)}",
            "cupti-etl serve BEFORE AFTER",
        )
    if asked.scope != Scope() or asked.params:
        raise UsageError("a comparison takes no part and no parameters", "leave them out")
    with ExitStack() as stack:
        traces = [stack.enter_context(open_trace(path, confined=True)) for path in paths]
        scope = comparable(traces, Scope())
        parts = [stack.enter_context(part_of(trace, scope)) for trace in traces]
        before, after = (stack.enter_context(running.session(part)) for part in parts)
        found = diff_as_given(before, after)
        says = "; ".join(f"{part.path.name}: {part.says}" for part in parts if part.says)
        rows = InMemory(found.table.select(_COMPARED) if found.table.num_rows else found.table)
        command = f"cupti-etl diff {shlex.join(path.name for path in paths)}"
        yield Answered(narrow(rows, asked.rows), says, command, lambda empty: found.said)
