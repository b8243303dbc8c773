"""One self-contained file: everything is in it, for any DuckDB, and opens as a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from support.trace import add_part, as_table, assert_rows, write_part, write_trace

import cupti_etl
from cupti_etl.errors import TraceError, UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.render.duckdb_file import convert, export_duckdb
from cupti_etl.schema import revisions
from cupti_etl.schema.arrow import TABLES

KERNELS = "process_id start_ns end_ns name\n 1 0 10 a\n 1 20 50 b"
# What a person types who knows nothing of cupti-etl.
CALLS = "SELECT name, calls FROM kernel_summary ORDER BY name"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", kernel=KERNELS, process="process_id pid\n 1 77")


@pytest.fixture
def file(run: Path, tmp_path: Path) -> Path:
    out = tmp_path / "run.duckdb"
    with cupti_etl.open(run) as trace:
        assert export_duckdb(trace, out) == []
    return out


@pytest.mark.slow
def test_plain_duckdb_sees_tables_and_queries(file: Path) -> None:
    with duckdb.connect(file, read_only=True) as con:
        assert con.sql(CALLS).fetchall() == [("a", 1), ("b", 1)]
        tables = dict(con.sql("SELECT table_name, comment FROM duckdb_tables()").fetchall())
        assert tables.pop(revisions.TABLE, "absent") is None
        assert tables == {name: table.doc for name, table in TABLES.items()}
        assert con.sql(f"FROM {revisions.TABLE}").fetchall() == [(revisions.newest(),)]
        views = dict(con.sql("SELECT view_name, comment FROM duckdb_views()").fetchall())
        for query in library():
            if query.opened:
                assert query.name not in views
            else:
                assert query.parameters or views[query.name] == query.doc


@pytest.mark.slow
def test_the_oldest_duckdb_can_read_it_under_any_name(file: Path) -> None:
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{file}' AS last_night (READ_ONLY)")
        assert con.sql("SELECT count(*) FROM last_night.kernel_summary").fetchall() == [(2,)]
        (tags,) = con.sql(
            "SELECT tags FROM duckdb_databases() WHERE database_name = 'last_night'"
        ).fetchall()[0]
    assert tags["storage_version"].startswith("v1.5")


@pytest.mark.slow
def test_nothing_of_the_folder_is_needed(run: Path, file: Path, tmp_path: Path) -> None:
    run.rename(tmp_path / "elsewhere")
    moved = file.rename(tmp_path / "it's moved.duckdb")
    assert {path.name for path in tmp_path.iterdir()} == {"elsewhere", moved.name}
    with cupti_etl.open(moved) as trace:
        assert set(trace.tables) == set(TABLES)
        assert_rows(trace.query("kernel_summary"), "name calls\n b 1\n a 1")
        assert_rows(trace.sql("FROM process"), "pid\n 77")
        assert trace.paths == (moved,)
        with pytest.raises(UsageError, match="read-only"):
            trace.sql("DELETE FROM _file0.kernel")


@pytest.mark.slow
def test_a_file_can_be_opened_twice_and_exported_again(file: Path, tmp_path: Path) -> None:
    with cupti_etl.open(file) as one, cupti_etl.open(file) as two:
        assert one.sql("FROM kernel").count() == two.sql("FROM kernel").count() == 2
        export_duckdb(one, tmp_path / "again.duckdb")
    with cupti_etl.open(tmp_path / "again.duckdb") as trace:
        assert trace.query("kernel_summary").count() == 2


def test_an_existing_file_is_refused(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.duckdb"
    out.write_text("mine")
    with cupti_etl.open(run) as trace:
        with pytest.raises(UsageError, match=r"out\.duckdb exists already"):
            export_duckdb(trace, out)
        with pytest.raises(UsageError, match="there is no folder"):
            export_duckdb(trace, tmp_path / "no" / "out.duckdb")
    assert out.read_text() == "mine"


def test_a_damaged_part_leaves_no_file(run: Path, tmp_path: Path) -> None:
    part = add_part(run, "memset")
    with cupti_etl.open(run) as trace:
        part.write_bytes(part.read_bytes()[:-4])
        with pytest.raises(TraceError, match=r"memset/part-000001\.parquet is damaged"):
            export_duckdb(trace, tmp_path / "out.duckdb")
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_what_this_version_does_not_know_is_left_out_and_named(run: Path, tmp_path: Path) -> None:
    more = as_table("kernel", KERNELS)
    write_part(run / "kernel/part-000001.parquet", more.append_column("novel", more["start_ns"]))
    (run / "from_the_future").mkdir()
    write_part(run / "from_the_future/part-000000.parquet", as_table("clock", "realtime_ns\n 5"))
    with cupti_etl.open(run) as trace:
        assert export_duckdb(trace, tmp_path / "a.duckdb") == ["kernel.novel", "from_the_future"]
    with cupti_etl.open(tmp_path / "a.duckdb") as trace:
        assert trace.sql("FROM kernel").count() == 4
    # A capture's own folder is removed after it was converted, so there nothing may be missing.
    with pytest.raises(
        cupti_etl.EtlError, match=r"would lack rows of kernel\.novel, from_the_future"
    ):
        convert(run, tmp_path / "b.duckdb")
    assert not (tmp_path / "b.duckdb").exists()


@pytest.mark.slow
def test_an_older_trace_gives_a_whole_schema(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run")
    old = as_table("kernel", KERNELS).drop_columns(["grid_id"])
    write_part(path / "kernel/part-000000.parquet", old)
    with cupti_etl.open(path) as trace:
        export_duckdb(trace, tmp_path / "out.duckdb")
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as con:
        assert con.sql("SELECT DISTINCT grid_id FROM kernel").fetchall() == [(None,)]


ROWS = 6_000_000
# Writes more rows than fit the memory it is given.
BOUNDED = """
import sys
from pathlib import Path
import cupti_etl
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.render.files import export_file
with cupti_etl.open(sys.argv[1]) as trace:
    trace.sql("SET memory_limit = '200MB'")
    trace.sql("SET threads = 2")
    export_duckdb(trace, Path(sys.argv[2], "out.duckdb"))
    export_file(trace, "memset", Path(sys.argv[2], "memset.parquet"), "parquet")
"""


@pytest.mark.slow
def test_memory_is_bounded(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run")
    with duckdb.connect() as con:
        con.execute(
            "COPY (SELECT range AS process_id, (hash(range) & 1048575)::BIGINT AS start_ns,"
            " (hash(range, 1) >> 1)::BIGINT AS address, (hash(range, 2) >> 1)::BIGINT AS bytes,"
            " (hash(range, 3) >> 1)::BIGINT AS end_ns, (hash(range, 4) >> 1)::BIGINT AS"
            f" correlation_id FROM range({ROWS})) TO '{path}/memset/part-000001.parquet'"
        )
    subprocess.run([sys.executable, "-c", BOUNDED, path, tmp_path], check=True, timeout=120)
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "memset.parquet", "out.duckdb", "run",
    ]  # fmt: skip
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as con:
        assert con.sql("SELECT count(*) FROM memset").fetchall() == [(ROWS,)]


# --- files that are no trace


def test_a_file_that_is_not_ours(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "other.duckdb") as con:
        con.execute("CREATE TABLE kernel (a INTEGER)")
    with pytest.raises(TraceError, match="other.duckdb is a DuckDB file, but holds no tables of"):
        cupti_etl.open(tmp_path / "other.duckdb")


def test_the_convenience_file_of_a_folder(run: Path) -> None:
    from cupti_etl.queries.trace_duckdb import write_trace_duckdb

    with pytest.raises(TraceError, match="holds no tables") as raised:
        cupti_etl.open(write_trace_duckdb(run))
    assert "give the folder it is in" in raised.value.hint


@pytest.mark.slow
def test_a_newer_file(file: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(TraceError, match="has schema revision 9999; this cupti-etl knows") as why:
        cupti_etl.open(file)
    assert "newer" in why.value.hint


@pytest.mark.slow
def test_a_file_that_is_cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:9000])
    with pytest.raises(TraceError, match=r"run\.duckdb cannot be opened") as why:
        cupti_etl.open(file)
    assert "make sure that it is whole" in why.value.hint


@pytest.mark.slow
def test_a_file_that_is_damaged_within(tmp_path: Path) -> None:
    rows = "\n".join(f"{at * at} {at} kernel{at * at}" for at in range(20_000))
    path, file = write_trace(tmp_path / "run"), tmp_path / "run.duckdb"
    add_part(path, "kernel", f"start_ns end_ns name\n{rows}")
    with cupti_etl.open(path) as trace:
        export_duckdb(trace, file)
    whole = file.read_bytes()
    said = []
    # Blocks of 256 KiB, each with a checksum; what else may fail is an error of ours, too.
    for block in range(12_288, len(whole), 1 << 18):
        file.write_bytes(whole[: block + 5000] + b"\xff" * 100 + whole[block + 5100 :])
        try:
            with cupti_etl.open(file) as trace:
                trace.query("kernel_summary").arrow()
        except TraceError as error:
            said.append(error.message)
    assert any(each.startswith("a .duckdb file of the trace is damaged") for each in said)


@pytest.mark.slow
def test_a_file_that_somebody_writes(file: Path) -> None:
    code = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('open', flush=True);"
        "sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(TraceError, match=r"run\.duckdb cannot be opened: .*lock") as why:
            cupti_etl.open(file)
        other.communicate("\n")
    assert "open for writing" in why.value.hint


@pytest.mark.slow
def test_an_older_file_is_read_without_what_it_lacks(file: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("ALTER TABLE kernel DROP COLUMN grid_id")
        con.execute("DROP TABLE marker")
        con.execute("CREATE TABLE mine AS SELECT 5 AS five")
    with cupti_etl.open(file) as trace:
        assert trace.sql("SELECT DISTINCT grid_id FROM kernel").arrow()["grid_id"].null_count == 1
        assert trace.query("nvtx_range").count() == 0
        # What is not of the schema could be called anything: it stays for DuckDB's own shell.
        assert "mine" not in trace.tables
