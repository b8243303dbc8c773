"""The tutorial and the README show what their commands print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "update_tutorial.py"


def test_the_output_shown_is_what_the_commands_print() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_other_output_is_noticed(tmp_path: Path) -> None:
    """On a copy of the page in which a number was changed."""
    page = ROOT / "docs" / "tutorial" / "first-trace.md"
    changed = page.read_text().replace("verdict  complete", "verdict  complicated")
    assert changed != page.read_text()
    copy = tmp_path / "page.md"
    copy.write_text(changed)
    code = (
        "import runpy, sys; from pathlib import Path;"
        f"script = runpy.run_path({str(SCRIPT)!r});"
        f"script['main'].__globals__['PAGES'] = (Path({str(copy)!r}),);"
        "sys.exit(script['main'](['--check']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "page.md: run scripts/update_tutorial.py" in done.stderr
    assert copy.read_text() == changed
