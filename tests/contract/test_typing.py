"""What people's type checkers are told of the answers, as the pages have it."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest
from support.slow import few

pytest.importorskip("mypy")

REPOSITORY = Path(__file__).parents[2]
ANSWERS = REPOSITORY / "tests" / "typing" / "answers.py"
# Libraries that are not installed, or have no types, are a few classes here.
STUBS = ANSWERS.parent / "stubs"


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Has mypy read a program, as in a project of its own; what it says, and its status."""
    monkeypatch.setenv("MYPYPATH", f"{STUBS}:{REPOSITORY}")
    cache = REPOSITORY / ".mypy_cache" / "typing"

    def read(text: str) -> tuple[str, int]:
        program = tmp_path / "program.py"
        program.write_text(text)
        options = ["--strict", "--follow-imports=silent", f"--cache-dir={cache}"]
        # In a process of its own, for it changes Python's recursion limit; and one at a time, as
        # they share a cache.
        words = [sys.executable, "-m", "mypy", *options, "--config-file=", str(program)]
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr, done.returncode

    return read


@pytest.mark.slow
def test_answers_have_the_types_that_the_pages_say(check) -> None:
    said, status = check(ANSWERS.read_text())
    assert status == 0, said


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    few(
        1,
        [
            ("result.df(), pandas", "result.df(), polars", "Expression is of type"),
            ('QueryName = "kernel_summary"', 'QueryName = "kernel_sumary"', "Incompatible types"),
            ("named(1), str", "named('1'), str", "incompatible type"),
            ("plainly(1), str", "plainly(1), int", "Expression is of type"),
        ],
    ),
)
def test_another_type_is_complained_of(check, right: str, wrong: str, complaint: str) -> None:
    text = ANSWERS.read_text()
    assert text.count(right) == 1
    said, status = check(text.replace(right, wrong))
    assert status == 1
    assert complaint in said
