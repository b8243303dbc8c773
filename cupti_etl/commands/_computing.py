"""A line on the terminal that says what is computed of a trace, as long as that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cupti_etl.progress import Line

if TYPE_CHECKING:
    from cupti_etl.api import Trace


def show_computing(trace: Trace) -> None:
    """Show from now on what is computed of a trace, and of parts of it that are opened later."""
    from cupti_etl.queries.catalog import library

    line = Line()

    def tell(name: str) -> None:
        if name:
            line.show(f"cupti-etl: computing: {library()[name].doc}")
        else:
            line.clear()

    trace.tell(tell)
