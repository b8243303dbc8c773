"""The widget itself.  It needs anywidget, so that it is imported when somebody makes one."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from cupti_etl.api import Trace
from cupti_etl.jupyter.answers import Answers
from cupti_etl.serve.built import WIDGET


def _times(doc: str) -> traitlets.Tuple:
    """Begin and end of a part of the trace, or None."""
    both = (traitlets.Int(), traitlets.Int())
    return traitlets.Tuple(*both, default_value=None, allow_none=True, help=doc).tag(sync=True)


class Timeline(anywidget.AnyWidget):
    """A timeline; ``cupti_etl.jupyter.timeline`` makes one.

    Attributes:
        trace: that is shown.
        range: the part that is chosen, by dragging: begin and end in ns since the trace's
            beginning, or None.
        window: the part that is visible, alike; None for the whole trace.
        selection: what was clicked, or None: its ``lane`` and ``depth`` as in the query
            timeline_lane, and ``start_ns`` since the trace's beginning.
        height: of the lanes, in pixels.
    """

    _esm = WIDGET.read_text(encoding="utf-8")

    range = _times("chosen part, ns since the trace's beginning")
    window = _times("visible part, ns since the trace's beginning")
    selection = traitlets.Dict(
        per_key_traits={name: traitlets.Int() for name in ("lane", "depth", "start_ns")},
        default_value=None,
        allow_none=True,
        help="what was clicked",
    ).tag(sync=True)
    height = traitlets.Int(480, min=100, help="of the lanes, pixels").tag(sync=True)

    def __init__(self, trace: Trace, **traits: Any) -> None:
        super().__init__(**traits)
        self.trace = trace
        self._answers = Answers(trace, self.send)
        self.on_msg(self._take)

    def scope(self, **more: Any) -> Trace:
        """The chosen part of the trace, which is asked like the trace; all of it, if none is.

        Args:
            more: as of ``Trace.scope``.

        Raises:
            UsageError: as of ``Trace.scope``.
        """
        if self.range:
            begin, end = self.range
            more = {"from_": f"{begin}ns", "to": f"{end}ns", **more}
        return self.trace.scope(**more)

    def close(self) -> None:
        """Take it out of the notebook; the trace stays open."""
        answers: Answers | None = getattr(self, "_answers", None)
        if answers:
            answers.close()
        super().close()

    def __repr__(self) -> str:
        # What is left of it in a notebook that was converted, or printed.
        names = ", ".join(path.name for path in self.trace.paths)
        return f"<timeline of {names}; run the cell to see it>"

    def _take(self, _: object, message: Any, __: object) -> None:
        if isinstance(message, dict):
            self._answers.take(message)

    @traitlets.validate("range", "window")
    def _in_order(self, proposal: Any) -> Any:
        times = proposal["value"]
        if times and not 0 <= times[0] < times[1]:
            raise traitlets.TraitError(f"{times[0]} to {times[1]}: the end is not after the begin")
        return times

    @traitlets.validate("selection")
    def _whole(self, proposal: Any) -> Any:
        chosen = proposal["value"]
        if chosen is not None and set(chosen) != {"lane", "depth", "start_ns"}:
            raise traitlets.TraitError("a selection has a lane, a depth and start_ns")
        return chosen
