"""``--overwrite``: what may be replaced, and what may not."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import etl
from support.exported import is_told
from support.trace import write_trace

import cupti_etl

DATA = Path(__file__).parents[1] / "data"
KINETO = DATA / "kineto_v100.json.gz"
FORMS = [
    ("--to", "duckdb", "out.duckdb"),
    ("--to", "parquet", "out"),
    ("--to", "csv", "out"),
    ("--to", "csv", "--table", "kernel", "out.csv"),
    ("--to", "parquet", "--table", "kernel", "out.parquet"),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", kernel="start_ns end_ns name\n 0 10 a")


def _content(out: Path) -> dict[str, bytes]:
    files = [out] if out.is_file() else [path for path in out.rglob("*") if path.is_file()]
    return {str(path.relative_to(out.parent)): path.read_bytes() for path in files}


@pytest.mark.slow
@pytest.mark.parametrize("words", FORMS, ids=" ".join)
def test_an_export_replaces_an_earlier_one(
    run: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    *options, name = words
    folder = tmp_path / "exports"
    folder.mkdir()
    out = folder / name
    two = write_trace(tmp_path / "two", kernel="start_ns end_ns name\n 0 10 b\n 20 30 c")
    assert etl("export", run, *options, out, "--overwrite").returncode == 0
    before = _content(out)
    refused = etl("export", two, *options, out)
    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        f"cupti-etl: {out} exists already",
        "  choose another name, or add --overwrite",
    ]
    assert _content(out) == before
    done = etl("export", two, *options, out, "--overwrite")
    assert (done.returncode, is_told(done.stderr, options[1], out)) == (0, True)
    assert _content(out) != before
    assert list(folder.iterdir()) == [out]


def test_what_is_not_ours_is_not_replaced(run: Path, tmp_path: Path) -> None:
    home, link = tmp_path / "home", tmp_path / "link"
    home.mkdir()
    (home / "thesis.txt").write_text("mine")
    link.symlink_to(home)
    empty = tmp_path / "empty"
    empty.mkdir()
    for out, why in (
        (home, "is not a trace"),
        (link, "is neither a file nor a folder"),
        (empty, "is not a trace"),
    ):
        for words in (
            ("export", run, "--to", "csv", out),
            ("import", KINETO, "-o", out),
            ("demo", "-o", out),
            ("capture", "-o", out, "--", "true"),
        ):
            done = etl(words[0], "--overwrite", *words[1:])
            assert (done.returncode, why in done.stderr) == (2, True), done.stderr
    assert (home / "thesis.txt").read_text() == "mine"


def test_an_import_replaces_a_trace_when_it_is_complete(run: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('{"traceEvents": [')
    assert etl("import", broken, "-o", run, "--overwrite").returncode == 1
    with cupti_etl.open(run) as trace:
        assert trace.sql("FROM kernel").count() == 1
    assert etl("import", KINETO, "-o", run, "--overwrite", "--no-index").returncode == 0
    with cupti_etl.open(run) as trace:
        assert trace.sql("FROM kernel").count() > 1
    refused = etl("import", KINETO, "-o", run)
    assert refused.returncode == 2
    assert "--overwrite" in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.json", "run"]


@pytest.mark.slow
def test_a_trace_with_what_asking_left_in_it_is_replaced(run: Path) -> None:
    assert etl("relink", run).returncode == 0
    assert etl("index", run).returncode == 0
    (run / "derived").mkdir(exist_ok=True)  # the index of a small trace may be empty
    assert etl("import", KINETO, "-o", run, "--overwrite", "--no-index").returncode == 0
    assert not (run / "derived").exists()


@pytest.mark.slow
def test_an_import_replaces_a_file(tmp_path: Path) -> None:
    out = tmp_path / "out.duckdb"
    for _ in range(2):
        assert etl("import", KINETO, "-o", out, "--overwrite").returncode == 0
        with cupti_etl.open(out) as trace:
            assert trace.sql("FROM kernel").count() > 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.duckdb"]
