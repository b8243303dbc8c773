"""A program that hands CUPTI's callbacks to functions of its own, and compares what they get with
what it launched.

    python called_back.py exact|price OUT [--cupti PATH] [--records FORM]

Writes what is wrong, and figures, as JSON to OUT.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import addressof, c_uint, c_ulonglong, c_void_p
from pathlib import Path
from statistics import median
from typing import Any

import cupti_etl
from cupti_etl.demo import ptx
from cupti_etl.demo.driver import Driver

LAUNCHES = 5000
AFTERWARDS = 500
ROUNDS = 7
PRICED = 4000
COPIES = (4, 4096, 1 << 20, 12345)
_LAUNCH = ("grid_x", "block_x", "dynamic_shared_bytes", "stream", "symbol")

Launch = tuple[int, int, int, int, str]


class Launcher:
    """Launches a kernel that adds nothing, in sizes that tell the launches apart."""

    def __init__(self) -> None:
        self.driver = Driver()
        module = self.driver.load_module(ptx.SOURCE)
        self._function = self.driver.function(module, ptx.VECTOR_ADD)
        self.stream = self.driver.create_stream().handle
        self._device = self.driver.allocate(1 << 20)
        self._host = self.driver.allocate_pinned(1 << 20)
        values = [*(c_ulonglong(self._device) for _ in range(3)), c_uint(0)]
        self._kept = values
        self._arguments = (c_void_p * 4)(*(addressof(value) for value in values))

    def launch(self, count: int) -> list[Launch]:
        """Grid, block, shared memory, stream and symbol of each launch."""
        launched = []
        for number in range(count):
            sizes = (1 + number % 97, 32 * (1 + number % 8), 16 * (number % 5))
            self.one(*sizes)
            launched.append((*sizes, self.stream, ptx.VECTOR_ADD))
        self.driver.synchronize()
        return launched

    def one(self, grid: int, block: int, shared: int) -> None:
        """One launch."""
        words = map(c_uint, (grid, 1, 1, block, 1, 1, shared))
        self.driver.call(
            "cuLaunchKernel",
            c_void_p(self._function),
            *words,
            c_void_p(self.stream),
            self._arguments,
            None,
        )

    def copy(self) -> list[tuple[str, int, int, int]]:
        """Direction, bytes, source and destination of copies; and sets."""
        for size in COPIES:
            self.driver.copy_to_device(self._device, self._host, size, self.stream)
            self.driver.copy_to_host(self._host, self._device, size, self.stream)
        self.driver.synchronize()
        there, back = (self._host, self._device), (self._device, self._host)
        return [one for size in COPIES for one in (("HtoD", size, *there), ("DtoH", size, *back))]


def differences(name: str, rows: Sequence[dict[str, Any]], launched: Sequence[Launch]) -> list[str]:
    """How the rows of launches, in their order, differ from what was launched."""
    wrong = []
    if len(rows) != len(launched):
        wrong.append(f"{name}: {len(rows)} rows of {len(launched)} launches")
    ordered = sorted(rows, key=lambda row: row["correlation_id"])
    got = [tuple(row[column] for column in _LAUNCH) for row in ordered]
    other = sum(one != two for one, two in zip(got, launched, strict=False))
    if other:
        wrong.append(f"{name}: {other} launches have other arguments")
    if any(row["result"] != 0 for row in rows):
        wrong.append(f"{name}: a launch has failed")
    if any(not row["start_ns"] <= row["end_ns"] for row in rows):
        wrong.append(f"{name}: a call ends before it begins")
    return wrong


def count(name: str, got: int, expected: int) -> list[str]:
    """What is wrong with a number."""
    return [] if got == expected else [f"{name}: {got}, not {expected}"]


class Checks:
    """All that is to be exact."""

    def __init__(self, launcher: Launcher, options: dict[str, Any], folder: Path) -> None:
        self._launcher = launcher
        self._options = options
        self._folder = folder
        self.wrong: list[str] = []
        self.figures: dict[str, Any] = {}

    @contextmanager
    def _callbacks(self, *words: Any, **more: Any) -> Iterator[Any]:
        cupti = {"cupti": self._options["cupti"]} if "cupti" in self._options else {}
        with cupti_etl.callbacks(*words, **cupti, **more) as watched:
            yield watched
        self.wrong += count("lost", watched.lost, 0) + count("errors", watched.errors, 0)

    def batches(self) -> None:
        """5,000 launches are 10,000 callbacks and 5,000 rows, with what was launched."""
        rows: list[dict[str, Any]] = []
        with self._callbacks(
            "driver", "cuLaunchKernel", lambda batch: rows.extend(batch.to_pylist())
        ) as watched:
            launched = self._launcher.launch(LAUNCHES)
        self.wrong += differences("batches", rows, launched)
        self.wrong += count("callbacks in batches", watched.callbacks, 2 * LAUNCHES)

    def in_line(self) -> None:
        """10,000 events on the calling thread."""
        events: list[Any] = []
        with self._callbacks("driver", "cuLaunchKernel", events.append, inline=True):
            launched = self._launcher.launch(LAUNCHES)
        self.wrong += count("callbacks in line", len(events), 2 * LAUNCHES)
        got = [
            (
                *(event.grid[0], event.block[0]),
                *(event.dynamic_shared_bytes, event.stream, event.symbol),
            )
            for event in events
            if event.site == "exit" and event.result == 0
        ]
        self.wrong += [] if got == launched else ["in line: launches have other arguments"]

    def beside_a_capture(self) -> None:
        """Neither loses anything; a capture afterwards has what is its own."""
        rows: list[dict[str, Any]] = []
        events: list[Any] = []
        outer = self._callbacks(
            "driver", "cuLaunchKernel", lambda batch: rows.extend(batch.to_pylist())
        )
        options = {"callbacks": "driver:cuLaunchKernel", **self._options}
        with outer as watched:
            with (
                cupti_etl.capture(self._folder / "beside", **options) as run,
                self._callbacks("driver", "cuLaunchKernel", events.append, inline=True),
            ):
                launched = self._launcher.launch(LAUNCHES)
            self._launcher.launch(10)
        self.wrong += differences("beside", rows[:LAUNCHES], launched)
        self.wrong += count("beside: rows", len(rows), LAUNCHES + 10)
        self.wrong += count("beside: callbacks", watched.callbacks, 2 * LAUNCHES + 20)
        self.wrong += count("beside: in line", len(events), 2 * LAUNCHES)
        self._trace("beside", run, LAUNCHES, LAUNCHES)
        kept = run.trace.sql("FROM callback_event").arrow().to_pylist()
        self.wrong += differences("table", kept, launched)
        fixed = {**self._options, "records": "fixed"}
        with cupti_etl.capture(self._folder / "after", **fixed) as run:
            self._launcher.launch(AFTERWARDS)
        self._trace("after", run, AFTERWARDS, 0)

    def _trace(self, name: str, run: Any, kernels: int, events: int) -> None:
        self.wrong += [f"{name}: {run.problem}"] if run.problem else []
        for table, expected in (("kernel", kernels), ("callback_event", events), ("loss", 0)):
            found = run.trace.sql(f"FROM {table}").count()
            self.wrong += count(f"{name}: rows of {table}", found, expected)
        agreeing = self._agreeing(run)
        self.wrong += count(f"{name}: events that agree with their kernel", agreeing, events)

    def _agreeing(self, run: Any) -> int:
        found: int = run.trace.sql(
            "FROM callback_event e JOIN kernel k USING (process_id, correlation_id)"
            " WHERE e.symbol = k.name AND e.grid_x = k.grid_x AND e.block_x = k.block_x"
            " AND e.dynamic_shared_bytes = k.dynamic_shared_bytes"
        ).count()
        return found

    def copies(self) -> None:
        """Bytes, direction and addresses of copies."""
        rows: list[dict[str, Any]] = []
        with self._callbacks("driver", "cuMemcpy*", lambda batch: rows.extend(batch.to_pylist())):
            copied = self._launcher.copy()
        columns = ("copy_kind", "bytes", "src_address", "dst_address")
        ordered = sorted(rows, key=lambda row: row["start_ns"])
        got = [tuple(row[column] for column in columns) for row in ordered]
        self.wrong += [] if got == copied else [f"copies: {got}, not {copied}"]

    def stopping(self) -> None:
        """stop() inside of the function, in batches and in line."""
        for inline in (False, True):
            told: list[Any] = []
            running: list[Any] = []

            def once(what: Any, told: list[Any] = told, running: list[Any] = running) -> None:
                told.append(what)
                running.pop().stop()

            running.append(
                cupti_etl.callbacks(
                    "driver",
                    "cuLaunchKernel",
                    once,
                    inline=inline,
                    cupti=self._options.get("cupti"),
                ).start()
            )
            self._launcher.launch(10)
            time.sleep(0.3)
            self._launcher.launch(10)
            self.wrong += count(f"stop() in fn, inline={inline}", len(told), 1)

    def others(self) -> None:
        """Domains that are no calls."""
        rows: list[dict[str, Any]] = []

        def keep(batch: Any) -> None:
            rows.extend(batch.to_pylist())

        with self._callbacks("resource", None, keep), self._callbacks("synchronize", None, keep):
            self._launcher.driver.create_stream()
            self._launcher.driver.synchronize()
        names = [row["function"] for row in rows]
        self.figures["other domains"] = names
        for name in ("STREAM_CREATED", "CONTEXT_SYNCHRONIZED"):
            self.wrong += [] if name in names else [f"no {name} was told"]


def price(launcher: Launcher, cupti: str | None) -> dict[str, Any]:
    """Microseconds a launch: plain, in batches and in line, in turn."""
    spent: dict[str, list[float]] = {}

    def measure(name: str) -> None:
        began = time.perf_counter()
        for _ in range(PRICED):
            launcher.one(1, 32, 0)
        spent.setdefault(name, []).append((time.perf_counter() - began) / PRICED * 1e6)
        launcher.driver.synchronize()

    for _ in range(ROUNDS):
        measure("plain")
        for name, inline in (("batches", False), ("in line", True)):
            words = "driver", "cuLaunchKernel", lambda what: None
            with cupti_etl.callbacks(*words, inline=inline, cupti=cupti):
                measure(name)
    plain = spent["plain"]
    more = {
        name: [one - two for one, two in zip(each, plain, strict=True)]
        for name, each in spent.items()
        if each is not plain
    }
    return {
        "us_per_launch": {name: round(median(each), 2) for name, each in spent.items()},
        "us_more_than_plain": {name: round(median(each), 2) for name, each in more.items()},
    }


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("exact", "price"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--cupti")
    parser.add_argument("--records", default="auto")
    options = parser.parse_args()
    launcher = Launcher()
    launcher.launch(100)
    if options.what == "price":
        options.out.write_text(json.dumps({"wrong": [], **price(launcher, options.cupti)}))
        return
    chosen = {"cupti": options.cupti} if options.cupti else {}
    folder = options.out.with_suffix("")
    checks = Checks(launcher, {**chosen, "records": options.records, "overwrite": True}, folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = (
        *(checks.batches, checks.in_line, checks.beside_a_capture),
        *(checks.copies, checks.stopping, checks.others),
    )
    for part in parts:
        try:
            part()
        except cupti_etl.EtlError as error:
            checks.wrong.append(f"{part.__name__}: {error}")
    options.out.write_text(json.dumps({"wrong": checks.wrong, "figures": checks.figures}))


if __name__ == "__main__":
    main()
