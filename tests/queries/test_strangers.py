"""Files of strangers: opening and asking them does what the library says, and no more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from support.trace import add_part, as_table, assert_rows, write_part, write_trace

import cupti_etl
from cupti_etl.cli import cli
from cupti_etl.errors import EtlError, TraceError, UsageError
from cupti_etl.queries.runner import connect
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.storage.sources import identifier

KERNELS = "process_id start_ns end_ns name\n 1 0 10 a\n 1 20 50 b"


def write_run(folder: Path) -> Path:
    return write_trace(folder, capture="capture_id\n 1", kernel=KERNELS)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run as a file, to be copied."""
    home = tmp_path_factory.mktemp("exported")
    with cupti_etl.open(write_run(home / "run")) as trace:
        export_duckdb(trace, home / "run.duckdb")
    return home / "run.duckdb"


@pytest.fixture
def file(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(exported, tmp_path))


def ask_everything(path: Path) -> None:
    """All ways to open it; what is asked has to have its rows."""
    for confined in (False, True):
        with cupti_etl.open(path, confined=confined) as trace:
            assert trace.query("kernel_summary").count() == 2
            for table in trace.tables:
                trace.sql(f"FROM {identifier(table)}").arrow()
    done = CliRunner().invoke(cli, ["query", "kernel_summary", str(path)])
    assert done.exit_code == 0, done.output


OWNED = "SELECT 'owned'"


NAMES = (
    "x\" AS SELECT 1 AS a; COPY ({what}) TO '{out}'; --",
    "x' ; COPY ({what}) TO '{out}'; --",
    "x AS SELECT 1; COPY ({what}) TO '{out}'; --",
    '"',
    "none",
    "kernel ",
    "_table_extent",
    "_derived_gpu_interval",
    "kernel_summary",
    "duckdb_views",
    "\x1b]0;owned\x07",
)


@pytest.mark.slow
def test_names_of_tables(file: Path, tmp_path: Path) -> None:
    """All of them in one file, as none of them may be taken for anything."""
    out = tmp_path / "owned"
    with duckdb.connect(file) as con:
        for view in ("kernel_summary", "_table_extent"):
            con.execute(f"DROP VIEW {view}")
        for name in NAMES:
            table = identifier(name.format(what=OWNED, out=out))
            con.execute(f"CREATE TABLE {table} AS SELECT 7 AS n")
    ask_everything(file)
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_names_of_columns(run: Path, file: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "owned"
    column = f"x\" AS a; COPY ({OWNED}) TO '{out}'; --"
    more = as_table("kernel", KERNELS)
    for name in (column, "_source", "START_NS", "'", "\x1b[2J"):
        more = more.append_column(name, more["start_ns"])
    path = run
    if kind == "folder":
        write_part(run / "kernel/part-000000.parquet", more)
        samples = as_table("pm_sample", "device_uuid start_ns end_ns\n a 0 10")
        samples = samples.append_column(column, samples["start_ns"].cast("double"))
        write_part(run / "pm_sample/part-000000.parquet", samples)
        described = as_table("pm_metric", "device_uuid metric\n a -")
        described = described.set_column(
            described.schema.get_field_index("metric"), "metric", [[column]]
        )
        write_part(run / "pm_metric/part-000000.parquet", described)
    else:
        path = file
        with duckdb.connect(path) as con:
            for name in more.column_names[-5:]:
                if name != "START_NS":  # DuckDB itself knows it for another
                    con.execute(f"ALTER TABLE kernel ADD COLUMN {identifier(name)} BIGINT")
            con.execute(f"ALTER TABLE pm_sample ADD COLUMN {identifier(column)} DOUBLE")
            con.execute("INSERT INTO pm_metric (metric) VALUES (?)", [column])
    ask_everything(path)
    with cupti_etl.open(path) as trace:
        for query in ("pm_timeline", "kernel_metrics", "_activity_metric"):
            trace.query(query).arrow()
        export_duckdb(trace, tmp_path / "again.duckdb")
    ask_everything(tmp_path / "again.duckdb")
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder",
    [
        'x" AS SELECT 1 AS a; COPY (SELECT 1) TO "owned"; --',
        "Kernel",
        "_table_extent",
        "kernel_summary",
        "x y",
        "k\u212aernel",
        "run=1",
    ],
)
def test_names_of_folders(run: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (run / folder).mkdir()
    write_part(run / folder / "part-000000.parquet", as_table("clock", "realtime_ns\n 5"))
    monkeypatch.chdir(run.parent)
    ask_everything(run)
    with cupti_etl.open(run) as trace:
        assert folder not in trace.tables
    assert not (run.parent / "owned").exists()


def test_words_of_the_path_are_no_columns(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "date=2026" / "run", kernel=KERNELS)
    with cupti_etl.open(path) as trace:
        assert "date" not in trace.sql("FROM kernel").columns


@pytest.mark.slow
def test_views_and_macros_are_not_taken(file: Path, tmp_path: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute("DROP VIEW kernel_summary")
        con.execute("CREATE VIEW kernel_summary AS SELECT 1 AS owned")
        con.execute("CREATE VIEW mine AS SELECT content FROM read_text('/etc/hostname')")
        con.execute("CREATE OR REPLACE MACRO count(x) AS 42")
        con.execute("CREATE OR REPLACE MACRO quantity(x) AS TABLE SELECT 42 AS n")
        con.execute("DROP TABLE marker")
        con.execute("CREATE VIEW marker AS SELECT content AS name FROM read_text('/etc/hostname')")
        con.execute("CREATE SCHEMA other")
        con.execute("CREATE TABLE other.device AS SELECT 'owned' AS name")
    ask_everything(file)
    with cupti_etl.open(file) as trace:
        assert_rows(trace.query("kernel_summary"), "name calls\n b 1\n a 1")
        assert "mine" not in trace.tables
        assert trace.sql("FROM marker").count() == trace.sql("FROM device").count() == 0


def test_a_revision_that_is_none(file: Path) -> None:
    with duckdb.connect(file) as con:
        con.execute(
            "CREATE OR REPLACE TABLE alembic_version AS SELECT NULL::INTEGER AS version_num"
        )
    with cupti_etl.open(file) as trace:
        assert trace.query("kernel_summary").count() == 2
    with duckdb.connect(file) as con:
        con.execute("UPDATE alembic_version SET version_num = 99")
        con.execute("CREATE OR REPLACE TABLE alembic_version AS SELECT [1] AS other")
    with pytest.raises(TraceError, match="cannot be opened"):
        cupti_etl.open(file)


# --- links, and what is no file


def replace_by_link(part: Path, target: Path) -> None:
    part.unlink()
    part.symlink_to(target)


def test_a_part_that_leads_out_of_the_trace(run: Path, tmp_path: Path) -> None:
    other = write_trace(tmp_path / "other", kernel=KERNELS)
    replace_by_link(run / "kernel/part-000000.parquet", other / "kernel/part-000000.parquet")
    for confined in (False, True):
        with pytest.raises(TraceError, match=r"part-000000\.parquet is a link to") as raised:
            cupti_etl.open(run, confined=confined)
        assert "put a copy of the file in its place" in raised.value.hint


def test_a_table_that_leads_out_of_the_trace(run: Path, tmp_path: Path) -> None:
    other = write_trace(tmp_path / "other", kernel=KERNELS)
    (run / "memcpy/part-000000.parquet").unlink()
    (run / "memcpy").rmdir()
    (run / "memcpy").symlink_to(other / "memcpy")
    with pytest.raises(TraceError, match="is a link to"):
        cupti_etl.open(run)


def test_links_within_the_trace_and_to_it(run: Path, tmp_path: Path) -> None:
    part = run / "kernel/part-000000.parquet"
    part.rename(run / "kernels.parquet")
    part.symlink_to("../kernels.parquet")
    (tmp_path / "link").symlink_to(run)
    for path in (run, tmp_path / "link"):
        for confined in (False, True):
            with cupti_etl.open(path, confined=confined) as trace:
                assert trace.sql("FROM kernel").count() == 2


def test_a_file_over_a_link(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.duckdb").symlink_to(file)
    with cupti_etl.open(tmp_path / "link.duckdb", confined=True) as trace:
        assert trace.sql("FROM kernel").count() == 2


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to(path)])
def test_a_part_that_is_no_file(run: Path, make: Callable[[Path], None]) -> None:
    make(run / "kernel/part-000007.parquet")
    with pytest.raises(TraceError, match=r"part-000007\.parquet (is not a file|cannot be read)"):
        cupti_etl.open(run)


# --- what statements reach


def test_what_nobody_typed_reaches_the_trace_alone(run: Path, file: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("n\n1\n")
    for path in (run, file):
        with cupti_etl.open(path, confined=True) as trace:
            assert trace.sql("FROM kernel").count() == 2
            for statement in (
                f"FROM read_csv('{secret}')",
                f"FROM read_text('{run}/../secret.csv')",
                f"FROM '{secret}'",
                "FROM glob('/etc/*')",
                f"COPY (SELECT 1) TO '{tmp_path}/owned'",
                f"ATTACH '{tmp_path}/owned.duckdb' AS owned",
                f"EXPORT DATABASE '{tmp_path}/owned'",
                "INSTALL httpfs",
                "LOAD httpfs",
                "SET threads = 1",
                "SET enable_external_access = true",
                "SET allowed_directories = ['/']",
            ):
                with pytest.raises(UsageError):
                    trace.sql(statement).arrow()
    assert not list(tmp_path.glob("owned*"))


def test_what_somebody_typed_reaches_files(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.csv"
    with cupti_etl.open(run) as trace:
        trace.sql(f"COPY (SELECT count(*) AS n FROM kernel) TO '{out}'")
        assert_rows(trace.sql(f"FROM '{out}'"), "n\n 2")


def test_nothing_is_loaded_from_a_home_or_a_network() -> None:
    with connect() as con:
        for setting in ("autoload_known_extensions", "autoinstall_known_extensions"):
            assert con.sql(f"SELECT current_setting('{setting}')").fetchall() == [(False,)]
        with pytest.raises(duckdb.Error):
            con.sql("FROM read_xlsx('none.xlsx')")


# --- types


@pytest.mark.parametrize("kind", ["folder", "file"])
@pytest.mark.parametrize("type_", ["VARCHAR", "DOUBLE", "UBIGINT", "STRUCT(a INTEGER)", "DATE[]"])
def test_a_column_of_another_type_is_named(run: Path, file: Path, kind: str, type_: str) -> None:
    if kind == "folder":
        part = run / "kernel/part-000001.parquet"
        with duckdb.connect() as con:
            con.execute(f"COPY (SELECT NULL::{type_} AS start_ns) TO '{part}'")
    else:
        with duckdb.connect(file) as con:
            con.execute("ALTER TABLE kernel DROP COLUMN start_ns")
            con.execute(f"ALTER TABLE kernel ADD COLUMN start_ns {type_}")
    with (
        cupti_etl.open(run if kind == "folder" else file) as trace,
        pytest.raises(TraceError, match=r"kernel\.start_ns .* not BIGINT"),
    ):
        trace.query("kernel_summary")


def test_a_narrower_type_will_do(run: Path) -> None:
    narrow = as_table("kernel", KERNELS)
    at = narrow.schema.get_field_index("correlation_id")
    narrow = narrow.set_column(at, "correlation_id", narrow["correlation_id"].cast("int32"))
    write_part(run / "kernel/part-000000.parquet", narrow)
    with cupti_etl.open(run) as trace:
        assert trace.sql("FROM kernel").arrow().schema.field("correlation_id").type == "int64"


def test_parts_that_disagree(run: Path) -> None:
    add_part(run, "kernel", KERNELS)
    other = as_table("kernel", KERNELS)
    at = other.schema.get_field_index("name")
    other = other.set_column(at, "name", [[{"a": 1}, {"a": 2}]])
    write_part(run / "kernel/part-000001.parquet", other)
    with cupti_etl.open(run) as trace, pytest.raises(EtlError):
        trace.sql("FROM kernel").arrow()
