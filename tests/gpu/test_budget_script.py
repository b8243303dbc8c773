"""What the acceptance on a GPU says of a budget can be wrong, and is then said to be."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

MS = 10**6


def log(price: float, windows: int) -> tuple[list[list[int]], list[dict[str, int]]]:
    """Steps of 10 ms, which take longer in windows of 100 ms; these begin every second."""
    steps, stretches, at = [], [], 0
    for number in range(windows):
        begin = number * 1000 * MS
        at = max(at, begin)
        while at < begin + 100 * MS:
            steps.append([at, at + int(10 * MS * (1 + price))])
            at = steps[-1][1]
        # The step that is cut by the end of its window counts nowhere.
        stretches.append({"start_ns": begin, "end_ns": begin + 100 * MS})
        while at < begin + 1000 * MS:
            steps.append([at, at + 10 * MS])
            at = steps[-1][1]
    return steps, stretches


@pytest.mark.parametrize("price", [0.0, 0.25])
def test_the_price_by_steps(price: float) -> None:
    from budget import logged_price

    found = logged_price(*log(price, 10))
    assert found["pct"] == pytest.approx(100 * price)
    assert found["error_pct"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("lasting", [0.0, 0.5])
def test_what_lasts_by_steps(lasting: float) -> None:
    """Steps of 10 ms before the first window, and longer ones between the first and the second."""
    from budget import logged_lasting

    steps = [[at * MS, (at + 10) * MS] for at in range(0, 1000, 10)]
    took = int(10 * (1 + lasting))
    steps += [[at * MS, (at + took) * MS] for at in range(1100, 1900, took)]
    windows = [
        {"start_ns": 1000 * MS, "end_ns": 1100 * MS},
        {"start_ns": 1900 * MS, "end_ns": None},
    ]
    found = logged_lasting(steps, windows)
    assert found["pct"] == pytest.approx(100 * lasting)
    assert logged_lasting(steps, []) is None


def test_few_windows_give_none() -> None:
    from budget import logged_price

    assert logged_price(*log(0.25, 5)) is None


class Asked:
    """A trace with these estimates."""

    def __init__(self, *rows: tuple[str, float, float, float]) -> None:
        keys = ("demangled", "calls_low", "calls", "calls_high")
        self._rows = [dict(zip(keys, row, strict=True)) for row in rows]

    def query(self, name: str) -> list[dict[str, object]]:
        assert name == "kernel_estimate"
        return self._rows


def test_estimates_that_hold_the_truth_and_do_not() -> None:
    from budget import estimates

    trace = Asked(("a", 90, 100, 110), ("b", 90, 100, 110), ("unknown", 1, 2, 3))
    found = estimates(trace, {"a": 2, "b": 3}, 50)
    assert (found["names"], found["held"]) == (2, 1)
    assert found["most_off_pct"] == pytest.approx(-100 / 3)
