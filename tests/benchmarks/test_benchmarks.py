"""The benchmarks run, on tiny sizes, and say what the page shows; no time is asserted."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

import cupti_etl

ROOT = Path(__file__).parents[2]
TINY = {
    "bucket": ["--ranks", "2", "--kernels", "5000"],
    "callbacks": ["--launches", "2000", "--rounds", "1"],
    "decode": ["--mib", "1", "--rounds", "1"],
    "drain": ["--rate", "20000", "--seconds", "1", "--tries", "1"],
    "fleet": ["--ranks", "1", "2", "--kernels", "2000"],
    "flight": ["--rate", "20000", "--seconds", "8", "--span", "1"],
    "lag": ["--seconds", "2", "--fast-rate", "20000"],
    "queries": ["--rows", "2000", "--rounds", "1", "--only", "gpu_busy"],
    "query": ["--rows", "2000", "--rounds", "1"],
    "ranges": ["--rounds", "1"],
    "retention": ["--hours", "6", "--kernels", "6000", "--retain", "1h"],
    "size": ["--thin-seconds", "3"],
    "stalled": ["--rounds", "1", "--launches", "400000"],
    "startup": ["--rounds", "1"],
}


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(ROOT)
    import benchmarks.page

    return benchmarks.page


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_a_benchmark(name: str, page) -> None:  # type: ignore[no-untyped-def]
    words = [sys.executable, "-m", "benchmarks", name, "--json", *TINY[name]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["benchmark"] == name
    assert result["command"].startswith(f"python -m benchmarks {name}")
    assert result["machine"]["cores"] >= 1
    keys = [key for key, _, _ in page.FIGURES.get(name, ())]
    if name == "queries":
        keys = [f"gpu_busy{end}" for end in page.CALLS] + ["gpu_busy_rows", "rows"]
    assert keys
    for key in keys:
        value = result["figures"][key]
        assert value is not None, key
        assert math.isfinite(value), key
        assert value >= 0, key


def test_ranks_of_the_trace_wait_for_each_other(page, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from benchmarks import queries

    queries.make(tmp_path / "run", 2000)
    with cupti_etl.open(tmp_path / "run") as trace:
        rows = list(
            trace.sql("SELECT rank, operations, caused_ns > 0 AS late FROM collective_wait")
        )
    assert rows == [
        {"rank": 1, "operations": 20, "late": True},
        {"rank": 0, "operations": 20, "late": False},
    ]


def test_the_page_is_current(page) -> None:  # type: ignore[no-untyped-def]
    assert page.PAGE.read_text() == page.page(), "run `python -m benchmarks.page`"


def test_a_figure_that_falls_short_is_shown(page, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    one = json.loads((page.MEASURED / "bench-decode.json").read_text())
    one["figures"]["ns_per_record"] = 36
    (tmp_path / "bench-decode.json").write_text(json.dumps(one))
    monkeypatch.setattr(page, "MEASURED", tmp_path)
    assert "| 36 | <= 35 | **no** |" in page.page()


def test_an_operator_stands_beside_its_sql(page) -> None:  # type: ignore[no-untyped-def]
    one = {"first_cpu_s": 2, "first_s": 1.5, "peak_mib": 100}
    figures = {f"fast_{key}": value for key, value in one.items()}
    figures |= {f"fast_sql_{key}": 4 * value for key, value in one.items()} | {"alone_first_s": 1}
    assert list(page._operator_rows(figures))[2:] == [
        "| fast | 2 | 8 | 4.0 | 1.5 | 6 | 100 | 400 |"
    ]


def test_a_query_that_takes_too_long_is_shown(page) -> None:  # type: ignore[no-untyped-def]
    figures = {"slow_first_s": 3, "slow_first_cpu_s": 4, "slow_s": 0.5, "slow_rows": 7}
    rows = list(page._query_rows({**figures, "slow_peak_mib": 200}, 1, 100))
    assert rows[2:] == ["| slow | 7 | **3** | 4 | 0.5 | — | **200** |"]


@pytest.mark.slow
def test_how_often_the_pytest_plugin_is_wrong() -> None:
    words = ["baselines", "--json", "--pairs", "1", "--slow", "1", "--slower", "0", "10"]
    words += ["--sets", "50"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words], cwd=ROOT, capture_output=True, check=True
    )
    figures = json.loads(done.stdout)["figures"]
    assert [(row["slower_pct"], row["called_slower"]) for row in figures["made"]] == [
        (0, 0), (10, 1), (0, 0), (10, 1)
    ]  # fmt: skip
    assert any(row["called_slower"] == 50 for row in figures["drawn"] if row["slower_pct"] == 10)


def test_the_page_of_the_pytest_plugin_has_the_figures(page) -> None:  # type: ignore[no-untyped-def]
    from benchmarks.baselines import table

    figures = json.loads((page.MEASURED / "baselines.json").read_text())["figures"]
    text = (ROOT / "docs" / "howto" / "pytest.md").read_text()
    assert table(figures) in text
    figures["made"][0] |= {"called_slower": 9, "called_slower_pct": 9.0}
    assert table(figures) not in text
