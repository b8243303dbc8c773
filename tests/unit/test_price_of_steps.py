"""What windows cost a program that launches in bursts: what is told lies beside the truth."""

from __future__ import annotations

import random
import statistics

import pytest
from unit.test_price import MS, US, Program, begun

from cupti_etl.capture.price import Price

STEPS = {
    "half of 5 ms": (25, 2500 * US, 100 * US),
    "half of 10 ms": (50, 5 * MS, 100 * US),
    "a fourth of 35 ms": (50, 25 * MS, 200 * US),
}


def of_steps(steps: str, price: float, window_ns: int, seed: int, is_cut: bool = False) -> Price:
    """What is told of a program whose steps launch for a part of their time, and then wait."""
    step, idle_ns, pace_ns = STEPS[steps]
    program = Program(
        pace_ns,
        price,
        noise=0.5,
        step=step,
        idle_ns=idle_ns,
        is_cut=is_cut,
        random=random.Random(seed),
    )
    budget = begun(program, 0.9, window_ns, seed)
    program.play(budget, 25)
    known = budget.price()
    assert known is not None
    return known


@pytest.mark.slow
@pytest.mark.parametrize("price", [0.0, 0.1])
@pytest.mark.parametrize(
    ("steps", "window_ns"),
    [
        ("half of 5 ms", 10 * MS),
        ("half of 5 ms", 100 * MS),
        ("half of 10 ms", 10 * MS),
        ("half of 10 ms", 100 * MS),
        ("a fourth of 35 ms", 100 * MS),
    ],
)
def test_launches_that_come_in_bursts(steps: str, window_ns: int, price: float) -> None:
    told = [of_steps(steps, price, window_ns, seed) for seed in range(4)]
    for known in told:
        assert known.error < 0.04
        assert abs(known.share - price) < 4 * known.error
    error = statistics.fmean(known.error**2 for known in told) ** 0.5 / len(told) ** 0.5
    assert abs(statistics.fmean(known.share for known in told) - price) < 3 * error


@pytest.mark.parametrize("price", [0.0, 0.1])
def test_waits_at_the_ends_of_windows_are_of_the_windows(price: float) -> None:
    """Where windows end with their last launch, as kernels show them, the price is too low."""
    known = of_steps("half of 5 ms", price, 10 * MS, seed=1, is_cut=True)
    assert known.share < price - 0.1
    assert known.share < price - 3 * known.error


def test_windows_of_one_length_keep_time_with_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else is right; so their length is left to chance."""
    monkeypatch.setattr(random.Random, "expovariate", lambda *_: 1.0)
    known = of_steps("a fourth of 35 ms", 0.1, 10 * MS, seed=1)
    assert known.share > 0.1 + 10 * known.error
