"""Queries that are computed once for a trace: taken when that is right, and never missed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.trace import add_part, write_manifest, write_trace

import cupti_etl
from cupti_etl.errors import UsageError
from cupti_etl.queries import derived, keeping
from cupti_etl.queries.catalog import library
from cupti_etl.queries.operators import native

KERNEL = """
    process_id device_id context_id stream_id start_ns end_ns name correlation_id
    1          0         1          7         10       20     a    1
    1          0         1          7         30       40     b    2
"""
CALL = """
    process_id thread_id start_ns end_ns domain  name             correlation_id
    1          100       5        8      runtime cudaLaunchKernel 1
    1          100       21       28     runtime cudaLaunchKernel 2
"""
ENDED = "capture_id start_ns end_ns\n1 0 100"
GAPS = "SELECT gap_ns, cause FROM _gap_cause ORDER BY start_ns"
# What _gap_cause needs of them: gpu_activity tells communication by the rules.
UNITS = {"edge", "host", "_blocking_copy", "kernel_rule", "_long_launch", "_capture_call"}
UNITS |= {"_communication_kernel", "_stream_span"}


@pytest.fixture(autouse=True)
def _of_small_traces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEPT_BYTES", 0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trace that has ended."""
    path = write_trace(tmp_path / "run", kernel=KERNEL, api_call=CALL, capture=ENDED)
    write_manifest(path)
    return path


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The native operators that were executed."""
    names = []
    init = native.Execution.__init__

    def note(self: native.Execution, name: str) -> None:
        names.append(name)
        init(self, name)

    monkeypatch.setattr(native.Execution, "__init__", note)
    return names


def gaps(path: Path) -> list[tuple[Any, ...]]:
    with cupti_etl.open(path) as trace:
        return [tuple(row.values()) for row in trace.sql(GAPS)]


def units(run: Path) -> set[str]:
    return {folder.name.rpartition("-")[0] for folder in (run / "derived").glob("*")}


def files(run: Path) -> set[Path]:
    return set((run / "derived").glob("*/*.parquet"))


def test_what_was_computed_is_found_by_who_asks_next(run: Path, executed: list[str]) -> None:
    assert gaps(run) == [(10, "launching")]
    assert units(run) == UNITS
    assert executed == ["edge", "host"]
    assert gaps(run) == [(10, "launching")]
    assert executed == ["edge", "host"]


def test_a_string_or_an_alias_computes_nothing(run: Path, executed: list[str]) -> None:
    with cupti_etl.open(run) as trace:
        text = "SELECT count(*) AS gap_edge, 'gap_cause' AS name FROM kernel AS step"
        assert list(trace.sql(text)) == [{"gap_edge": 2, "name": "gap_cause"}]
    assert executed == []
    assert files(run) == set()


@pytest.mark.slow
def test_every_materialized_query_is_the_same_again(run: Path, executed: list[str]) -> None:
    def answers() -> dict[str, list[str]]:
        with cupti_etl.open(run) as trace:
            return {
                query.name: sorted(map(repr, trace.query(query.name)))
                for query in library()
                if query.materialized
            }

    first = answers()
    computed = len(executed)
    assert answers() == first
    assert len(executed) == computed > 5
    assert sum(map(bool, first.values())) > 5


def test_of_other_parts_it_is_computed_anew(run: Path) -> None:
    assert gaps(run) == [(10, "launching")]
    before = files(run)
    add_part(run, "kernel", KERNEL.replace("30       40", "80       90"))
    assert gaps(run) == [(10, "launching"), (40, "queued")]
    assert files(run) == before  # the manifest does not know the part: in memory alone
    write_manifest(run)
    assert gaps(run) == [(10, "launching"), (40, "queued")]
    assert len(files(run)) == len(before)  # of other parts nothing is left
    assert not files(run) & before


@pytest.mark.slow
def test_while_a_trace_is_open(run: Path) -> None:
    with cupti_etl.open(run) as trace:
        assert trace.sql("FROM _gap_edge").count() == 1
        for at in (60, 80, 100):
            add_part(run, "kernel", KERNEL.replace("30       40", f"{at}       {at + 5}"))
            write_manifest(run)
            gaps(run)  # somebody else computes it, and here it is found
            found = trace.sql("SELECT end_ns FROM _gap_edge ORDER BY end_ns DESC LIMIT 1")
            assert found.arrow()["end_ns"].to_pylist() == [at]


def test_by_other_code_it_is_computed_anew(
    run: Path, executed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps(run)
    monkeypatch.setattr(keeping, "code", lambda: "changed")
    gaps(run)
    assert executed == ["edge", "host"] * 2


def test_a_copy_of_a_trace_keeps_it(run: Path, tmp_path: Path, executed: list[str]) -> None:
    gaps(run)
    shutil.copytree(run, tmp_path / "other")
    assert gaps(tmp_path / "other") == [(10, "launching")]
    assert executed == ["edge", "host"]


@pytest.mark.parametrize("content", [b"", b"no Parquet", None])
def test_a_damaged_file_is_replaced(run: Path, executed: list[str], content: bytes | None) -> None:
    first = gaps(run)
    for file in files(run):
        file.write_bytes(file.read_bytes()[:-9] if content is None else content)
    assert gaps(run) == first
    assert executed == ["edge", "host"] * 2
    assert gaps(run) == first
    assert len(executed) == 4


def test_a_file_with_other_columns_is_replaced(run: Path, executed: list[str]) -> None:
    first = gaps(run)
    for file in files(run):
        pq.write_table(pa.table({"gap_ns": [7]}), file)
    assert gaps(run) == first
    assert executed == ["edge", "host"] * 2


def test_a_file_with_other_types_is_replaced(run: Path) -> None:
    with cupti_etl.open(run) as trace:
        first = list(trace.query("_blocking_copy"))
    (file,) = (run / "derived").glob("_blocking_copy-*/*.parquet")
    names = pq.read_schema(file).names
    pq.write_table(pa.table({name: ["a"] for name in names}), file)
    with cupti_etl.open(run) as trace:
        assert list(trace.query("_blocking_copy")) == first


@pytest.mark.parametrize("what", ["the folder", "a unit", "a file", "a pipe"])
def test_what_a_stranger_linked_is_neither_read_nor_removed(
    run: Path, tmp_path: Path, what: str
) -> None:
    first = gaps(run)
    derived, theirs = run / "derived", tmp_path / "theirs"
    (unit,) = derived.glob("edge-*")
    moved = {"the folder": derived, "a unit": unit}.get(what, next(unit.glob("gap.parquet")))
    if what == "a pipe":
        moved.unlink()
        os.mkfifo(moved)
    else:
        moved.rename(theirs)
        moved.symlink_to(theirs)
    (tmp_path / "edge-42").mkdir()
    if what == "the folder":
        (theirs / "edge-mine").mkdir()
    before = sorted(path for path in tmp_path.rglob("*") if run not in path.parents)
    assert gaps(run) == first
    assert sorted(path for path in tmp_path.rglob("*") if run not in path.parents) == before


def test_deleting_it_loses_nothing(run: Path) -> None:
    first = gaps(run)
    shutil.rmtree(run / "derived")
    assert gaps(run) == first


def test_what_somebody_left_who_was_killed_is_removed(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = run / "derived" / ".making-x"
    left.mkdir(parents=True)
    (left / "half.parquet").touch()
    gaps(run)
    assert left.exists()  # somebody may be at it
    monkeypatch.setattr(derived, "_ABANDONED_S", -1)
    shutil.rmtree(run / "derived" / next(iter(p.name for p in (run / "derived").glob("edge-*"))))
    gaps(run)
    assert not left.exists()


@pytest.mark.parametrize("error", [duckdb.IOException("no space"), duckdb.InterruptException("")])
def test_what_cannot_be_written_is_computed_in_memory_and_what_is_interrupted_is_not(
    run: Path, monkeypatch: pytest.MonkeyPatch, error: duckdb.Error
) -> None:
    def put(*_: object) -> None:
        raise error

    monkeypatch.setattr(derived.Writing, "put", put)
    if isinstance(error, duckdb.InterruptException):
        with pytest.raises(UsageError):
            gaps(run)
    else:
        assert gaps(run) == [(10, "launching")]
    assert not list((run / "derived").iterdir())


def _still_written(run: Path, _: pytest.MonkeyPatch) -> None:
    (run / "capture" / "part-000000.parquet").unlink()
    add_part(run, "capture", "capture_id start_ns end_ns\n1 0 -")
    write_manifest(run)


def _without_a_manifest(run: Path, _: pytest.MonkeyPatch) -> None:
    (run / "manifest.json").unlink()


def _little_room(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "_LEAST_FREE_BYTES", 1 << 62)


def _small(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEPT_BYTES", 1 << 30)


def _no_folder(run: Path, _: pytest.MonkeyPatch) -> None:
    (run / "derived").touch()


@pytest.mark.parametrize(
    "lack", [_still_written, _without_a_manifest, _little_room, _small, _no_folder]
)
def test_in_memory_alone(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    lack: Callable[[Path, pytest.MonkeyPatch], None],
) -> None:
    lack(run, monkeypatch)
    assert gaps(run) == gaps(run) == [(10, "launching")]
    assert files(run) == set()


def test_of_several_traces_in_memory(run: Path, tmp_path: Path) -> None:
    other = write_trace(tmp_path / "other", kernel=KERNEL, capture=ENDED.replace("1 0", "2 1"))
    write_manifest(other)
    with cupti_etl.open(run, other) as trace:
        assert trace.sql("FROM _gap_edge").count() > 0
    assert files(run) | files(other) == set()


@pytest.mark.slow
def test_of_a_self_contained_file_in_memory(run: Path, tmp_path: Path, executed: list[str]) -> None:
    file = tmp_path / "run.duckdb"
    words = [sys.executable, "-m", "cupti_etl", "export", run, "--to", "duckdb", file]
    subprocess.run(words, check=True, timeout=120)
    assert gaps(file) == [(10, "launching")]
    assert executed == ["edge", "host"]


ASK = "import sys, cupti_etl; print(list(cupti_etl.open(sys.argv[1]).query('_gap_cause')))"
ASK = f"from cupti_etl.queries import keeping; keeping.KEPT_BYTES = 0; {ASK}"


@pytest.mark.slow
def test_eight_ask_at_once_and_one_is_killed(run: Path) -> None:
    asking = [
        subprocess.Popen([sys.executable, "-c", ASK, run], stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    asking[0].kill()
    answers = [process.communicate(timeout=300)[0] for process in asking]
    assert len(set(answers[1:])) == 1
    assert "launching" in answers[1]
    assert all(process.returncode == 0 for process in asking[1:])
    assert units(run) >= UNITS
    assert gaps(run) == [(10, "launching")]


def test_threads_of_one_program(run: Path) -> None:
    found: list[list[dict[str, Any]]] = []
    with cupti_etl.open(run) as trace:
        threads = [
            threading.Thread(target=lambda: found.append(list(trace.sql(GAPS)))) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [[{"gap_ns": 10, "cause": "launching"}]] * 6


@pytest.mark.slow
def test_nobody_else_takes_them_for_tables(run: Path, tmp_path: Path) -> None:
    gaps(run)
    with cupti_etl.open(run) as trace:
        assert "derived" not in trace.tables
    words = [sys.executable, "-m", "cupti_etl", "export", run, "--to", "parquet", tmp_path / "out"]
    subprocess.run(words, check=True, timeout=120)
    assert not (tmp_path / "out" / "derived").exists()
    done = subprocess.run([sys.executable, "-m", "cupti_etl", "recover", run], timeout=120)
    assert done.returncode == 0
    assert gaps(run) == [(10, "launching")]


@pytest.mark.slow
def test_in_a_session_that_is_in_a_transaction(run: Path) -> None:
    with cupti_etl.open(run) as trace:
        session = trace.session()
        session.sql("BEGIN")
        session.sql("CREATE TEMP TABLE mine AS FROM kernel_summary")
        assert session.sql(GAPS).count() == 1
        # A mistake does not end it, and names of the release before are known.
        with pytest.raises(UsageError, match="nothing does not exist"):
            session.sql("FROM nothing")
        assert session.sql("FROM gap_cause WHERE EXISTS (FROM mine)").count() == 1
        assert session.sql("FROM _table_extent WHERE table_name = 'kernel'").count() == 1
        session.sql("ROLLBACK")
        with pytest.raises(UsageError, match="mine does not exist"):
            session.sql("FROM mine")
        assert session.sql(GAPS).count() == 1
        assert list(trace.sql(GAPS)) == [{"gap_ns": 10, "cause": "launching"}]


def test_a_table_of_ones_own_is_meant_by_its_name(run: Path) -> None:
    with cupti_etl.open(run) as trace:
        session = trace.session()
        session.sql(
            "CREATE TEMP TABLE _gap_cause AS SELECT 7 AS gap_ns, 'mine' AS cause, 0 start_ns"
        )
        assert list(session.sql(GAPS)) == [{"gap_ns": 7, "cause": "mine"}]
        assert "mine" not in [row["name"] for row in session.sql("SHOW TABLES")]
        assert "kernel_summary" in [row["name"] for row in session.sql("SHOW TABLES;")]


def test_a_trace_that_cannot_be_written_is_read_all_the_same(
    run: Path, executed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps(run)
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)
    assert gaps(run) == [(10, "launching")]
    assert executed == ["edge", "host"]


@pytest.mark.slow
def test_index_computes_all(run: Path, executed: list[str]) -> None:
    with cupti_etl.open(run) as trace:
        done = trace.index()
    known = [query.name for query in library() if query.materialized]
    assert (done.queries, done.refused) == (len(known), "")
    assert done.bytes == sum(file.stat().st_size for file in files(run)) > 0
    computed = len(executed)
    with cupti_etl.open(run) as trace:
        for name in known:
            trace.query(name).count()
    assert len(executed) == computed


def test_index_says_why_not(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _still_written(run, monkeypatch)
    words = [sys.executable, "-m", "cupti_etl", "index", run]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert "nothing was computed: it is smaller than 512 KiB" in done.stderr
    with cupti_etl.open(run) as trace:
        assert trace.index().refused == "its capture has not ended"
