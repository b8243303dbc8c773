"""The tutorial and the README show what their commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cupti_etl.queries.catalog import library

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "update_tutorial.py"


@pytest.mark.slow
def test_the_output_shown_is_what_the_commands_print() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_each_question_has_an_example_answer() -> None:
    page = (ROOT / "docs" / "reference" / "answers.md").read_text()
    answers = re.findall(r"^\$ cupti-etl query (\w+) [a-z]+-trace.*\n.+\n─", page, re.MULTILINE)
    asked = {each.name: each.front for each in library() if each.front}
    assert sorted(answers) == sorted(asked)
    assert [text for text in asked.values() if page.count(f"[{text}](#") != 1] == []


@pytest.mark.slow
def test_other_output_is_noticed(tmp_path: Path) -> None:
    """On a copy of a command of the page, in whose output a word was changed."""
    page = (ROOT / "docs" / "tutorial" / "first-trace.md").read_text()
    blocks = re.findall(r"^```console\n.*?^```$", page, re.MULTILINE | re.DOTALL)
    (shown,) = (block for block in blocks if "verdict  complete" in block)
    changed = shown.replace("verdict  complete", "verdict  complicated")
    copy = tmp_path / "page.md"
    copy.write_text(changed)
    code = (
        "import runpy, sys; from pathlib import Path;"
        f"script = runpy.run_path({str(SCRIPT)!r});"
        "from example_traces import demo_trace;"
        "names = script['main'].__globals__;"
        f"names |= {{'PAGES': (Path({str(copy)!r}),), 'example_traces': demo_trace}};"
        "sys.exit(script['main'](['--check']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "page.md: run scripts/update_tutorial.py" in done.stderr
    assert copy.read_text() == changed
