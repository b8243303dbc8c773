"""What people see of the demo's trace, at three widths of a terminal, is what was read and kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests" / "render" / "golden").glob("*.txt"))


@pytest.mark.slow
def test_answers_are_those_that_were_read() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "update_golden.py"), "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(GOLDEN) == 10


@pytest.mark.parametrize("page", GOLDEN, ids=lambda page: page.stem)
def test_answers_fit_and_name_no_ids(page: Path) -> None:
    for block in re.split(r"^(?=\d+ columns$)", page.read_text(), flags=re.MULTILINE)[1:]:
        first, *lines = block.splitlines()
        width = int(first.split()[0])
        table = [line for line in lines if "not shown" not in line]
        assert max(map(len, table)) <= width
        assert not any(line.endswith(" ") for line in table)
        assert not re.search(r"\d{15}", block), "an id or a time since 1970"
