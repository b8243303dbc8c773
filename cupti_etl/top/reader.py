"""Reads a trace again and again, and each time only what is new."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cupti_etl.errors import TraceError
from cupti_etl.queries.present import Listing, listing
from cupti_etl.queries.running_steps import RunningSteps
from cupti_etl.queries.running_sums import RunningSums
from cupti_etl.top.growing import Growing, Part, latest, parts_of
from cupti_etl.top.reading import FINISHED, RECORDING, Reading

# What a first reading of a capture that goes on takes for "now"; later ones, what came since.
_FIRST_NOW_NS = 10 * 10**9
# CUPTI's buffers come one after the other: of so short a time more work may still come, so that
# busy time is summed up to so long ago.
_LATE_NS = 500 * 10**6
_ATTEMPTS = 3
# Steps are looked for in the readings of these numbers: the third, sixth, twelfth and so on.
_FIRST_SEARCH = 3

Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Now:
    """How it is now: until when the trace is known, and, if that is said, of how long a time.

    ``busy`` has the shares of GPUs by their numbers, in percent.
    """

    at_ns: int | None
    ns: int | None
    busy: Mapping[int, float]


class Reader:
    """Reads a trace that may grow.

    Args:
        path: of the trace, a folder or a self-contained file.
        is_awaited: whether a trace that is not there will be.
    """

    def __init__(self, path: Path, *, is_awaited: bool = False) -> None:
        self._path = path
        self._is_awaited = is_awaited
        self._trace: Growing | None = None
        self._last = Reading()
        self._pm: Sequence[Row] = ()
        self._listed: Listing = ()
        self._forget()

    def _forget(self) -> None:
        """Begin anew."""
        if self._trace is not None:
            self._trace.close()
            self._trace = None
        self._sums: RunningSums | None = None
        self._steps: RunningSteps | None = None
        self._readings = 0  # with rows, while steps are looked for
        self._search_at = _FIRST_SEARCH
        self._seen: dict[Part, None] = {}
        self._numbers: dict[tuple[int, int], int] = {}
        self._now = _Now(None, None, {})
        self._listed = ()

    def close(self) -> None:
        """Let go of the trace."""
        self._forget()

    def read(self) -> Reading:
        """What is known now.

        Raises:
            TraceError: the trace is damaged, or has vanished.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            if not self._path.exists() and self._is_awaited and self._trace is None:
                return self._last
            listed = listing((self._path,), derived=False)
            if listed and listed == self._listed:
                return self._last
            try:
                self._last = self._read()
            except TraceError:
                # A capture may just have tidied up.
                self._forget()
                if self._is_awaited and not any(self._path.glob("*/part-*.parquet")):
                    return self._last
                if attempt == _ATTEMPTS:
                    raise
                continue
            self._listed = listed
            return self._last
        raise AssertionError("unreachable")

    def _read(self) -> Reading:
        present = parts_of(self._path)
        if self._seen.keys() - present.keys():  # they were compacted
            self._forget()
        if self._trace is None:
            self._trace = Growing(self._path)
        (capture,) = self._ask(
            "SELECT count(*) > count(end_ns) AS goes_on, min(start_ns) AS start_ns,"
            " max(end_ns) AS end_ns, any_value(command) AS command FROM capture"
        )
        if not capture["goes_on"]:
            return self._whole(capture)
        new = [part for part in present if part not in self._seen]
        self._trace.show(new)
        gpus = self._ask("FROM gpu")
        numbers = {(row["process_id"], row["device_id"]): row["gpu"] for row in gpus}
        if any(numbers.get(key) != number for key, number in self._numbers.items()):
            # What is summed by number is of other GPUs now.
            self._forget()
            return self._read()
        self._numbers = numbers
        return self._more(capture, gpus, new)

    def _whole(self, capture: Row) -> Reading:
        """All of a finished trace, of which nothing is now."""
        self._forget()
        self._trace = Growing(self._path)
        sums = RunningSums(self._ask)
        sums.add()
        sums.say_now(None)
        sums.add_all_busy()
        at_ns = max(filter(None, (sums.last_ns(), capture["end_ns"])), default=None)
        gpus = self._ask("FROM gpu")
        pm = self._ask("FROM _pm_mean()")
        steps = RunningSteps(self._ask)
        present = list(parts_of(self._path))
        self._trace.show(latest(present))
        steps.find()
        self._trace.show(None)
        steps.add()
        now = _Now(at_ns, None, {})
        return self._reading(FINISHED, capture, sums, gpus, pm, now, steps.rows(None))

    def _more(self, capture: Row, gpus: Sequence[Row], new: Sequence[Part]) -> Reading:
        """What came since the last reading, and with it the sums."""
        sums = self._sums or RunningSums(self._ask)
        steps = self._steps or RunningSteps(self._ask)
        before = self._now.at_ns
        if before is not None and not new:  # the processes alone, or names, are others
            rows = steps.rows(before)
            return self._reading(RECORDING, capture, sums, gpus, self._pm, self._now, rows)
        sums.add()
        steps.add()
        (clock,) = self._ask("SELECT max(realtime_ns) AS at_ns FROM clock")
        at_ns = max(filter(None, (sums.last_ns(), clock["at_ns"], before)), default=None)
        if before is None and at_ns is not None:
            before = max(at_ns - _FIRST_NOW_NS, capture["start_ns"] or 0)
            sums.say_now(before)
        now = _Now(at_ns, None, {})
        if at_ns is not None and before is not None:
            until, since = at_ns - _LATE_NS, sums.busy_until_ns or before - _LATE_NS
            busy = sums.add_busy(until, since)
            shares = {gpu: 100 * busy_ns / max(1, until - since) for gpu, busy_ns in busy.items()}
            now = _Now(at_ns, at_ns - before or None, shares)
        pm: Sequence[Row] = ()
        if any(table == "pm_sample" for table, *_ in new):
            pm = self._ask(f"FROM _pm_mean({'NULL' if before is None else before})")
        self._pm = pm or self._pm
        seen = {**self._seen, **dict.fromkeys(new)}
        if new and not steps.are_known:
            self._search(steps, list(seen))
        reading = self._reading(RECORDING, capture, sums, gpus, self._pm, now, steps.rows(at_ns))
        # Only what was read without a failure is.
        self._sums, self._steps, self._now, self._seen = sums, steps, now, seen
        return reading

    def _search(self, steps: RunningSteps, seen: Sequence[Part]) -> None:
        """Look for steps, less often the longer there were none."""
        assert self._trace is not None
        self._readings += 1
        if self._readings >= self._search_at:
            self._search_at *= 2
            self._trace.show(latest(sorted(seen)))
            steps.find()

    def _reading(
        self,
        state: str,
        capture: Row,
        sums: RunningSums,
        gpus: Sequence[Row],
        pm: Sequence[Row],
        now: _Now,
        steps: Sequence[Row],
    ) -> Reading:
        kernels = sums.kernels()
        if now.ns is None:
            kernels = [{**row, **dict.fromkeys(_NOW_OF_KERNELS)} for row in kernels]
        processes = self._ask(
            "SELECT process_id, pid, host, rank, state FROM process ORDER BY start_ns, process_id"
        )
        return Reading(
            state,
            capture["command"],
            capture["start_ns"],
            now.at_ns,
            now.ns,
            _gpus(sums, gpus, pm, now),
            kernels,
            _calls(sums.calls(), now.ns),
            [_copies(row, now.ns) for row in sums.copies()],
            steps,
            self._losses(processes),
            processes,
        )

    def _losses(self, processes: Sequence[Row]) -> Sequence[Row]:
        """What was lost; where nothing says that anything was, it is not looked for."""
        is_orderly = all(row["state"] in ("tracing", "finished") for row in processes)
        if self._sums is not None and is_orderly and not self._ask("FROM loss LIMIT 1"):
            return ()
        return self._ask(
            "SELECT cause, records, lost, detail FROM _loss_cause"
            " WHERE lost IS NULL OR lost > 0 ORDER BY lost DESC NULLS FIRST, cause"
        )

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        assert self._trace is not None
        return list(self._trace.sql(sql))


_NOW_OF_KERNELS = ("now_pct", "now_calls", "now_total_ns", "now_mean_ns")


def _gpus(
    sums: RunningSums, gpus: Sequence[Row], pm: Sequence[Row], now: _Now
) -> Sequence[dict[str, Any]]:
    """The GPUs of which anything is known; those without a record have numbers below zero."""
    numbers = {(row["process_id"], row["device_id"]): row["gpu"] for row in gpus}
    found: dict[int, dict[str, Any]] = {
        row["gpu"]: _gpu(row["gpu"], row["device_name"]) for row in gpus
    }

    def of(row: Row) -> dict[str, Any]:
        known: int | None = numbers.get((row["process_id"], row["device_id"]))
        number: int = row.get("gpu", -1) if known is None else known
        return found.setdefault(number, _gpu(number, None))

    first: dict[int, int] = {}
    last: dict[int, int] = {}
    now_kernels: dict[int, int] = {}
    for row in sums.devices():
        gpu = of(row)
        number = gpu["gpu"]
        gpu["kernels"] += row["kernels"]
        now_kernels[number] = now_kernels.get(number, 0) + row["now_kernels"]
        if row["first_ns"] is not None:
            first[number] = min(row["first_ns"], first.get(number, row["first_ns"]))
            last[number] = max(row["last_ns"], last.get(number, row["last_ns"]))
    for row in sums.held():
        gpu = of(row)
        gpu["memory_bytes"] = (gpu["memory_bytes"] or 0) + row["in_use_bytes"]
    for mean in pm:
        of_gpu = found.setdefault(mean["gpu"], _gpu(mean["gpu"], None))
        of_gpu["metrics"][mean["metric"]] = {"value": mean["value"], "unit": mean["unit"]}
    for number, gpu in found.items():
        if now.ns is not None:
            gpu["kernels_per_s"] = _rate(now_kernels.get(number, 0), now.ns)
            gpu["now_busy_pct"] = now.busy.get(number, 0.0)
        end = sums.busy_until_ns if sums.busy_until_ns is not None else last.get(number)
        if number in first and end is not None and end > first[number]:
            gpu["busy_pct"] = 100 * sums.busy.get(number, 0) / (end - first[number])
    return [found[number] for number in sorted(found)]


def _gpu(number: int, name: str | None) -> dict[str, Any]:
    return {
        "gpu": number,
        "device_name": name,
        "now_busy_pct": None,
        "busy_pct": None,
        "kernels_per_s": None,
        "kernels": 0,
        "memory_bytes": None,
        "metrics": {},
    }


def _calls(row: Mapping[str, Any], now_ns: int | None) -> dict[str, Any]:
    calls = {name: row[name] for name in ("calls", "launches", "total_ns", "errors")}
    calls["calls_per_s"] = _rate(row["now_calls"], now_ns)
    calls["launches_per_s"] = _rate(row["now_launches"], now_ns)
    calls["now_ns"] = None if now_ns is None else row["now_ns"]
    return calls


def _copies(row: Mapping[str, Any], now_ns: int | None) -> dict[str, Any]:
    return {
        "direction": row["direction"],
        "bytes_per_s": _rate(row["now_bytes"], now_ns),
        "copies_per_s": _rate(row["now_copies"], now_ns),
        "bytes": row["bytes"],
        "copies": row["copies"],
        "total_ns": row["total_ns"],
    }


def _rate(count: int, now_ns: int | None) -> float | None:
    return None if now_ns is None else count / (now_ns / 1e9)
