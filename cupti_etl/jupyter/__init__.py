"""The timeline of a trace in a notebook: ``timeline(trace)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cupti_etl.api import Trace
from cupti_etl.errors import UsageError, need
from cupti_etl.serve.built import WIDGET

if TYPE_CHECKING:
    from cupti_etl.jupyter.widget import Timeline

__all__ = ["timeline"]


def timeline(trace: Trace, *, height: int = 480, range: tuple[int, int] | None = None) -> Timeline:
    """The timeline of an opened trace, as a widget for notebooks.

    It asks the trace, so it works as long as the trace is open.  ``range``, ``window`` and
    ``selection`` of the widget follow what is done with the mouse, and can be set.

    Args:
        trace: a whole trace.
        height: of the lanes, in pixels.
        range: the part that is chosen: begin and end in ns since the trace's beginning.

    Raises:
        UsageError: anywidget is not installed, the widget is not built, or the trace is a part.
    """
    need("anywidget", todo="pip install 'cupti-etl[jupyter]'")
    if not WIDGET.is_file():
        raise UsageError(
            "this installation has no widget, as it was not built",
            "install a wheel from the package index, or run make web in the sources",
        )
    if trace.whole is not trace:
        raise UsageError(
            "this is a part of a trace, and the timeline shows all of one",
            "timeline(trace, range=(begin_ns, end_ns)) of the whole trace shows a part first",
        )
    from cupti_etl.jupyter.widget import Timeline

    return Timeline(trace, height=height, range=range)
