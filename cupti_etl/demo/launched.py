"""What a program gave to the GPU, counted by the program itself.

The other side of a trace: the program logs each launch, copy and set as it asks for it,
and a check compares that log with the tables.  A log is one JSON object::

    {"program": "...", "pid": 1, "begin_ns": ..., "end_ns": ...,
     "kernels": [{"name": mangled, "stream": label, "grid_x": 64, "count": 100}, ...],
     "graph_kernels": [{"name": mangled, "grid_x": 16, "count": 50}, ...],
     "copies":  [{"kind": "HtoD", "bytes": 262144, "count": 100}, ...],
     "memsets": [{"bytes": 4, "count": 100}, ...],
     "streams": {label: number that cuStreamGetId gives, or null},
     "probes":  [{"name": mangled, "grid_x": 200, "begin_ns": ..., "end_ns": ...}, ...],
     "complete": true}

Times are CLOCK_REALTIME; ``begin_ns``/``end_ns`` stand before the first and after the last
piece of GPU work.  A program gives each stream a grid size of its own, so that ``(name,
grid_x)`` names the stream whatever number CUPTI has for it.  A probe is a launch that was
waited for, between two readings of the clock.  ``complete`` says that the log names every
kernel, copy and set of the process, not only those that the program knows by name.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any


def now_ns() -> int:
    """CLOCK_REALTIME in nanoseconds, the clock of every timestamp in a trace."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


class LaunchLog:
    """Counts what a program asks for, and writes it down.

    Args:
        program: a name for the program.
        complete: whether everything the process does on the GPU is counted here.
    """

    def __init__(self, program: str, *, complete: bool) -> None:
        self.program = program
        self.complete = complete
        self.begin_ns = 0
        self.end_ns = 0
        self.streams: dict[str, int | None] = {}
        self.probes: list[dict[str, Any]] = []
        self.extra: dict[str, Any] = {}
        self._kernels: Counter[tuple[str, str, int]] = Counter()
        self._graph_kernels: Counter[tuple[str, int]] = Counter()
        self._copies: Counter[tuple[str, int]] = Counter()
        self._memsets: Counter[int] = Counter()

    def begin(self) -> None:
        """Note the time: no GPU work was asked for yet."""
        self.begin_ns = now_ns()

    def end(self) -> None:
        """Note the time: all GPU work was waited for."""
        self.end_ns = now_ns()

    def kernel(self, name: str, stream: str, grid_x: int, count: int = 1) -> None:
        """Launches of a kernel in a stream, outside graphs."""
        self._kernels[name, stream, grid_x] += count

    def graph_kernel(self, name: str, grid_x: int, count: int) -> None:
        """Executions of a kernel by replays of a graph."""
        self._graph_kernels[name, grid_x] += count

    def copy(self, kind: str, size: int, count: int = 1) -> None:
        """Copies of ``size`` bytes; kind is HtoD, DtoH or DtoD."""
        self._copies[kind, size] += count

    def memset(self, size: int, count: int = 1) -> None:
        """Sets of ``size`` bytes."""
        self._memsets[size] += count

    def probe(self, name: str, grid_x: int, begin_ns: int, end_ns: int) -> None:
        """One launch that began and ended between two readings of the clock."""
        self.probes.append({"name": name, "grid_x": grid_x, "begin_ns": begin_ns, "end_ns": end_ns})

    def as_dict(self) -> dict[str, Any]:
        """The log as plain data."""
        return {
            "program": self.program,
            "pid": os.getpid(),
            "begin_ns": self.begin_ns,
            "end_ns": self.end_ns,
            "complete": self.complete,
            "kernels": [
                {"name": name, "stream": stream, "grid_x": grid_x, "count": count}
                for (name, stream, grid_x), count in self._kernels.items()
            ],
            "graph_kernels": [
                {"name": name, "grid_x": grid_x, "count": count}
                for (name, grid_x), count in self._graph_kernels.items()
            ],
            "copies": [
                {"kind": kind, "bytes": size, "count": count}
                for (kind, size), count in self._copies.items()
            ],
            "memsets": [{"bytes": size, "count": count} for size, count in self._memsets.items()],
            "streams": self.streams,
            "probes": self.probes,
            **self.extra,
        }

    def dumps(self) -> str:
        """The log as one line of JSON."""
        return json.dumps(self.as_dict(), sort_keys=True)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the log to a file, whole or not at all."""
        target = Path(path)
        draft = target.with_name(target.name + ".tmp")
        draft.write_text(self.dumps() + "\n")
        draft.replace(target)
