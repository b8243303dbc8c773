"""Folders and files of strangers given to the commands that change something."""

from __future__ import annotations

import gzip
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.slow import few
from support.trace import add_part, write_trace

from cupti_etl.errors import EtlError, TraceError
from cupti_etl.render.duckdb_file import migrate_file, pending_migrations
from cupti_etl.storage import manifest
from cupti_etl.storage.recovery import recover

DATA = Path(__file__).parents[1] / "data"


KILLED = {
    "capture": "capture_id\n 1",
    "kernel": "process_id start_ns end_ns name\n 1 0 10 a\n 1 20 50 b",
    "process": "process_id state\n 1 tracing",
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trace whose collector was killed."""
    return write_trace(tmp_path / "run", **KILLED)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Somebody's files, with names that a trace has, too."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("x.tmp", "part-000000.parquet", "recovered.tmp", "tmp"):
        (folder / name).write_text("mine")
    (folder / "d.tmp").mkdir()
    return folder


def state(folder: Path) -> list[tuple[str, bytes]]:
    """All that is there."""
    return [
        (str(path.relative_to(folder)), path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    ]


# --- what leads out of the trace

NAMES = [
    "kernel",
    "process",
    "capture",
    "loss",
    ".damaged",
    ".kernel.compacting",
    ".kernel.aside",
    "...aside",
    "other",
    "manifest.json",
    ".manifest.json.tmp",
    ".manifest.json.d",
    "trace.duckdb",
    "kernel/x.tmp",
    "kernel/part-000007.parquet",
    "process/recovered.tmp",
]


@pytest.mark.parametrize("name", NAMES)
def test_recover_changes_nothing_through_a_link(run: Path, outside: Path, name: str) -> None:
    for target in (outside, outside / "x.tmp"):
        place = run / name
        if place.is_symlink():
            place.unlink()
        elif place.is_dir():
            shutil.rmtree(place)
        place.symlink_to(target)
        before = state(outside), state(run)
        with pytest.raises(TraceError, match="is a link|is not a trace"):
            recover(run)
        assert (state(outside), state(run)) == before


@pytest.mark.parametrize(
    "name", ["manifest.json", ".manifest.json.tmp", "kernel/part-000007.parquet", "kernel/x.tmp"]
)
def test_recover_waits_for_no_pipe(run: Path, name: str) -> None:
    os.mkfifo(run / name)
    with pytest.raises(TraceError, match="neither a file nor a folder"):
        recover(run)


# --- what is in the trace and is none of ours

ENTRY = '{"rows": %s, "bytes": 4, "crc32": 1}'
MANIFESTS = [
    *('{"version": 1, "parts": {"kernel": {"part-9.parquet": %s}}}' % (ENTRY % number)
      for number in ("1e400", "9" * 40, "[1]", "-5", '"1"', "true", "9" * 5000)),
    '{"version": 1, "parts": {"../outside": {"part-9.parquet": %s}}}' % (ENTRY % 1),
    '{"version": 1, "parts": {"/": {"part-9.parquet": %s}}}' % (ENTRY % 1),
    '{"version": 1, "parts": {"kernel": {"/part-9.parquet": %s}}}' % (ENTRY % 1),
    '{"version": 1, "parts": {"kernel": []}}',
    "[1]",
    "[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(MANIFESTS)))
def test_a_manifest_that_nobody_wrote(run: Path, outside: Path, number: int) -> None:
    (run / manifest.NAME).write_text(MANIFESTS[number])
    before = state(outside)
    assert recover(run).lost == ()
    assert state(outside) == before
    assert manifest.read(run)


@pytest.mark.parametrize(
    "name", [".damaged/nodot", ".damaged/k.\udcff", "k\udcff/x.tmp", "K/x.tmp"]
)
def test_other_names_stay_as_they_are(run: Path, name: str) -> None:
    (run / name).parent.mkdir()
    (run / name).write_text("mine")
    assert recover(run).lost == ()
    assert (run / name).read_text() == "mine"


def test_a_damaged_part_whose_name_is_no_text(run: Path) -> None:
    (run / "kernel/part-\udcff.parquet").write_text("no Parquet")
    assert recover(run).lost == ("kernel/part-\ufffd.parquet",)
    assert recover(run).lost == ("kernel/part-\ufffd.parquet",)


NO_UTF8: pa.Array[Any] = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")]
)
VALUES: dict[str, Any] = {
    "text": ["x", None],
    "no UTF-8": NO_UTF8,
    "struct": [{"a": 1}, {"a": 2}],
    "list": [[1], [2]],
    "unsigned": pa.array([2**64 - 1, 1], pa.uint64()),
    "double": [1.5, float("nan")],
    "time": pa.array([2**62, 5], pa.timestamp("us")),
    "decimal": pa.array([1, 2], pa.decimal128(10, 2)),
}
COLUMNS = ("process_id", "start_ns", "end_ns", "detail", "emitted", "exit_status")


@pytest.mark.parametrize("table", ["kernel", "process", "loss", "capture", "row_count"])
@pytest.mark.parametrize("values", VALUES)
def test_columns_of_any_type(tmp_path: Path, table: str, values: str) -> None:
    run = tmp_path / "run"
    # Of dozens of other tables each recovery would read the parts, which hold no row.
    for name in {*KILLED, "loss", "row_count"}:
        add_part(run, name, KILLED.get(name, ""))
    part = run / table / "part-000000.parquet"
    for columns in [*([each] for each in COLUMNS), COLUMNS]:
        pq.write_table(pa.table(dict.fromkeys(columns, VALUES[values])), part)
        with suppress(EtlError):
            recover(run)


# --- files that are to be migrated

REVISION = "CREATE OR REPLACE TABLE alembic_version AS SELECT {} AS version_num"
FILES = {
    "revision by a view": """DROP TABLE alembic_version;
        CREATE VIEW alembic_version AS SELECT trim(content) AS version_num FROM read_text('{}')""",
    "table by a view": """DROP VIEW kernel_summary; DROP TABLE device;
        CREATE VIEW device AS SELECT content AS name FROM read_text('{}')""",
    "function by a macro": "CREATE MACRO Duckdb_Tables() AS TABLE FROM read_text('{}')",
    "sum by a macro": "CREATE MACRO sum(x) AS (SELECT content FROM read_text('{}'))",
    "view by a table": "DROP VIEW kernel_summary; CREATE TABLE kernel_summary AS SELECT 1 AS a",
    "list": REVISION.format("[1]"),
    "two": REVISION.format("unnest(['0001', 'x'])"),
    "number": REVISION.format("99"),
    "bytes": REVISION.format("'0001'::BLOB"),
    "nothing": REVISION.format("NULL"),
    "column": "CREATE OR REPLACE TABLE alembic_version AS SELECT 1 AS other",
}


@pytest.mark.parametrize("name", few(3, FILES))
def test_nothing_of_a_file_is_run_by_migrate(tmp_path: Path, name: str) -> None:
    file = tmp_path / "of a 'stranger'.duckdb"
    file.write_bytes(gzip.decompress((DATA / "schema_0001.duckdb.gz").read_bytes()))
    (tmp_path / "secret").write_text("0001")
    with duckdb.connect(file) as con:
        con.execute(FILES[name].format(tmp_path / "secret"))
    before = file.read_bytes()
    with pytest.raises(TraceError) as raised:
        migrate_file(file)
    assert raised.value.hint
    if name != "view by a table":  # which is found only when the view is made
        with pytest.raises(TraceError):
            pending_migrations(file)
    assert file.read_bytes() == before


@pytest.mark.slow
def test_a_view_of_ones_own_is_no_matter(tmp_path: Path) -> None:
    file = tmp_path / "mine.duckdb"
    file.write_bytes(gzip.decompress((DATA / "schema_0001.duckdb.gz").read_bytes()))
    (tmp_path / "secret").write_text("n\n1\n")
    with duckdb.connect(file) as con:
        con.execute(f"CREATE VIEW mine AS FROM read_csv('{tmp_path}/secret')")
        con.execute("CREATE MACRO my_sum(x) AS sum(x)")
    assert migrate_file(file)[0] == "0001"
    with duckdb.connect(file) as con:
        assert con.execute("SELECT my_sum(n) FROM mine").fetchone() == (1,)
