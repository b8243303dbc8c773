"""Names of kernels, made beside the capture: limits of a process, which cost the others nothing."""

from __future__ import annotations

import threading

import pytest
from support.mangled import bomb

from cupti_etl.capture import naming
from cupti_etl.capture.naming import Naming
from cupti_etl.schema.loss import Loss

ME, OTHER = 1, 2


def losses(names: Naming) -> dict[tuple[int | None, str], int | None]:
    found = {}
    for loss in names.losses():
        assert isinstance(loss, Loss)
        assert (loss.table_name, loss.is_stored) == ("kernel_name", True)
        found[loss.process_id, loss.cause] = loss.records
    return found


def test_each_name_is_a_row_once() -> None:
    names = Naming()
    assert names.take() == []
    names.add(ME, ["_Z3fooi", "plain", "_Z3fooi"])
    names.add(OTHER, ["_Z3fooi", "_Z3bari"])
    names.add(ME, [])
    rows = names.take(is_last=True)
    assert rows == [
        {"mangled": "_Z3fooi", "demangled": "foo(int)", "short": "foo"},
        {"mangled": "plain", "demangled": "plain", "short": "plain"},
        {"mangled": "_Z3bari", "demangled": "bar(int)", "short": "bar"},
    ]
    assert names.losses() == []
    assert names.take(is_last=True) == []


def test_without_memory_it_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(mangled: str, demangled: str) -> dict[str, str]:
        raise MemoryError

    monkeypatch.setattr(naming, "name_row", fail)
    names = Naming()
    names.add(ME, ["_Z3fooi"])
    assert names.take(is_last=True) == []
    assert losses(names) == {(ME, "not_demangled"): 1}


def test_nobody_waits_for_what_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    before = threading.active_count()
    monkeypatch.setattr(naming, "_LAST_SECONDS", 1e6)
    names = Naming()
    names.add(ME, [bomb(30)])
    names.close()
    names.close()
    assert threading.active_count() == before


def test_who_adds_a_name_does_not_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def wait(self: object, name: str) -> str:
        go_on.wait()
        return name

    monkeypatch.setattr(naming.Demangler, "demangle", wait)
    names = Naming()
    names.add(ME, ["_Z3fooi"])
    assert names.take() == []
    go_on.set()
    assert len(names.take(is_last=True)) == 1


@pytest.mark.parametrize(("most_names", "most_bytes"), [(3, 1 << 20), (1000, 12)])
def test_names_without_end(
    monkeypatch: pytest.MonkeyPatch, most_names: int, most_bytes: int
) -> None:
    monkeypatch.setattr(naming, "_MOST_NAMES", most_names)
    monkeypatch.setattr(naming, "_MOST_BYTES", most_bytes)
    names = Naming()
    names.add(ME, [f"n{number:03}" for number in range(10)])
    names.add(ME, ["n000", "n009"])
    names.add(OTHER, ["of another"])
    rows = [row["mangled"] for row in names.take(is_last=True)]
    assert rows == ["n000", "n001", "n002", "of another"]
    assert losses(names) == {(ME, "text_limit"): 8}


@pytest.mark.slow
def test_names_that_cost_too_much() -> None:
    """Those of another process are still demangled, in a process of its own if need be."""
    names = Naming()
    names.add(ME, [bomb(depth) for depth in range(20, 45)])
    names.add(OTHER, [bomb(11)])
    rows = {row["mangled"]: row["demangled"] for row in names.take(is_last=True)}
    assert rows[bomb(20)] == bomb(20)
    assert rows[bomb(11)].startswith("f(A, P<A, A>")
    assert losses(names) == {(ME, "not_demangled"): 25}


def test_names_that_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are rows all the same, as they are."""
    monkeypatch.setattr(naming, "_MOST_SECONDS", -1)
    names = Naming()
    names.add(ME, ["_Z3fooi"])
    assert names.take(is_last=True) == [
        {"mangled": "_Z3fooi", "demangled": "_Z3fooi", "short": "foo"}
    ]
    assert losses(names) == {(ME, "not_demangled"): 1}


def test_names_that_are_not_done_when_the_capture_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(naming, "_LAST_SECONDS", 0)
    names = Naming()
    is_at_work, is_late = threading.Event(), names._is_late

    def work_on(self: object) -> None:
        is_at_work.set()
        is_late.wait()

    monkeypatch.setattr(naming.Demangler, "close", work_on)
    names.add(ME, ["_Z1fi"])
    assert is_at_work.wait(60)
    names.add(ME, ["_Z3fooi"])
    assert [row["demangled"] for row in names.take(is_last=True)] == ["f(int)", "_Z3fooi"]
    assert losses(names) == {(ME, "not_demangled"): 1}
