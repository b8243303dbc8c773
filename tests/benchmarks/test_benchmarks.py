"""The benchmarks run, on tiny sizes, and say what the page shows; no time is asserted."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TINY = {
    "decode": ["--mib", "1", "--rounds", "1"],
    "drain": ["--rate", "20000", "--seconds", "1", "--tries", "1"],
    "lag": ["--seconds", "2", "--fast-rate", "20000"],
    "queries": ["--rows", "2000", "--rounds", "1"],
    "query": ["--rows", "2000", "--rounds", "1"],
    "size": ["--thin-seconds", "3"],
    "stalled": ["--rounds", "1", "--launches", "400000"],
    "startup": ["--rounds", "1"],
}


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(ROOT)
    import benchmarks.page

    return benchmarks.page


@pytest.mark.parametrize("name", TINY)
def test_a_benchmark(name: str, page) -> None:  # type: ignore[no-untyped-def]
    words = [sys.executable, "-m", "benchmarks", name, "--json", *TINY[name]]
    words += ["--only", ",".join(page.QUERIES)] if name == "queries" else []
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["benchmark"] == name
    assert result["command"].startswith(f"python -m benchmarks {name}")
    assert result["machine"]["cores"] >= 1
    for key, what, _ in page.FIGURES[name]:
        value = result["figures"][key]
        assert value is not None, (key, what)
        assert math.isfinite(value), (key, what)
        assert value >= 0, (key, what)


def test_the_page_is_current(page) -> None:  # type: ignore[no-untyped-def]
    assert page.PAGE.read_text() == page.page(), "run `python -m benchmarks.page`"


def test_a_figure_that_falls_short_is_shown(page, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    one = json.loads((page.MEASURED / "bench-decode.json").read_text())
    one["figures"]["ns_per_record"] = 36
    (tmp_path / "bench-decode.json").write_text(json.dumps(one))
    monkeypatch.setattr(page, "MEASURED", tmp_path)
    assert "| 36 | <= 35 | **no** |" in page.page()
