"""When a capture with a budget records, and what it learns from launches of what that costs.

A program is played whose launches take longer while they are recorded; clocks are played, too.
"""

from __future__ import annotations

import random
import re
import statistics
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from cupti_etl.capture.budget import ASSUMED, Budget
from cupti_etl.capture.limits import Pauses
from cupti_etl.capture.price import Price, PriceMeter
from cupti_etl.capture.trial import DELAY_NS
from cupti_etl.capture.windows import Counted
from cupti_etl.config import BudgetOptions
from cupti_etl.native.headers import constant

US, MS, S = 10**3, 10**6, 10**9
DELAYED, REFUSED = constant("ETL_TRIAL_DELAY"), constant("ETL_TRIAL_REFUSED")
Rows = list[tuple[int, int]]


def batch_of(rows: Rows) -> pa.RecordBatch:
    """Kernels by the number of their launch and their start."""
    count = len(rows)
    return pa.RecordBatch.from_pydict(
        {
            "process_id": [1] * count,
            "device_id": [0] * count,
            "grid_id": [grid for grid, _ in rows],
            "start_ns": [start for _, start in rows],
            "correlation_id": pa.array([10 + grid for grid, _ in rows], pa.int64()),
            "graph_node_id": pa.nulls(count, pa.int64()),
        }
    )


@dataclass
class Program:
    """One that launches every so often, more rarely while it is recorded.

    What is ordered is carried out when it launches.

    Args:
        pace_ns: between two launches that are not recorded.
        price: how much longer that is when they are.
        noise: how far single paces lie from the mean, as a part of it.
        step: launches after which it waits.
        idle_ns: for how long.
        sensitivity: the part of a delay of each launch that it notices.
        is_cut: windows are noted as if they had ended when their last launch began.
    """

    pace_ns: int = 2 * MS
    price: float = 0.2
    noise: float = 0.0
    step: int = 0
    idle_ns: int = 0
    sensitivity: float = 1.0
    is_cut: bool = False
    trial: int = 0
    counted: int = 0
    in_windows: int = 0
    launched: int = 0
    now: int = 100 * S
    is_ordered: bool = False
    is_recorded: bool = False
    recorded_ns: int = 0
    opened: int = 0
    edge: tuple[int, int] = (0, 0)
    last_ns: int = 0
    windows: list[tuple[int, Counted]] = field(default_factory=list)
    rows: Rows = field(default_factory=list)
    random: random.Random = field(default_factory=lambda: random.Random(1))

    def pause(self, is_paused: bool) -> None:
        self.is_ordered = not is_paused

    def order_trial(self, trial: int) -> None:
        self.trial = trial

    def launches(self) -> int:
        return self.counted

    def recorded(self) -> int:
        return self.in_windows

    def take_counted(self) -> list[tuple[int, Counted]]:
        taken, self.windows = self.windows, []
        return taken

    def switch(self) -> None:
        """Carry out what is ordered."""
        self.is_recorded = self.is_ordered
        before, self.edge = self.edge, (self.now, self.launched)
        if not self.is_recorded:
            end = (self.last_ns, self.launched - 1) if self.is_cut else self.edge
            self.windows.append((1, Counted(self.opened, before[0], end[0], before[1], end[1])))
            self.opened += 1

    def launch(self) -> None:
        """The next one, and the time until the one after it."""
        if self.is_ordered != self.is_recorded:
            self.switch()
        self.launched += 1
        self.last_ns = self.now
        took = self.pace_ns * self.random.uniform(1 - self.noise, 1 + self.noise)
        if self.step and self.launched % self.step == 0:
            took += self.idle_ns * self.random.uniform(1 - self.noise / 5, 1 + self.noise / 5)
        took *= 1 + self.price * self.is_recorded
        took += DELAY_NS * self.sensitivity * (self.trial == DELAYED)
        self.counted += self.trial not in (0, REFUSED)
        self.now += int(took)
        self.recorded_ns += int(took) * self.is_recorded
        self.in_windows += self.is_recorded
        if self.is_recorded:
            self.rows.append((self.launched, self.now))

    def play(self, budget: Budget, seconds: float) -> None:
        """Run so long; rows arrive once a second."""
        end, due = self.now + int(seconds * S), self.now + S
        while self.now < end:
            begin = self.now
            self.launch()
            then = self.now
            for at in range(begin + MS, then, MS):
                self.now = at
                budget.look()
            self.now = then
            budget.look()
            if self.now >= due and self.rows:
                due = self.now + S
                budget.add("kernel", batch_of(self.rows))
                self.rows.clear()


def of(program: Program, share: float = 0.01, window_ns: int = 200 * MS, seed: int = 1) -> Budget:
    def now() -> int:
        return program.now

    return Budget(
        BudgetOptions(share, window_ns),
        program.pause,
        program,
        program.take_counted,
        monotonic_ns=now,
        seed=seed,
    )


def begun(
    program: Program, share: float = 0.01, window_ns: int = 200 * MS, seed: int = 1
) -> Budget:
    """A budget whose first window is open."""
    budget = of(program, share, window_ns, seed)
    budget.begin()
    for _ in range(10**6):
        if program.is_recorded:
            break
        program.launch()
        budget.look()
    assert program.is_recorded
    return budget


def test_nothing_is_recorded_before_a_process_is_there() -> None:
    program = Program()
    budget = of(program)
    program.play(budget, 2)
    assert (program.recorded_ns, budget.windows) == (0, 0)
    assert budget.summary() == "--budget: nothing was recorded"
    budget.begin()
    program.play(budget, 60)
    assert (program.recorded_ns > 0, budget.windows > 0) == (True, True)


@pytest.mark.parametrize("price", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("share", [0.005, 0.02])
def test_the_program_loses_its_share(price: float, share: float) -> None:
    program = Program(price=price)
    budget = begun(program, share)
    program.play(budget, 300)
    known = budget.price()
    assert known is not None
    assert known.share == pytest.approx(price, abs=0.02)
    lost = program.recorded_ns * price / (1 + price) / (300 * S)
    # Half of it goes unspent where the price is small: half of the time is the most there is.
    assert min(0.5 * share, 0.98 * 0.5 * price / (1 + price)) < lost < 1.05 * share


@pytest.mark.slow
def test_noise_is_an_error_that_covers_the_truth() -> None:
    covered = 0
    for seed in range(20):
        program = Program(price=0.1, noise=0.8, random=random.Random(seed))
        budget = begun(program, seed=seed)
        program.play(budget, 120)
        known = budget.price()
        assert known is not None
        assert 0 < known.error < 0.05
        covered += abs(known.share - 0.1) < 2 * known.error
    assert covered >= 17


def test_a_program_that_stands_still_says_nothing_of_its_price() -> None:
    program = Program()
    budget = begun(program)
    program.play(budget, 100)
    program.now += 300 * S  # it writes a checkpoint
    program.play(budget, 100)
    known = budget.price()
    assert known is not None
    assert known.share == pytest.approx(0.2, abs=0.02)


@pytest.mark.slow
def test_until_it_is_known_a_quarter_is_assumed() -> None:
    spent = []
    for seed in range(40):
        program = Program()
        budget = begun(program, seed=seed)
        while program.opened < 6:
            program.launch()
            budget.look()
        assert budget.price() is None
        # Times between windows are of random length; the last one before it is known is over.
        while not program.is_ordered and budget.price() is None:
            program.launch()
            budget.look()
        spent.append(program.recorded_ns * ASSUMED / (1 + ASSUMED) / (program.now - 100 * S))
    assert 0.006 < statistics.fmean(spent) < 0.01


def test_a_free_program_is_recorded_most_of_the_time_and_compared_all_the_same() -> None:
    program = Program(price=0.0)
    budget = begun(program)
    program.play(budget, 60)
    program.recorded_ns = 0
    program.play(budget, 60)
    known = budget.price()
    assert known is not None
    assert abs(known.share) < 0.002
    assert 0.45 < program.recorded_ns / (60 * S) < 0.55


@pytest.mark.parametrize("what", ["start_ns", "correlation_id"])
@pytest.mark.parametrize(("wrong", "is_over"), [(1, False), (10, False), (11, True)])
def test_rows_that_are_wrong_end_it(what: str, wrong: int, is_over: bool) -> None:
    """They have no times, or the correlation of the first."""
    program = Program()
    budget = begun(program)
    program.play(budget, 1)
    batch = batch_of([(number, number) for number in range(wrong + (what == "correlation_id"))])
    values = pa.nulls(wrong, pa.int64()) if what == "start_ns" else pa.array([5] * batch.num_rows)
    place = batch.schema.get_field_index(what)
    budget.add("kernel", batch.set_column(place, what, values))
    program.recorded_ns = 0
    program.play(budget, 20)
    assert (program.recorded_ns < 10 * MS) == is_over
    said = ", and then no more, as CUPTI gave kernels no times or wrong correlations"
    assert (said in budget.summary()) == is_over


@pytest.mark.parametrize(("missing", "is_lost"), [(0, False), (4, False), (50, True)])
def test_launches_without_records_are_a_loss(missing: int, is_lost: bool) -> None:
    """Of a window, which may lack a few."""
    program = Program()
    budget = begun(program)
    program.in_windows = 200
    budget.add("kernel", batch_of([(grid, grid) for grid in range(200 - missing)]))
    assert budget.losses() == []  # as records come later than launches
    budget.end()
    losses = budget.losses()
    assert [(loss.cause, loss.table_name) for loss in losses] == [
        ("cupti_dropped", "kernel")
    ] * is_lost
    if is_lost:
        assert "CUPTI made no records of 50 of 200 launches in windows" in losses[0].detail


def test_its_summary() -> None:
    program = Program()
    budget = begun(program)
    program.play(budget, 60)
    summary = budget.summary()
    assert summary.startswith("--budget: ")
    assert "% of the time was recorded, in" in summary
    assert "in which it took 20 % longer" in summary


def learned(windows: list[Counted], process_id: int = 1) -> PriceMeter:
    meter = PriceMeter()
    for window in windows:
        meter.add(process_id, window)
    return meter


def by_hand(count: int, step: int = 1) -> list[Counted]:
    """Of 20 launches that take 30 ns each, after each 80 launches of 10 ns."""
    return [
        Counted(step * number, at, at + 20 * 30, 100 * number, 100 * number + 20)
        for number, at in enumerate(range(0, 1400 * count, 1400))
    ]


def test_a_share_below_zero_is_not_said() -> None:
    program = Program(price=-0.1, noise=0.1)
    budget = begun(program)
    program.play(budget, 60)
    known = budget.price()
    assert known is not None
    assert known.share == pytest.approx(-0.1, abs=0.02)
    assert re.search(
        r", in which it took no longer \(± [^-]+ %\): 0 % of the run", budget.summary()
    )


def test_it_is_looked_at_when_something_is_due() -> None:
    program = Program()
    budget = of(program, window_ns=200 * MS)
    assert budget.pause_ms(20) == 20
    budget = begun(program)
    pauses = set()
    while program.is_ordered:
        pauses.add(budget.pause_ms(20))
        program.now += MS
        budget.look()
    assert (min(pauses), max(pauses)) == (1, 20)


def test_the_price_by_hand() -> None:
    assert learned(by_hand(9)).price() == Price(pytest.approx(2), pytest.approx(0, abs=1e-9), 7)
    assert learned(by_hand(6)).price() is None
    # Windows between them are not known.
    assert learned(by_hand(9, step=2)).price() is None


def test_processes_have_pairs_of_their_own() -> None:
    """The other launches every 100 ns, recorded or not."""
    meter = learned(by_hand(9))
    for number, at in enumerate(range(0, 1400 * 9, 1400)):
        meter.add(2, Counted(number, at, at + 600, 14 * number, 14 * number + 6))
    price = meter.price()
    # Weighed by the launches that it is known from: 20 and 160, 6 and 16.
    share = (600 * 160 + 600 * 16) / (1600 * 20 + 1600 * 6) - 1
    assert price == Price(pytest.approx(share), pytest.approx(0, abs=1e-9), 14)


def test_two_who_pause() -> None:
    said: list[bool] = []
    pauses = Pauses(said.append)
    one, other = pauses.add(), pauses.add()
    for pause, is_paused in ((one, True), (other, True), (one, False), (other, False), (one, True)):
        pause(is_paused)
    assert said == [True, False, True]
