"""What is "now" of a trace whose parts come while it is read: as much time as there is work of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.growing import S, kernels, running
from support.trace import add_part, as_table, write_manifest, write_part

from cupti_etl.top import growing
from cupti_etl.top.growing import Growing, Part
from cupti_etl.top.reader import Reader

pytestmark = pytest.mark.slow


def roll(path: Path, second: int) -> Sequence[Path]:
    """Ten kernels in a second, and that the second is over."""
    rows = [(0, second * 1000 + at, second * 1000 + at + 50, "_Za") for at in range(0, 1000, 100)]
    clock = f"realtime_ns\n{(second + 1) * S}"
    return add_part(path, "kernel", kernels(*rows)), add_part(path, "clock", clock)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = running(tmp_path / "run")
    roll(path, 0)
    return path


def during_the_next_reading(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    show = Growing.show

    def once(self: Growing, parts: Sequence[Part] | None) -> None:
        monkeypatch.setattr(Growing, "show", show)
        action()
        show(self, parts)

    monkeypatch.setattr(Growing, "show", once)


def test_what_comes_while_it_is_read_is_of_the_next_reading(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader(path)
    reader.read()
    roll(path, 1)
    during_the_next_reading(monkeypatch, lambda: roll(path, 2))
    for second in (2, 3):
        reading = reader.read()
        assert reading.age_ns == second * S
        assert (reading.now_ns, reading.gpus[0]["kernels_per_s"]) == (S, 10)


def test_parts_of_one_roll_are_read_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They get their names one after the other: here, while the reader waits for that."""
    reader = Reader(path)
    reader.read()
    kernel, _ = roll(path, 1)
    write_manifest(path)
    hidden = kernel.rename(kernel.with_name(".hidden"))
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        hidden.rename(kernel)

    monkeypatch.setattr(growing, "time", SimpleNamespace(sleep=wait))
    reading = reader.read()
    assert len(waited) == 1
    assert (reading.now_ns, reading.gpus[0]["kernels_per_s"]) == (S, 10)


def test_what_is_now_stays_while_nothing_comes(path: Path) -> None:
    reader = Reader(path)
    reader.read()
    roll(path, 1)
    before = reader.read()
    state = "process_id pid state start_ns\n1 77 tracing 0\n2 78 tracing 5"
    write_part(path / "process" / "part-000000.parquet", as_table("process", state))
    after = reader.read()
    assert [row["pid"] for row in after.processes] == [77, 78]
    assert (after.now_ns, after.age_ns, after.kernels) == (S, 2 * S, before.kernels)
    assert after.gpus == before.gpus
