"""What the collector knows of one traced process, and its rows of the tables about processes."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cupti_etl.capture.loss import emitted, losses, stored
from cupti_etl.capture.segment import NOT_FLUSHED, NOT_TRACED, Process
from cupti_etl.schema.loss import Loss

_STATES = {NOT_TRACED: "failed", NOT_FLUSHED: "not flushed"}


@dataclass
class Traced:
    """A process the collector knows: its segment, and its socket while it has one."""

    process: Process
    socket: socket.socket | None
    end_ns: int | None = None
    is_ending: bool = False  # it has ended, its slots are not empty yet
    is_abandoned: bool = False  # it still ran when the capture was told to end
    # Of one that was resumed: its records wait for strings that are still to come.
    awaits_strings: bool = False
    aside: list[bytes] = field(default_factory=list)
    _final: tuple[dict[str, Any], list[Loss]] | None = None
    _totals: tuple[int, int] | None = None

    def row(self) -> dict[str, Any]:
        """The row of ``process`` as it is now."""
        return dict(self._facts()[0])

    def losses(self) -> list[Loss]:
        """The losses so far."""
        return self._facts()[1]

    def rows_and_records(self) -> tuple[int, int]:
        """Rows stored and records emitted so far."""
        if self._totals is not None:
            return self._totals
        totals = stored(self.process), emitted(self.process)
        if self.end_ns is not None:
            self._totals = totals
        return totals

    def new_windows(self) -> Iterator[dict[str, Any]]:
        """Rows of ``capture_window`` that are new: closed, or left open by a process's end."""
        for window in self.process.new_windows(self.end_ns is not None):
            yield {"process_id": self.process.process_id, **vars(window)}

    def _facts(self) -> tuple[dict[str, Any], list[Loss]]:
        if self._final is not None:
            return self._final
        facts = _process_row(self), losses(self.process, self.end_ns, self.is_abandoned)
        if self.end_ns is not None:  # nothing changes any more
            self._final = facts
        return facts


def _fit(value: int | None, bits: int = 32) -> int | None:
    """The number if it fits its column; a foreign process can say anything."""
    limit = 1 << (bits - 1)
    return value if value is not None and -limit <= value < limit else None


def _process_row(traced: Traced) -> dict[str, Any]:
    info = traced.process.info()
    has_ended = traced.end_ns is not None
    if info.is_complete(has_ended):
        state = "finished"
    else:
        state = _STATES.get(info.state, "killed" if has_ended else "tracing")
    return {
        "process_id": info.process_id,
        "pid": info.pid,
        "parent_pid": info.parent_pid,
        "host": info.host,
        "argv": info.argv or None,
        "start_ns": info.start_ns,
        "end_ns": traced.end_ns,
        "state": "lost" if traced.is_abandoned else state,
        "detail": info.detail or None,
        "rank": _fit(info.rank),
        "local_rank": _fit(info.local_rank),
        "world_size": _fit(info.world_size),
        "slurm_job_id": info.slurm_job_id,
        "slurm_proc_id": _fit(info.slurm_proc_id),
        "replay_run": _fit(info.replay_run or None),
        "cupti_version": _fit(info.cupti_version or None),
        "cupti_path": info.cupti_path or None,
        "records": "selected" if info.is_selected else "fixed",
        "driver_version": info.driver_version or None,
        "emitted": _fit(emitted(traced.process), 64),
        "stored": stored(traced.process),
    }
