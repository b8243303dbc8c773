"""How often the parts of an open trace are looked for."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.trace import add_part, write_trace

import cupti_etl
from cupti_etl.storage import state
from cupti_etl.storage.sources import Folder, part_files

ONE = "start_ns end_ns name\n 0 10 a"


def test_many_files_are_looked_for_a_tenth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s, look = [0.0], state.state

    def slow(*given):
        now_s[0] += 1.0
        return look(*given)

    clocks = SimpleNamespace(monotonic=lambda: now_s[0], time_ns=time.time_ns)
    monkeypatch.setattr(state, "time", clocks)
    monkeypatch.setattr(state, "state", slow)
    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as opened:

        def kernels() -> int:
            return opened.sql("FROM kernel").count()

        assert kernels() == 1
        add_part(path, "kernel", ONE)
        assert kernels() == 2, "few are looked for each time"
        monkeypatch.setattr(state, "_FEW_FILES", 0)
        assert kernels() == 2
        begin_s = now_s[0]
        add_part(path, "kernel", ONE)
        assert kernels() == 2
        assert now_s[0] == begin_s
        now_s[0] += 9.0
        assert kernels() == 3
        add_part(path, "kernel", ONE)
        assert kernels() == 3
        # As a part of them has vanished.
        opened._connection.views.look.again()
        assert kernels() == 4


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Gets which of the folders ``kernel`` and ``aside`` are listed."""
    found: list[str] = []

    def noted(folder):
        if Path(folder).name in ("kernel", "aside"):
            found.append(Path(folder).name)
        return part_files(folder)

    monkeypatch.setattr(state, "part_files", noted)
    return found


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock, which stands still; what happened to folders is long ago."""
    now_s = [0.0]
    later = SimpleNamespace(monotonic=lambda: now_s[0], time_ns=lambda: time.time_ns() + 10**15)
    monkeypatch.setattr(state, "time", later)
    return now_s


def test_a_folder_is_listed_anew_where_something_came_or_went(
    tmp_path: Path, listed: list[str], seconds: list[float]
) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    folders = [Folder(path)]
    look = state.Look(folders)

    def looked(*, lists: list[str]) -> state.State:
        listed.clear()
        found = look()
        assert sorted(listed) == lists
        assert found == state.state(folders)
        return found

    first = looked(lists=["kernel"])
    assert looked(lists=[]) == first
    # An mtime of its own, as the clock of a file system may not have ticked since.
    added = add_part(path, "kernel", ONE)
    os.utime(path / "kernel", (1, 1))
    second = looked(lists=["kernel"])
    assert len(second) == len(first) + 1
    added.write_bytes(added.read_bytes() + b"more")
    assert looked(lists=[]) != second, "each file is looked at each time"
    added.unlink()
    os.utime(path / "kernel", (2, 2))
    assert looked(lists=["kernel"]) == first
    (path / "kernel").rename(path / "aside")
    os.utime(path, (3, 3))
    assert len(looked(lists=["aside"])) == len(first)
    (path / "kernel").mkdir()
    os.utime(path, (4, 4))
    assert len(looked(lists=["kernel"])) == len(first)
    look.again()
    looked(lists=["aside", "kernel"])


def test_where_nothing_says_that_something_came_it_is_seen_a_second_later(
    tmp_path: Path, listed: list[str], seconds: list[float]
) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    look = state.Look([Folder(path)])
    first = look()
    seconds[0] += 0.9
    assert look() == first
    seconds[0] += 0.1
    look()
    assert listed == ["kernel", "kernel"]


def test_one_in_which_something_happened_just_now_is_listed_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: list[str]
) -> None:
    """What comes within the same tick of the file system's clock leaves its time as it was."""
    path = write_trace(tmp_path / "run", kernel=ONE)
    now_ns = (path / "kernel").stat().st_ctime_ns + 10**7
    clocks = SimpleNamespace(monotonic=lambda: 0.0, time_ns=lambda: now_ns)
    monkeypatch.setattr(state, "time", clocks)
    look = state.Look([Folder(path)])
    look()
    look()
    assert listed == ["kernel", "kernel"]


def test_whether_something_has_rows_is_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    ask = cupti_etl.Trace.sql

    def noted(self: cupti_etl.Trace, query: str, **params):
        asked.append(query)
        return ask(self, query, **params)

    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as opened:
        monkeypatch.setattr(cupti_etl.Trace, "sql", noted)
        assert [opened.has_rows("api_call") for _ in range(2)] == [False, False]
        assert len(asked) == 1
        add_part(path, "api_call", "start_ns end_ns name\n 0 10 cudaFree")
        assert [opened.has_rows("api_call") for _ in range(2)] == [True, True]
        assert len(asked) == 2


def test_whether_a_table_of_ones_own_has_rows_is_looked_up_each_time(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as opened:
        opened.sql("CREATE TABLE mine (n INTEGER)")
        assert not opened.has_rows("mine")
        opened.sql("INSERT INTO mine VALUES (1)")
        assert opened.has_rows("mine")
