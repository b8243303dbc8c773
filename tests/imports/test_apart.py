"""Files of which nothing says that they are of one run, imported as one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from imports.conftest import event, kineto

from cupti_etl.cli import cli

HOUR_US = 3600e6


@pytest.mark.parametrize(
    ("begins", "said"),
    [
        # Beside each other, and one cycle of a profiler after the other.
        ([0.0, 0.0, 0.0], ""),
        ([0.0, 0.9, 1.8], ""),
        ([0.0, 1.2, 4.4], "c.json begins 3 hours after the end of {}/b.json"),
        ([100.0, 0.0, 1.0], "a.json begins 4 days after the end of {}/c.json"),
    ],
)
def test_runs_of_different_days_are_told(tmp_path: Path, begins: list[float], said: str) -> None:
    files = [
        kineto(
            tmp_path / f"{name}.json", event("kernel", name, 1e15 + begin * HOUR_US, 5, device=0)
        )
        for name, begin in zip("abc", begins, strict=True)
    ]
    done = CliRunner().invoke(cli, ["import", *map(str, files), "-o", str(tmp_path / "run")])
    assert done.exit_code == 0
    assert ("are one run now" in done.stderr) == bool(said)
    assert said.format(tmp_path) in done.stderr
