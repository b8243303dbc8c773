"""A capture without a program, and what its disk holds if it is stopped at any step.

``Steps`` takes down each change of the files of a trace in order; each can be done again as far
as a power failure would have let it come, and before each the folder can be copied, which is what
a kill there would leave.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cupti_etl
from cupti_etl.schema.arrow import arrow_schema
from cupti_etl.storage import disk, exchange, part, parts
from cupti_etl.storage.destination import Destination
from cupti_etl.storage.driver import Driver

ROUNDS, ROWS = 3, 50
# What was said of a trace, by all that is in its folder.
_SAID: dict[bytes, tuple[str, int]] = {}


class Program:
    """Stands in for a collector: one process, which ends in order."""

    def __init__(self) -> None:
        self.is_over = False
        self._rows = 0
        self._waiting: list[tuple[str, pa.RecordBatch]] = []

    def emit(self) -> None:
        rows = [
            {"process_id": 1, "start_ns": at, "end_ns": at + 1, "name": "k"}
            for at in range(self._rows, self._rows + ROWS)
        ]
        self._rows += ROWS
        batch = pa.RecordBatch.from_pylist(rows, arrow_schema("kernel"))
        self._waiting.append(("kernel", batch))

    def drain(self) -> bool:
        return False

    def wait(self, timeout_ms: int) -> None:
        pass

    def batches(self, everything: bool, is_last: bool) -> Iterator[tuple[str, pa.RecordBatch]]:
        while self._waiting:
            yield self._waiting.pop()

    def facts(self) -> dict[str, Any]:
        return {}

    def restated(self) -> dict[str, list[dict[str, Any]]]:
        row = {"process_id": 1, "pid": 7, "start_ns": 0, "emitted": self._rows}
        row |= {"stored": self._rows, "state": "tracing", "end_ns": None}
        ended = {"state": "finished", "end_ns": self._rows} if self.is_over else {}
        return {"process": [row | ended], "loss": []}

    def changes(self) -> dict[str, Any]:
        return {}

    def stored_rows(self) -> list[dict[str, Any]]:
        return [{"process_id": 1, "table_name": "kernel", "stored": self._rows}]


class Hurried(Destination):
    """A folder in which rows are readable at once."""

    def interval_s(self, age_s: float) -> float:
        return 0


def capture(out: Path, before_the_end: Callable[[], object] = lambda: None) -> None:
    """Write a trace in several rolls, one of them after the process's end."""
    destination = Hurried(out)
    destination.create()
    program = Program()
    driver = Driver(program, destination, {"source": "capture"}, ("kernel",))
    settle(driver)
    for number in range(ROUNDS):
        program.emit()
        program.is_over = number == ROUNDS - 1
        driver.step()
        settle(driver)
    before_the_end()
    driver.finish(0)


def settle(driver: Driver) -> None:
    """Wait until what was passed on is written, and what was rolled is readable."""
    done = threading.Event()

    def look(sink: Any) -> None:
        sink._publisher.wait()
        done.set()

    driver._put(look)
    assert done.wait(60)


class Steps:
    """Takes down what is done below a folder, while it is done.

    Attributes:
        done: the steps: what, and to which paths.
        copies: what was there before each step, where that was asked for.
    """

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, *, atomic: bool = True) -> None:
        self.home = home
        self.done: list[tuple[str, ...]] = []
        self.written: dict[int, bytes] = {}
        self.copies: list[Path] = []
        self.into: Path | None = None
        self._lock = threading.RLock()
        if not atomic:
            monkeypatch.setattr(exchange.ctypes, "CDLL", lambda *_, **__: object())
        else:
            self._watch(monkeypatch, parts, "exchange", "exchange", 2)
        self._watch(monkeypatch, Path, "rename", "rename", 2)
        self._watch(monkeypatch, Path, "unlink", "remove", 1)
        self._watch(monkeypatch, Path, "mkdir", "mkdir", 1)
        self._watch(monkeypatch, shutil, "rmtree", "remove", 1)
        self._watch(monkeypatch, disk, "_sync", "sync", 1)
        self._watch(monkeypatch, disk, "write", "create", 1, content=lambda path, data: data)
        close = part.PartFile.close

        def closed(file: part.PartFile) -> Any:
            with self._lock:
                entry = close(file)
                self._note("create", (file.path,), file.path.read_bytes())
                return entry

        monkeypatch.setattr(part.PartFile, "close", closed)

    def _watch(
        self,
        monkeypatch: pytest.MonkeyPatch,
        owner: Any,
        name: str,
        step: str,
        paths: int,
        content: Callable[..., bytes] | None = None,
    ) -> None:
        real = getattr(owner, name)

        def watched(*args: Any, **options: Any) -> Any:
            with self._lock:
                written = content(*args) if content else None
                self._note(step, tuple(map(Path, args[:paths])), written)
                return real(*args, **options)

        monkeypatch.setattr(owner, name, watched)

    def _note(self, step: str, paths: tuple[Path, ...], written: bytes | None) -> None:
        if not paths[0].is_relative_to(self.home):
            return
        if self.into is not None and step not in ("sync", "mkdir"):
            copy = self.into / f"{len(self.copies):03d}"
            self.copies.append(shutil.copytree(self.home, copy))
        if written is not None:
            self.written[len(self.done)] = written
        self.done.append((step, *(str(path.relative_to(self.home)) for path in paths)))

    def after_power_failure(
        self, at: int, named: int, cuts: Iterable[float]
    ) -> Iterator[dict[str, bytes | None]]:
        """What the disk may hold if the power fails after ``at`` steps.

        Args:
            at: so many steps were done.
            named: of the changes of names, the first so many steps' have reached the disk;
                at least those that a folder was synced after.
            cuts: which share of a file that was not synced has.

        Yields:
            For each share, files by path, and folders with None.
        """
        found: dict[str, int | None] = {}
        now: dict[str, int | None] = {}
        synced: set[int] = set()
        for number, step in enumerate(self.done[:at]):
            if step[0] == "sync" and (token := now.get(step[1])) is not None:
                synced.add(token)
            _apply(now, number, step)
            if number < named:
                _apply(found, number, step)
        for cut in cuts:
            yield {
                path: None if token is None else self._content(token, token in synced, cut)
                for path, token in found.items()
            }

    def _content(self, token: int, is_synced: bool, cut: float) -> bytes:
        data = self.written[token]
        return data if is_synced else data[: int(len(data) * cut)]

    def least_named(self, at: int) -> int:
        """How many of the first ``at`` steps a sync of the folder itself has made certain."""
        syncs = [i for i, step in enumerate(self.done[:at]) if step == ("sync", ".")]
        return max(syncs, default=0)


def _apply(files: dict[str, int | None], number: int, step: tuple[str, ...]) -> None:
    kind, *paths = step
    if kind == "create":
        files[paths[0]] = number
    elif kind == "mkdir":
        files[paths[0]] = None
    elif kind == "remove":
        _take(files, paths[0])
    elif kind == "rename":
        moved = _take(files, paths[0])
        files |= {paths[1] + rest: token for rest, token in moved.items()}
    elif kind == "exchange":
        a, b = (_take(files, path) for path in paths)
        files |= {paths[1] + rest: token for rest, token in a.items()}
        files |= {paths[0] + rest: token for rest, token in b.items()}


def _take(files: dict[str, int | None], path: str) -> dict[str, int | None]:
    """Remove what is at a path and below it; returns it by the rest of the path."""
    mine = [each for each in files if each == path or each.startswith(f"{path}/")]
    return {each[len(path) :]: files.pop(each) for each in mine}


def make(home: Path, files: dict[str, bytes | None]) -> Path:
    """The files in a folder."""
    home.mkdir()
    for path, content in sorted(files.items()):
        if content is None:
            (home / path).mkdir(parents=True, exist_ok=True)
        else:
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_bytes(content)
    return home


def verdict_and_kernels(trace: Path) -> tuple[str, int]:
    """What ``capture_health`` says, and how many kernels are there; of equal files it is known."""
    digest = hashlib.sha256()
    for path in sorted(trace.rglob("*")):
        content = "a folder" if path.is_dir() else path.read_bytes()
        digest.update(repr((str(path.relative_to(trace)), content)).encode())
    if digest.digest() not in _SAID:
        with cupti_etl.open(trace, settings={"threads": "1"}) as opened:
            (row,) = opened.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
            _SAID[digest.digest()] = row["subject"], opened.sql("FROM kernel").count()
    return _SAID[digest.digest()]
