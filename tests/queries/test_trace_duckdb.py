"""trace.duckdb: for a plain DuckDB shell, made anew at any time, never in the way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from support.trace import add_part, write_trace

import cupti_etl
from cupti_etl.errors import TraceError
from cupti_etl.queries import bound_library
from cupti_etl.queries.catalog import library
from cupti_etl.queries.trace_duckdb import write_trace_duckdb
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.schema.arrow import TABLES

pytestmark = pytest.mark.slow

KERNELS = "start_ns end_ns name\n 0 10 a\n 20 50 b"
# What a person types who knows nothing of cupti-etl.
CALLS = "SELECT name, calls FROM kernel_summary ORDER BY name"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", kernel=KERNELS)


def test_plain_duckdb_sees_tables_and_queries(run: Path) -> None:
    path = write_trace_duckdb(run)
    assert path == run / "trace.duckdb"
    with duckdb.connect(path, read_only=True) as con:
        assert con.sql(CALLS).fetchall() == [("a", 1), ("b", 1)]
        views = dict(con.sql("SELECT view_name, comment FROM duckdb_views()").fetchall())
        assert views["kernel"] == TABLES["kernel"].doc
        for query in library():
            if query.opened:
                assert query.name not in views
            else:
                assert query.parameters or views[query.name] == query.doc
    assert sorted(file.name for file in run.iterdir()) == sorted([*TABLES, "trace.duckdb"])


def test_its_queries_and_tables_are_those_of_an_exported_file(run: Path, tmp_path: Path) -> None:
    """Of which each query is asked: see test_abstaining."""
    with cupti_etl.open(run) as trace:
        export_duckdb(trace, tmp_path / "run.duckdb")
    found = []
    for path in (write_trace_duckdb(run), tmp_path / "run.duckdb"):
        with duckdb.connect(path, read_only=True) as con:
            queries = con.execute(
                "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal UNION ALL"
                " SELECT function_name, macro_definition FROM duckdb_functions() WHERE NOT internal"
            ).fetchall()
            columns = con.execute(
                "SELECT table_name, column_index, column_name, data_type FROM duckdb_columns()"
                " WHERE NOT internal ORDER BY ALL"
            ).fetchall()
        of_tables = [row for row in columns if row[0] in TABLES]
        definitions = {name: _unordered(sql) for name, sql in queries if name not in TABLES}
        found.append((definitions, of_tables))
    assert found[0] == found[1]
    definitions, of_tables = found[0]
    asked = {query.name for query in library() if not query.opened}
    assert asked <= definitions.keys()
    assert {row[0] for row in of_tables} == set(TABLES)


def _unordered(sql: str) -> str:
    """DuckDB writes what stands in an EXCLUDE or a REPLACE in any order."""
    inside = r"(?<=(?:EXCLUDE|REPLACE) \()(?:[^()]|\([^()]*\))*"
    return re.sub(inside, lambda found: str(sorted(found[0].split(", "))), sql)


def test_the_library_is_bound_once(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    write_trace_duckdb(run)
    (kept,) = (tmp_path / "compiled").rglob("library-*")
    former = kept.with_name("library-0123456789abcdef.duckdb")
    kept.rename(former)
    write_trace_duckdb(run)
    assert kept.exists()
    assert not former.exists()
    monkeypatch.setattr(bound_library, "_bind", None)
    with duckdb.connect(write_trace_duckdb(run), read_only=True) as con:
        assert con.sql(CALLS).fetchall() == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("kept", [b"", b"no database" * 500])
def test_a_damaged_library_is_made_anew(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: bytes
) -> None:
    monkeypatch.setattr(bound_library, "_kept_file", lambda: tmp_path / "library.duckdb")
    (tmp_path / "library.duckdb").write_bytes(kept)
    for is_there in (False, True):
        with duckdb.connect(write_trace_duckdb(run), read_only=True) as con:
            assert con.sql(CALLS).fetchall() == [("a", 1), ("b", 1)]
        assert (tmp_path / "library.duckdb").exists() == is_there


# Not even its superuser can write into /proc: an installation that belongs to somebody else.
@pytest.mark.parametrize("folder", ["/dev/null/compiled", "/proc"])
def test_it_is_the_same_where_no_bound_library_can_be_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setattr(bound_library, "_kept_file", lambda: Path(folder, "library.duckdb"))
    with duckdb.connect(write_trace_duckdb(run), read_only=True) as con:
        assert con.sql(CALLS).fetchall() == [("a", 1), ("b", 1)]


def test_it_can_be_attached_under_any_name(run: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{write_trace_duckdb(run)}' AS last_night (READ_ONLY)")
        assert con.sql("SELECT count(*) FROM last_night.kernel_summary").fetchall() == [(2,)]


def test_the_oldest_duckdb_can_read_it(run: Path) -> None:
    path = write_trace_duckdb(run)
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{path}' AS made (READ_ONLY)")
        (tags,) = con.sql(
            "SELECT tags FROM duckdb_databases() WHERE database_name = 'made'"
        ).fetchall()[0]
    assert tags["storage_version"].startswith("v1.5")


def test_new_parts_are_seen_without_making_it_anew(run: Path) -> None:
    path = write_trace_duckdb(run)
    add_part(run, "kernel", KERNELS)
    with duckdb.connect(path, read_only=True) as con:
        assert con.sql(CALLS).fetchall() == [("a", 2), ("b", 2)]


def test_a_folder_that_moved_is_linked_again(run: Path, tmp_path: Path) -> None:
    write_trace_duckdb(run)
    moved = tmp_path / "moved here"
    shutil.move(run, moved)
    with duckdb.connect(moved / "trace.duckdb", read_only=True) as con, pytest.raises(duckdb.Error):
        con.sql(CALLS).fetchall()
    done = subprocess.run(
        [sys.executable, "-m", "cupti_etl", "relink", "moved here"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == f"{moved}/trace.duckdb\n"
    with duckdb.connect(moved / "trace.duckdb", read_only=True) as con:
        assert con.sql(CALLS).fetchall() == [("a", 1), ("b", 1)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM kernel",
        "SELECT max(start_ns) FROM kernel",
        "FROM kernel WHERE start_ns = 20",
        "FROM kernel_summary",
        "FROM capture_health",
        "FROM memset",
    ],
)
def test_a_copy_does_not_read_the_first_one(run: Path, tmp_path: Path, sql: str) -> None:
    write_trace_duckdb(run)
    copy = shutil.copytree(run, tmp_path / "copy")
    add_part(copy, "kernel", KERNELS)
    said = pytest.raises(duckdb.Error, match=f"reads the trace in {run}, .*cupti-etl relink")
    with duckdb.connect(copy / "trace.duckdb", read_only=True) as con, said:
        con.sql(sql).fetchall()
    write_trace_duckdb(copy)
    with duckdb.connect(copy / "trace.duckdb", read_only=True) as con:
        con.sql(sql).fetchall()
        assert con.sql(CALLS).fetchall() == [("a", 2), ("b", 2)]


def test_the_file_alone_can_be_a_copy(run: Path, tmp_path: Path) -> None:
    copy = shutil.copy(write_trace_duckdb(run), tmp_path / "of mine.duckdb")
    with duckdb.connect(copy, read_only=True) as con, pytest.raises(duckdb.Error, match="relink"):
        con.sql(CALLS).fetchall()


@pytest.mark.parametrize("way", ["link", "relative", "linked before"])
def test_it_is_known_by_whatever_name_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    run = write_trace(tmp_path / "it's here" / "run", kernel=KERNELS)
    (tmp_path / "link").symlink_to(run.parent)
    if way == "linked before":
        path = write_trace_duckdb(tmp_path / "link" / "run")
    else:
        write_trace_duckdb(run)
        monkeypatch.chdir(run)
        path = {"link": tmp_path / "link" / "run", "relative": Path("../run")}[way] / "trace.duckdb"
    with duckdb.connect(path, read_only=True) as con:
        assert con.sql(CALLS).fetchall() == [("a", 1), ("b", 1)]


def test_filters_reach_the_parts(run: Path) -> None:
    """Whether the file is where it was made is asked beside them."""
    add_part(run, "kernel", KERNELS)
    with duckdb.connect(write_trace_duckdb(run), read_only=True) as con:
        ((_, plan),) = con.sql("EXPLAIN SELECT end_ns FROM kernel WHERE name = 'a'").fetchall()
    (scan,) = [line for line in plan.replace("\u2502", "\n").splitlines() if "'a'" in line]
    assert scan.replace(" ", "").startswith("Filters:name='a'")


def test_it_is_replaced_under_a_reader_and_opening_a_trace_does_not_touch_it(run: Path) -> None:
    path = write_trace_duckdb(run)
    code = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True);"
        f"sys.stdin.readline(); print(con.sql({CALLS!r}).fetchall())"
    )
    # Opened for writing, it would lock out everybody who opens it.
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with cupti_etl.open(run) as opened:
            assert opened.query("kernel_summary").count() == 2
        before = path.stat().st_ino
        write_trace_duckdb(run)
        assert path.stat().st_ino != before
        out, _ = other.communicate("\n")
    assert out == "[('a', 1), ('b', 1)]\n"


def test_what_cannot_be_written_leaves_nothing(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = write_trace_duckdb(run).read_bytes()

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(TraceError, match="cannot write .*trace.duckdb: Permission denied"):
        write_trace_duckdb(run)
    assert (run / "trace.duckdb").read_bytes() == old
    assert sorted(file.name for file in run.iterdir()) == sorted([*TABLES, "trace.duckdb"])


def test_a_query_that_is_wrong_is_no_matter_of_permissions(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(con: duckdb.DuckDBPyConnection) -> None:
        con.execute("CREATE VIEW kernel_summary AS SELECT no_column FROM (SELECT 1 AS one)")

    monkeypatch.setattr(bound_library, "copy_library", copy)
    with pytest.raises(TraceError, match="cannot write .*: Binder Error: .*no_column") as caught:
        write_trace_duckdb(run)
    assert caught.value.hint == "this is a fault of cupti-etl: please report it"
    assert not (run / "trace.duckdb").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_permission(run: Path) -> None:
    run.chmod(0o500)
    try:
        with pytest.raises(TraceError, match=r"cannot write .*trace\.duckdb"):
            write_trace_duckdb(run)
    finally:
        run.chmod(0o700)


def test_a_damaged_part_is_named(run: Path) -> None:
    part = add_part(run, "memset")
    part.write_bytes(part.read_bytes()[:-4])
    with pytest.raises(TraceError, match=r"memset/part-000001\.parquet is damaged"):
        write_trace_duckdb(run)


def test_what_is_no_trace_has_none(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is not a trace"):
        write_trace_duckdb(tmp_path)
    assert list(tmp_path.iterdir()) == []
