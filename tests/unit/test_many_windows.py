"""Windows of a process that opens very many of them, or pretends to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cupti_etl.capture import windows
from cupti_etl.capture.windows import SWITCHES, Counted, Window, Windows

RING = 8


class Segment:
    """Stands for the native library: the last windows of a process, from the oldest on."""

    def __init__(self) -> None:
        self.opened = 0
        self.is_open = False
        self.reads = 0
        self.opened_a_read = 0
        self.by = 2
        self.counted = 0

    def open(self, count: int) -> None:
        self.opened += count

    def oldest(self) -> int:
        return self.opened - RING + 1

    def etl_process_window(self, handle: object, number: Any, out: Any) -> int:
        self.reads += 1
        self.opened += self.opened_a_read
        if number[0] >= self.opened:
            return 0
        number[0] = max(number[0], self.oldest())
        is_last = number[0] == self.opened - 1
        out.start_ns = 10 * number[0] + 1
        out.end_ns = 0 if is_last and self.is_open else 10 * number[0] + 5
        out.on_ns = out.off_ns = 1
        out.opened_by = out.closed_by = self.by
        out.launches_on, out.launches_off = 100 * number[0], 100 * number[0] + self.counted
        return 1


@pytest.fixture
def segment(monkeypatch: pytest.MonkeyPatch) -> Segment:
    made = Segment()
    ffi = SimpleNamespace(new=lambda kind: [0] if kind.startswith("uint32") else SimpleNamespace())
    monkeypatch.setattr(windows, "load", lambda: (ffi, made))
    monkeypatch.setattr(windows, "_MOST", 100)
    return made


def closed(number: int) -> Window:
    return Window(10 * number + 1, 10 * number + 5, "range", "range", 1, 1)


def test_each_is_passed_on_once_when_it_is_closed(segment: Segment) -> None:
    found = Windows(None)
    segment.open(2)
    segment.is_open = True
    assert list(found.new(0, False)) == [closed(0)]
    assert [window.end_ns for window in found.so_far(0)] == [5, None]
    segment.open(1)
    assert list(found.new(0, False)) == [closed(1)]
    assert list(found.new(0, False)) == []
    (last,) = found.new(0, True)
    assert (last.start_ns, last.end_ns, last.closed_by) == (21, None, None)
    assert list(found.new(0, True)) == []


def test_after_very_many_one_stands_for_the_rest(segment: Segment) -> None:
    found, passed_on = Windows(None), []
    for _ in range(1000):
        segment.open(3)
        passed_on += list(found.new(0, False))
    assert passed_on == [closed(number) for number in range(100)]
    assert len(found.so_far(0)) == 101
    segment.is_open = True
    segment.open(1)
    rest, last = found.new(0, True)
    assert rest == Window(1001, 29995, None, None, None, None, 2900)
    assert last.start_ns == 30001
    assert sum(window.windows for window in [*passed_on, rest, last]) == segment.opened


def test_those_that_were_missed_count(segment: Segment) -> None:
    found, passed_on = Windows(None), []
    for _ in range(200):
        segment.open(100)
        passed_on += list(found.new(7, False))
    assert passed_on[0] == Window(7, 10 * 93 + 1, None, None, None, None, 93)
    (rest,) = found.new(7, True)
    assert len(passed_on) == 100
    assert sum(window.windows for window in [*passed_on, rest]) == segment.opened


def test_one_that_was_missed_is_told_with_the_next(segment: Segment) -> None:
    found = Windows(None)
    segment.open(RING)
    first, *others = found.new(7, True)
    assert first == Window(7, 15, None, None, None, None, 2)
    assert others == [closed(number) for number in range(2, RING)]


def test_one_that_was_missed_before_one_that_is_open(
    segment: Segment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment, "oldest", lambda: segment.opened - 1)
    found = Windows(None)
    segment.open(2)
    segment.is_open = True
    several = Window(7, None, None, None, None, None, 2)
    for _ in range(2):
        assert found.so_far(7) == [several]
        assert list(found.new(7, False)) == []
    # Of a recording of a process that was killed then, it is no damage.
    Windows(None).described({"windows": [vars(several)]})
    segment.is_open = False
    assert list(found.new(7, False)) == [Window(7, 15, None, None, None, None, 2)]
    segment.open(1)
    assert list(found.new(7, True)) == [closed(2)]


def test_nobody_is_waited_for_who_opens_them_without_end(segment: Segment) -> None:
    found = Windows(None)
    segment.opened_a_read = 5
    for _ in range(3):
        before = segment.reads
        found.so_far(0)
        assert segment.reads - before <= 1024
    assert len(found.so_far(0)) <= 102


def test_those_whose_launches_were_counted_are_taken_once(segment: Segment) -> None:
    """However many there are; with what it took to switch them."""
    found, taken = Windows(None), []
    segment.by, segment.counted = SWITCHES.index("collector"), 20
    for _ in range(300):
        segment.open(1)
        list(found.new(0, False))
        taken += found.take_counted()
    assert taken == [
        Counted(number, 10 * number, 10 * number + 6, 100 * number, 100 * number + 20)
        for number in range(300)
    ]
    assert found.take_counted() == []
    # Where a range switched, edges are not alike.
    segment.by = SWITCHES.index("range")
    segment.open(1)
    list(found.new(0, False))
    assert found.take_counted() == []
