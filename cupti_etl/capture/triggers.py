"""What makes a flight recorder write: ``--trigger``.

Each trigger looks at whole batches with Arrow; of single rows only at those of steps.
"""

from __future__ import annotations

import re
import statistics
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cupti_etl.errors import UsageError
from cupti_etl.schema.api_levels import LAUNCH
from cupti_etl.schema.kinds import KINDS
from cupti_etl.units import duration_ns, rounded

if TYPE_CHECKING:
    import pyarrow as pa

SIGNAL, EXIT = "signal", "exit!=0"
DEFAULT = (EXIT, SIGNAL)
_FORMS = "give signal, exit!=0, nvtx:NAME, slow-step>1.5x, slow-step:NAME>1.5x or hang>10s"
_SLOW = re.compile(r"slow-step(?::(?P<name>.+))?>(?P<factor>\d{1,6}(?:\.\d{1,6})?)x\Z", re.DOTALL)
# Ranges that are steps, by their names; of optimizers and schedulers, parts of steps are called so.
_STEP = (
    r"(?i)^ProfilerStep#[0-9]+$|^execute_.*(context|generation)_|run_(training_)?batch$"
    r"|(^|[.: ])execute_model$|(^|[^a-z])(step|iter|iteration)s?([^a-z]|$)"
)
_NO_STEP = r"(?i)optimi[sz]er|scheduler"
# What stands between the name of a step and its number.
_AROUND = " #_:-"
# Steps whose median is the usual, and how many there must be before one can be slow.
_STEPS, _FEWEST = 20, 5
# Ranges that are open at a time, and names of steps: who opens them without end costs no more.
_MOST_OPEN, _MOST_STEMS = 10_000, 1000
_GPU_WORK = frozenset(kind.table for kind in KINDS if kind.is_gpu_work)
_LAUNCHES = "|".join(f"^{each.rstrip('*')}" for each in LAUNCH)


@dataclass(frozen=True)
class Fired:
    """A trigger that fired.

    Attributes:
        trigger: as ``--trigger`` has it.
        detail: what happened, in a sentence without its full stop.
        process_id: in which process; None if in none.
    """

    trigger: str
    detail: str
    process_id: int | None = None


@dataclass(frozen=True)
class Alive:
    """A traced process that has not ended."""

    process_id: int
    pid: int


class Trigger:
    """One that looks at rows; this one never fires.

    Args:
        text: as ``--trigger`` has it.
    """

    # Which tables must be recorded for it, one of each group.
    needs: tuple[str, ...] = ()

    def __init__(self, text: str) -> None:
        self.text = text

    def look(self, table: str, batch: pa.RecordBatch, now_ns: int) -> Iterator[Fired]:
        """Look at rows that have just arrived."""
        yield from ()

    def wait(self, alive: Iterable[Alive], now_ns: int) -> Iterator[Fired]:
        """Look at what has not arrived."""
        yield from ()


def _where(column: pa.Array, holds: Any) -> pa.Array:
    """For each row whether its text is one of those that ``holds`` says, given each text once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return pc.fill_null(pc.take(holds(column.dictionary), column.indices), False)


class _Named(Trigger):
    """``nvtx:NAME``: a range of the name begins, or a mark of it is made."""

    needs = ("marker",)

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text)
        self._name = name

    def look(self, table: str, batch: pa.RecordBatch, now_ns: int) -> Iterator[Fired]:
        import pyarrow.compute as pc

        if table != "marker":
            return
        found = batch.filter(_where(batch["name"], lambda words: pc.equal(words, self._name)))
        if found.num_rows:
            kind = "mark was made" if found["event"][0].as_py() == "instant" else "range began"
            yield Fired(self.text, f"a {kind}: {self._name}", found["process_id"][0].as_py())


@dataclass
class _Pace:
    """How long the last steps of one name took, in ns."""

    last: deque[int] = field(default_factory=lambda: deque(maxlen=_STEPS))


class _SlowStep(Trigger):
    """``slow-step>FACTORx``: a step took longer than the usual one, times the factor."""

    needs = ("marker",)

    def __init__(self, text: str, name: str | None, factor: float) -> None:
        super().__init__(text)
        self._name = name
        self._factor = factor
        self._open: dict[tuple[int, int], tuple[str, int]] = {}
        self._paces: dict[tuple[int, str], _Pace] = {}

    def _is_step(self, words: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        if self._name is not None:
            stems = pc.utf8_trim(pc.replace_substring_regex(words, r"[0-9]+", ""), _AROUND)
            return pc.or_(pc.equal(words, self._name), pc.equal(stems, self._name))
        is_step = pc.match_substring_regex(words, _STEP)
        return pc.and_not(is_step, pc.match_substring_regex(words, _NO_STEP))

    def look(self, table: str, batch: pa.RecordBatch, now_ns: int) -> Iterator[Fired]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if table != "marker":
            return
        is_end = _where(batch["event"], lambda words: pc.equal(words, "end"))
        is_start = _where(batch["event"], lambda words: pc.equal(words, "start"))
        is_start = pc.and_(is_start, _where(batch["name"], self._is_step))
        ids = {marker for _, marker in self._open}
        ids |= set(batch["marker_id"].filter(is_start).to_pylist())
        if not ids:
            return
        mine = pc.is_in(batch["marker_id"], pa.array(sorted(ids - {None}), pa.int32()))
        chosen = batch.filter(pc.or_(is_start, pc.and_(is_end, mine)))
        columns = ["process_id", "marker_id", "event", "timestamp_ns", "name"]
        rows = chosen.select(columns).to_pylist()
        for row in sorted(rows, key=lambda row: row["timestamp_ns"] or 0):
            yield from self._take(row)

    def _take(self, row: dict[str, Any]) -> Iterator[Fired]:
        key = row["process_id"], row["marker_id"]
        if row["timestamp_ns"] is None:
            return
        if row["event"] == "start":
            if len(self._open) < _MOST_OPEN:
                self._open[key] = row["name"], row["timestamp_ns"]
            return
        name, start_ns = self._open.pop(key, ("", 0))
        if not start_ns:
            return
        stem = row["process_id"], re.sub(r"[0-9]+", "", name).strip(_AROUND)
        if stem not in self._paces and len(self._paces) >= _MOST_STEMS:
            return
        last = self._paces.setdefault(stem, _Pace()).last
        took_ns = row["timestamp_ns"] - start_ns
        usual_ns = statistics.median(last) if len(last) >= _FEWEST else 0
        if usual_ns and took_ns > self._factor * usual_ns:
            yield Fired(
                self.text,
                f"{name} took {rounded(took_ns / 1e6, 4)} ms, {took_ns / usual_ns:.2f} times the"
                f" {rounded(usual_ns / 1e6, 4)} ms of the {len(last)} before it",
                row["process_id"],
            )
        last.append(took_ns)


@dataclass
class _Quiet:
    """Of one process: when rows arrived last, and the newest calls by their correlation."""

    any_ns: int
    gpu_ns: int
    launch: int = -1
    gpu: int = -1
    has_fired: bool = False


class _Hang(Trigger):
    """``hang>TIME``: no GPU work ends while launches are outstanding, or no record comes at all.

    A process counts from its first GPU work or launch on, and fires once until GPU work ends again.
    """

    needs = ("kernel", "graph_trace")

    def __init__(self, text: str, limit_ns: int) -> None:
        super().__init__(text)
        self._limit_ns = limit_ns
        self._processes: dict[int, _Quiet] = {}

    def look(self, table: str, batch: pa.RecordBatch, now_ns: int) -> Iterator[Fired]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if "process_id" not in batch.schema.names or table == "capture_window":
            return iter(())
        rows, is_gpu = batch, table in _GPU_WORK
        if table == "api_call":
            rows = batch.filter(
                _where(batch["name"], lambda words: pc.match_substring_regex(words, _LAUNCHES))
            )
        for process_id in pc.unique(batch["process_id"]).to_pylist():
            if process_id in self._processes:
                self._processes[process_id].any_ns = now_ns
        if not (is_gpu or table == "api_call") or not rows.num_rows:
            return iter(())
        columns = rows.select(["process_id", "correlation_id"])
        newest = (
            pa.Table.from_batches([columns])
            .group_by("process_id")
            .aggregate([("correlation_id", "max")])
        )
        for row in newest.to_pylist():
            known = self._processes.setdefault(row["process_id"], _Quiet(now_ns, now_ns))
            correlation = row["correlation_id_max"]
            if is_gpu:
                known.gpu_ns, known.has_fired = now_ns, False
                known.gpu = max(known.gpu, -1 if correlation is None else correlation)
            elif correlation is not None:
                known.launch = max(known.launch, correlation)
        return iter(())

    def wait(self, alive: Iterable[Alive], now_ns: int) -> Iterator[Fired]:
        living = {each.process_id: each.pid for each in alive}
        for process_id in [each for each in self._processes if each not in living]:
            del self._processes[process_id]
        for process_id, known in self._processes.items():
            if known.has_fired or now_ns - known.gpu_ns < self._limit_ns:
                continue
            pid, seconds = living[process_id], f"{self._limit_ns / 1e9:g} s"
            if now_ns - known.any_ns >= self._limit_ns:
                detail = f"process {pid} made no record for {seconds}"
            elif known.launch > known.gpu:
                detail = (
                    f"no GPU work of process {pid} ended for {seconds}, and it has launched some"
                )
            else:
                continue
            known.has_fired = True
            yield Fired(self.text, detail, process_id)


def parse(text: str) -> Trigger:
    """A value of ``--trigger``.

    Raises:
        UsageError: it is none.
    """
    if text in (SIGNAL, EXIT):
        return Trigger(text)
    if text.startswith("nvtx:") and len(text) > len("nvtx:"):
        return _Named(text, text.removeprefix("nvtx:"))
    if match := _SLOW.match(text):
        factor = float(match["factor"])
        if factor <= 1:
            raise UsageError(
                f"--trigger {text!r}: about every second step is slower than that",
                "give a factor above 1, such as slow-step>1.5x",
            )
        return _SlowStep(text, match["name"], factor)
    if text.startswith("hang>"):
        limit_ns = duration_ns(text.removeprefix("hang>"))
        if limit_ns <= 0:
            raise UsageError(f"--trigger {text!r} would fire at once", "give a time: hang>10s")
        return _Hang(text, limit_ns)
    raise UsageError(f"--trigger {text!r} is no trigger", _FORMS)
