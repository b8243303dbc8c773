"""Whether a program can afford to be recorded is told by delaying its launches, before it is."""

from __future__ import annotations

import random

import pytest
from unit.test_price import MS, REFUSED, US, Program, S, begun, of

from cupti_etl.capture.trial import DELAY_NS, Lasting, Trial

SHARE = 0.01  # half of it is for what lasts


def tried(program: Program, most: float = SHARE / 2, seconds: float = 400) -> Trial:
    """A trial that was played to its end, or for so long."""
    trial = Trial(
        most,
        100 * MS,
        program,
        lambda: program.now,
        random.Random(2),
    )
    end = program.now + int(seconds * S)
    while trial.found is None and program.now < end:
        program.launch()
        trial.look()
    return trial


def test_few_launches_are_affordable_whatever_they_wait_for() -> None:
    """500 a second, each 2 us longer at most; that is known from their number."""
    program = Program(pace_ns=2 * MS)
    trial = tried(program)
    assert trial.is_affordable
    assert trial.found is not None
    assert trial.found.share == pytest.approx(500 * DELAY_NS / 1e9, rel=0.05)
    assert trial.found.is_bound
    assert (trial.found.error, trial.delayed_ns, program.trial) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_program_that_waits_for_its_launches_cannot_afford_it(seed: int) -> None:
    """One of 100 us in which it does nothing else: 2 % longer."""
    program = Program(pace_ns=100 * US, noise=0.3, random=random.Random(seed))
    trial = tried(program)
    assert trial.found is not None
    assert not trial.is_affordable
    assert abs(trial.found.share - 0.02) < 4 * trial.found.error
    assert program.trial == REFUSED


@pytest.mark.parametrize("seed", range(4))
def test_a_program_that_does_not_notice_can(seed: int) -> None:
    program = Program(pace_ns=100 * US, noise=0.3, sensitivity=0.0, random=random.Random(seed))
    trial = tried(program)
    assert trial.found is not None
    assert trial.is_affordable
    assert (trial.found.error > 0, trial.found.is_bound) == (True, False)
    assert trial.delayed_ns > 0


def test_a_program_that_gets_under_way_is_waited_for() -> None:
    """Its first 30 s have a launch a second."""
    program = Program(pace_ns=S)
    trial = tried(program, seconds=30)
    assert trial.found is None
    program.pace_ns = 100 * US
    while trial.found is None:
        program.launch()
        trial.look()
    assert trial.found.launches_s == pytest.approx(10_000, rel=0.3)
    assert not trial.is_affordable


def test_a_program_without_launches_is_not_waited_for_for_ever() -> None:
    program = Program()
    trial = Trial(0.01, 100 * MS, program, lambda: program.now, random.Random(2))
    for _ in range(7000):
        program.now += 10 * MS
        trial.look()
    assert trial.found == Lasting(0, 0, 0, is_bound=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sensitivity", "longer"), [(0.6, "1.2 % longer (± "), (1.0, "up to 2 % longer;")]
)
def test_what_is_too_much_is_not_recorded(sensitivity: float, longer: str) -> None:
    """Of a program that waits for all its launches, noise must not tell more than that."""
    program = Program(pace_ns=100 * US, sensitivity=sensitivity)
    budget = of(program, SHARE, 100 * MS)
    budget.begin()
    program.play(budget, 60)
    assert (program.recorded_ns, budget.windows) == (0, 0)
    summary = budget.summary()
    assert summary.startswith("--budget: nothing was recorded: from the first window to the end")
    assert f"the program would take {longer}" in summary
    assert "--delay and --duration" in summary
    assert program.trial == REFUSED


@pytest.mark.slow
def test_a_larger_budget_is_enough_and_windows_have_what_is_left() -> None:
    program = Program(pace_ns=100 * US, price=0.2)
    budget = begun(program, 0.08, 100 * MS)
    program.play(budget, 60)
    lost = program.recorded_ns * 0.2 / 1.2 / (program.now - 100 * S)
    assert 0.3 * (0.08 - 0.02) < lost < 1.05 * (0.08 - 0.02)
    assert "from the first one on, at most " in budget.summary()


def test_a_program_that_ends_before_it_is_known() -> None:
    program = Program()
    budget = of(program)
    budget.begin()
    program.play(budget, 2)
    assert budget.summary() == (
        "--budget: nothing was recorded, as the program ended before it was known what that would"
        " cost"
    )
