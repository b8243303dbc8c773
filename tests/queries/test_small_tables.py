"""Tables of few rows stand in memory, and say what their parts say all the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from support.trace import (
    MakeTrace,
    add_part,
    as_table,
    assert_rows,
    write_manifest,
    write_part,
    write_tables,
    write_trace,
)

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.errors import TraceError, UsageError
from cupti_etl.queries import small_tables
from cupti_etl.queries.catalog import library
from cupti_etl.queries.materialize import Materialized, Operator
from cupti_etl.queries.query import Query
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.schema.arrow import TABLES

ONE = "start_ns end_ns name\n 0 10 a"
OTHER = "start_ns end_ns name\n 20 30 b"
NAMES = "SELECT name FROM kernel ORDER BY start_ns"


def in_memory(trace: Trace, prefix: str = "_small_") -> list[str]:
    rows = trace.sql("SELECT table_name AS name FROM duckdb_tables() ORDER BY ALL")
    return [row["name"] for row in rows if row["name"].startswith(prefix)]


def test_a_table_is_read_when_it_is_first_asked(trace: MakeTrace) -> None:
    opened = trace(kernel=ONE)
    assert in_memory(opened) == []
    assert_rows(opened.sql(NAMES), "name\n a")
    assert in_memory(opened) == ["_small_kernel"]


def test_a_larger_table_is_not(trace: MakeTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_tables, "MOST_BYTES", 0)
    opened = trace(kernel=ONE)
    assert_rows(opened.sql(NAMES), "name\n a")
    assert in_memory(opened) == []


@pytest.mark.parametrize(("folder_bytes", "there"), [(128 << 10, ["_small_kernel"]), (100, [])])
def test_it_is_of_many_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder_bytes: int, there: list[str]
) -> None:
    """To open the parts of all, each time that a statement names the table, takes longer."""
    monkeypatch.setattr(small_tables, "MOST_BYTES", 0)
    monkeypatch.setattr(small_tables, "_FOLDER_BYTES", folder_bytes)
    paths = [write_trace(tmp_path / f"run{number}", kernel=ONE) for number in range(3)]
    with cupti_etl.open(*paths) as opened:
        assert_rows(opened.sql(NAMES), "name\n a\n a\n a")
        assert in_memory(opened) == there


def test_a_table_without_a_row_is_not_read(tmp_path: Path) -> None:
    with cupti_etl.open(write_trace(tmp_path / "run", kernel=ONE)) as opened:
        assert_rows(
            opened.sql("SELECT count(*) AS n, max(start_ns) AS last FROM memcpy"), "n last\n 0 -"
        )
        assert_rows(opened.sql("SELECT sum(rows) AS n FROM _table_extent"), "n\n 1")
        # Which columns samples have, their parts alone say.
        assert in_memory(opened) == ["_small_kernel", "_small_pm_sample"]


SOME = {
    "process": "process_id pid state\n 1 7 finished",
    "device": "process_id device_id device_uuid\n 1 0 u0",
    "kernel": "process_id device_id stream_id start_ns end_ns name correlation_id\n"
    " 1 0 7 100 200 a 1\n 1 0 7 300 400 b 2\n 1 0 7 500 600 a 3",
    "api_call": "process_id thread_id domain name correlation_id start_ns end_ns\n"
    " 1 5 runtime cudaLaunchKernel 1 10 20\n 1 5 runtime cudaLaunchKernel 2 30 40",
    "marker": "process_id thread_id marker_id event timestamp_ns name\n"
    " 1 5 1 start 0 step\n 1 5 1 end 50 -",
}


def test_a_table_without_a_part_is_as_one_without_a_row(tmp_path: Path) -> None:
    """So most tests write the tables alone that they are about."""
    folders = write_trace(tmp_path / "run", **SOME), write_tables(tmp_path / "few", **SOME)
    assert {each.name for each in folders[1].iterdir()} == SOME.keys()
    with cupti_etl.open(folders[0]) as whole, cupti_etl.open(folders[1]) as few:
        for name in (*TABLES, "_table_extent", "_table_rows"):
            rows, same = (
                opened.sql(f"FROM {name} ORDER BY ALL").arrow() for opened in (whole, few)
            )
            assert rows.equals(same), name
        assert whole.tables == few.tables


@pytest.mark.slow
def test_every_query_answers_alike_without_such_parts(tmp_path: Path) -> None:
    folders = write_trace(tmp_path / "run", **SOME), write_tables(tmp_path / "few", **SOME)
    with cupti_etl.open(folders[0]) as whole, cupti_etl.open(folders[1]) as few:
        for query in library():
            rows, same = (sorted(map(str, opened.query(query.name))) for opened in (whole, few))
            assert rows == same, query.name


def test_the_first_row_of_a_table_is_seen(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    copies = "SELECT records FROM capture_health WHERE subject = 'memcpy'"
    with cupti_etl.open(path) as opened:
        assert_rows(opened.sql(copies), "records\n 0")
        add_part(path, "memcpy", "start_ns end_ns\n 0 10")
        assert_rows(opened.sql(copies), "records\n 1")
        assert_rows(opened.sql("SELECT rows FROM _table_extent WHERE start_ns = 0"), "rows\n 1\n 1")


def test_what_is_added_and_exchanged_is_seen(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as opened:
        assert_rows(opened.sql(NAMES), "name\n a")
        added = add_part(path, "kernel", OTHER)
        assert_rows(opened.sql(NAMES), "name\n a\n b")
        write_part(added, as_table("kernel", ONE))
        assert_rows(opened.sql(NAMES), "name\n a\n a")
        added.unlink()
        assert_rows(opened.sql(NAMES), "name\n a")


def test_what_was_read_in_a_transaction_is_not_kept_for_ever(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    with cupti_etl.open(path) as opened:
        session = opened.session()
        session.sql("BEGIN")
        assert_rows(session.sql(NAMES), "name\n a")
        session.sql("COMMIT")
        add_part(path, "kernel", OTHER)
        assert_rows(session.sql(NAMES), "name\n a\n b")


def test_a_table_that_has_grown_is_read_from_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    (part,) = (path / "kernel").iterdir()
    monkeypatch.setattr(small_tables, "MOST_BYTES", part.stat().st_size)
    with cupti_etl.open(path) as opened:
        assert_rows(opened.sql(NAMES), "name\n a")
        add_part(path, "kernel", OTHER)
        # The copy is no longer asked.
        assert_rows(opened.sql(NAMES), "name\n a\n b")
        add_part(path, "kernel", "start_ns end_ns name\n 40 50 c")
        assert_rows(opened.sql(NAMES), "name\n a\n b\n c")


def test_parts_and_processes_that_are_asked(trace: MakeTrace) -> None:
    opened = trace(
        process="process_id pid rank\n 1 11 0\n 2 12 1",
        kernel="process_id start_ns end_ns name\n 1 0 10 a\n 2 0 10 b\n 1 50 60 c",
    )
    with opened.scope(rank=1) as part:
        assert_rows(part.sql(NAMES), "name\n b")
    with opened.scope(to="40ns") as part:
        assert_rows(part.sql(NAMES + ", name"), "name\n a\n b")


PLACED = "device_id start_ns end_ns\n 0 0 10"
BUSY = "SELECT busy_ns FROM gpu_busy"


Computing = Callable[[Exception], None]


@pytest.fixture
def computing(monkeypatch: pytest.MonkeyPatch) -> Computing:
    """To compute gpu_activity raises that."""

    def raises(error: Exception) -> None:
        select = Materialized._select

        def fail(self: Materialized, query: Query) -> Operator:
            if query.name == "gpu_activity":
                raise error
            return select(self, query)

        monkeypatch.setattr(Materialized, "_select", fail)

    return raises


def test_a_query_over_them_is_computed_once_for_all_that_read_it(trace: MakeTrace) -> None:
    opened = trace(kernel=PLACED)
    assert_rows(opened.sql(BUSY), "busy_ns\n 10")
    assert "gpu_busy" in in_memory(opened, "gpu_")
    assert "gpu_activity" in in_memory(opened, "gpu_")


def test_so_is_one_of_a_part_over_what_the_whole_has_no_row_of(trace: MakeTrace) -> None:
    calls = "process_id thread_id correlation_id start_ns end_ns\n 1 7 1 2 3\n 1 7 2 22 23"
    kernels = "process_id correlation_id start_ns end_ns name\n 1 1 5 10 a\n 1 2 25 30 a"
    steps = "process_id thread_id marker_id event timestamp_ns name\n" + "\n".join(
        f" 1 7 {n} start {n * 20} step\n 1 7 {n} end {n * 20 + 12} -" for n in (0, 1)
    )
    own = "SELECT table_name FROM duckdb_tables() WHERE database_name = current_database()"
    with trace(kernel=kernels, api_call=calls, marker=steps) as whole:
        part = whole.scope(steps="1")
        assert_rows(part.sql(BUSY), "busy_ns\n 5")
        assert {"table_name": "gpu_activity"} in list(part.sql(own))


def test_a_query_over_a_larger_one_is_not(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_tables, "MOST_BYTES", 0)
    opened = trace(kernel=PLACED)
    assert_rows(opened.sql(BUSY), "busy_ns\n 10")
    made = in_memory(opened, "gpu_")
    assert "gpu_interval" not in made
    assert "gpu_activity" not in made


@pytest.mark.slow
def test_a_query_over_what_is_added_and_exchanged(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=PLACED)
    with cupti_etl.open(path) as opened:
        assert_rows(opened.sql(BUSY), "busy_ns\n 10")
        added = add_part(path, "kernel", "device_id start_ns end_ns\n 0 20 50")
        assert_rows(opened.sql(BUSY), "busy_ns\n 40")
        write_part(added, as_table("kernel", "device_id start_ns end_ns\n 0 20 30"))
        assert_rows(opened.sql(BUSY), "busy_ns\n 20")
        added.unlink()
        assert_rows(opened.sql(BUSY), "busy_ns\n 10")


def test_a_query_that_cannot_be_computed_whole_is_bound_as_it_is(
    trace: MakeTrace, computing: Computing
) -> None:
    computing(duckdb.OutOfRangeException("Overflow"))
    opened = trace(kernel=PLACED)
    assert_rows(opened.sql("SELECT count(*) AS n FROM gpu_activity"), "n\n 1")
    assert "gpu_activity" not in in_memory(opened, "gpu_")


def test_ctrl_c_while_it_is_computed(trace: MakeTrace, computing: Computing) -> None:
    computing(duckdb.InterruptException("INTERRUPT Error: Interrupted!"))
    opened = trace(kernel=PLACED)
    with pytest.raises(UsageError, match="Interrupted"):
        opened.sql("SELECT count(*) AS n FROM gpu_activity").arrow()


@pytest.mark.parametrize("with_manifest", [True, False])
def test_a_damaged_column_matters_only_where_it_is_asked(
    tmp_path: Path, with_manifest: bool
) -> None:
    path = write_trace(tmp_path / "run", kernel=ONE)
    part = path / "kernel/part-000000.parquet"
    if with_manifest:
        write_manifest(path)
    column = pq.read_metadata(part).row_group(0).column(arrow_index("end_ns"))
    begin = column.dictionary_page_offset
    content = bytearray(part.read_bytes())
    content[begin : begin + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    part.write_bytes(content)
    with cupti_etl.open(path) as opened:
        assert_rows(opened.sql(NAMES), "name\n a")
        named = r"kernel/part-000000\.parquet" if with_manifest else "a part of the trace"
        with pytest.raises(TraceError, match=f"{named} is damaged: don't know what type"):
            opened.sql("SELECT end_ns FROM kernel").arrow()


def arrow_index(name: str) -> int:
    return int(as_table("kernel", "").schema.get_field_index(name))


@pytest.mark.parametrize(("most_bytes", "is_kept"), [(2 * 16, True), (2 * 16 - 1, False)])
def test_what_is_of_few_rows_of_a_file_is_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int, is_kept: bool
) -> None:
    """Its tables are not copied; what queries make of them is."""
    monkeypatch.setattr(small_tables, "MOST_BYTES", most_bytes)
    with cupti_etl.open(write_tables(tmp_path / "run", kernel=f"{ONE}\n 20 30 b")) as opened:
        export_duckdb(opened, tmp_path / "run.duckdb")
    with cupti_etl.open(tmp_path / "run.duckdb") as opened:
        assert opened.query("kernel_named").count() == 2
        # The file says that there are no calls, so nothing is computed of them.
        assert opened.query("api_summary").count() == 0
        assert in_memory(opened) == []
        kept = in_memory(opened, "")
    assert ("kernel_named" in kept) == is_kept
    assert "api_summary" not in kept


@pytest.mark.parametrize(("most_bytes", "is_kept"), [(1 << 18, True), (1 << 10, False)])
def test_what_is_of_few_rows_of_a_folder_and_a_file_is_computed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int, is_kept: bool
) -> None:
    calls = "process_id start_ns end_ns domain name\n 2 0 9 runtime cudaFree"
    other = write_tables(tmp_path / "other", kernel=OTHER, api_call=calls)
    with cupti_etl.open(other) as opened:
        export_duckdb(opened, tmp_path / "other.duckdb")
    folder = write_tables(tmp_path / "run", kernel=ONE)
    monkeypatch.setattr(small_tables, "MOST_BYTES", most_bytes)
    monkeypatch.setattr(small_tables, "_FOLDER_BYTES", 0)
    with cupti_etl.open(folder, tmp_path / "other.duckdb") as opened:
        assert [row["name"] for row in opened.sql("FROM kernel_named ORDER BY name")] == ["a", "b"]
        assert_rows(opened.query("api_summary"), "name calls\n cudaFree 1")
        assert_rows(opened.sql("SELECT count(*) AS n FROM jit_module_load"), "n\n 0")
        assert ("kernel_named" in in_memory(opened, "")) == is_kept
        assert in_memory(opened) == ["_small_kernel"] * is_kept
        # What the file alone had, a folder that grows has, too.
        add_part(folder, "kernel", "start_ns end_ns name\n 40 50 c")
        add_part(
            folder, "api_call", "process_id start_ns end_ns domain name\n 1 0 9 runtime cudaFree"
        )
        names = [row["name"] for row in opened.sql("FROM kernel_named ORDER BY name")]
        assert names == ["a", "b", "c"]
        assert_rows(opened.query("api_summary"), "name calls\n cudaFree 2")
