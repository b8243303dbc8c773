"""Names that stand for gigabytes, or for hours: they stay mangled, and are counted."""

from __future__ import annotations

import resource

import pytest
from support.mangled import bomb, reference

from cupti_etl.capture import demangle
from cupti_etl.capture.demangle import LONGEST_TEXT, Demangler
from cupti_etl.capture.names import KernelNames, short_name


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


@pytest.mark.parametrize("depth", [20, 25, 33, 60])
def test_a_name_that_stands_for_gigabytes(depth: int) -> None:
    name = bomb(depth)
    before = _peak_bytes()
    demangler = Demangler()
    assert demangler.demangle(name) == name
    assert demangler.refused == 1
    assert demangler.demangle("_Z3fooi") == "foo(int)"
    assert _peak_bytes() - before < 64 << 20


def test_a_pack_that_is_looked_for_in_all_that_is_repeated() -> None:
    """What costs time only, and no text: the process is ended and begun anew."""
    name = bomb(40, f"Dp{reference(41)}")
    demangler = Demangler()
    assert demangler.demangle(name) == name
    assert demangler.refused == 1
    small = bomb(10)
    assert demangler.demangle(small).startswith("f(A, P<A, A>, P<P<A, A>, P<A, A> >, ")
    assert demangler.refused == 1


@pytest.mark.slow
def test_after_some_of_them_none_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    demangler = Demangler()
    for depth in range(20, 40):
        demangler.demangle(bomb(depth))
    assert demangler.refused == 20
    monkeypatch.setattr(demangler, "_start", lambda: pytest.fail("it is started"))
    demangler.close()
    assert demangler.demangle(bomb(12)) == bomb(12)
    assert demangler.demangle("_Z3fooi") == "foo(int)"


def test_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demangle.sys, "executable", "/nowhere/python")  # type: ignore[attr-defined]
    demangler = Demangler()
    assert demangler.demangle(bomb(12)) == bomb(12)
    assert demangler.refused == 1


@pytest.mark.parametrize(
    "name",
    [
        "_Z1" + "P" * 5000,
        "_Z1\u00e9i",  # its length ends within a character
        "_Z1fi\n_Z1gi",
        "_Z1fi\0",
        "_Z3f\ud800oi",
        "_Z" + "9" * 1000,
        "_Z" + "N" * 1000,
        "_Z1f" + "P" * 1000 + "i",
    ],
)
def test_odd_names(name: str) -> None:
    demangler = Demangler()
    assert isinstance(demangler.demangle(name), str)
    assert demangler.refused == 0


def test_both_ways_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["_Z3fooi", "_ZN2at6native4fillIfEEvT_", "_Z1fIJifdEEvDpT_", "_Z1x", bomb(4)]
    here = Demangler()
    found = [here.demangle(name) for name in names]
    monkeypatch.setattr(demangle, "_most_text", lambda name: LONGEST_TEXT + 1)
    there = Demangler()
    assert [there.demangle(name) for name in names] == found
    assert found[:3] == [
        "foo(int)",
        "void at::native::fill<float>(float)",
        "void f<int, float, double>(int, float, double)",
    ]


def test_they_are_rows_all_the_same() -> None:
    names = KernelNames()
    names.add([bomb(30)])
    assert names.take() == [{"mangled": bomb(30), "demangled": bomb(30), "short": "f"}]
    assert names.refused == 1
    names.close()


def test_short_name_of_a_long_text() -> None:
    assert short_name("void ns::f<" + "int, " * 10_000_000) == "f"
    assert len(short_name("(" * 10_000_000)) == LONGEST_TEXT
