"""What is known of a trace at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Row = Mapping[str, Any]

WAITING, RECORDING, FINISHED = "waiting", "recording", "finished"


@dataclass(frozen=True)
class Reading:
    """One reading; times are nanoseconds, those of moments since 1970.

    Attributes:
        state: waiting (nothing is written yet), recording or finished.
        command: the traced command; None if it is not known.
        start_ns: when the capture began.
        at_ns: until when the trace is known; None if nothing is.
        now_ns: the length of "now", up to ``at_ns``; None if nothing is said of it.
        gpus: by number, with what they did, memory in use and means of PM metrics.
        kernels: by name, those with most time first.
        calls: API calls and launches, as sums.
        copies: by direction.
        steps: of each process and GPU that has any, how long the last took and the median.
        losses: what was lost, by cause.
        processes: traced ones.
    """

    state: str = WAITING
    command: str | None = None
    start_ns: int | None = None
    at_ns: int | None = None
    now_ns: int | None = None
    gpus: Sequence[Row] = ()
    kernels: Sequence[Row] = ()
    calls: Row = field(default_factory=dict)
    copies: Sequence[Row] = ()
    steps: Sequence[Row] = ()
    losses: Sequence[Row] = ()
    processes: Sequence[Row] = ()

    @property
    def age_ns(self) -> int | None:
        """From the beginning of the capture to the last that is known of it."""
        if self.start_ns is None or self.at_ns is None:
            return None
        return max(0, self.at_ns - self.start_ns)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "age_ns": self.age_ns}
