"""The modules of the page, by the tests of their own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"


def test_modules_of_the_page() -> None:
    npm = shutil.which("npm")
    if not npm or not (WEB / "node_modules/esbuild").is_dir():
        pytest.skip("the packages of the page are not there: make web")
    done = subprocess.run([npm, "test"], cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
