"""Numbers that nothing can have: every query answers, and the report stands."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from support.trace import ONE_THREAD, MakeTrace, assert_rows, write_part, write_trace

import cupti_etl
from cupti_etl.analysis.diff import diff_as_given
from cupti_etl.analysis.html import html
from cupti_etl.analysis.report import build
from cupti_etl.api import Trace
from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.plausible import LEAST, MOST
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.schema.arrow import TABLES, arrow_schema

EXTREMES: dict[str, list[object]] = {
    "int16": [-(1 << 15), (1 << 15) - 1, 0, -1],
    "int32": [-(1 << 31), (1 << 31) - 1, 0, -1, 1 << 30],
    "int64": [-(1 << 63), (1 << 63) - 1, 0, -1, LEAST, MOST, MOST + 1, 1 << 40],
    "double": [float("nan"), float("inf"), float("-inf"), 1e308, -1e308, 0.0, 5e-324],
}
LABELS = {
    "operation": ["allocation", "release"],
    "copy_kind": ["HtoD", "DtoH"],
    "marker_type": ["range"],
    "state": ["finished", "tracing"],
    "aggregation": ["sum", "avg"],
}
# How much of a trace is extreme.
SHARES = (1.0, 0.3, 0.05)


def extreme(folder: Path, seed: int) -> Path:
    """A trace of which a share of all numbers is extreme; the same for a seed."""
    draw = random.Random(seed)
    share = SHARES[seed % len(SHARES)]

    def value(field: pa.Field, at: int) -> object:
        kind = str(field.type)
        if draw.random() < 0.05:
            return None
        if kind == "bool":
            return draw.random() < 0.5
        if kind == "binary":
            return draw.randbytes(draw.choice([0, 1, 64]))
        if kind == "string":
            return draw.choice(LABELS.get(field.name, ["a", "b", "GPU-1"]))
        # Rows that meet no other prove little.
        is_id = field.name.endswith("_id") and draw.random() < 0.8
        if not is_id and draw.random() < share:
            return draw.choice(EXTREMES[kind])
        if field.name.endswith("_ns"):
            return 1000 * at + (900 if field.name.endswith("end_ns") else 0)
        return draw.choice([0, 1, 2]) if is_id else draw.choice([1, 2, 100])

    for table in TABLES:
        schema = arrow_schema(table)
        rows = [{field.name: value(field, at) for field in schema} for at in range(12)]
        (folder / table).mkdir(parents=True)
        write_part(folder / table / "part-000000.parquet", pa.Table.from_pylist(rows, schema))
    return folder


def ask_all(trace: Trace) -> list[str]:
    """The queries that fail, with DuckDB's words."""
    failed = []
    for query in library():
        given = {field.name: 1 for field in query.parameters if field.default is None}
        try:
            trace.query(query.name, **given).arrow()
        except UsageError as error:
            failed.append(f"{query.name}: {error.message}")
    return failed


# Each takes as long as all other tests of this file.
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_every_query_answers(tmp_path: Path, seed: int) -> None:
    with cupti_etl.open(extreme(tmp_path / "run", seed), settings=ONE_THREAD) as trace:
        assert ask_all(trace) == []
        report = build(trace)
        assert not report.failed
        assert html(report)
        assert str(report)
        if seed < 2:
            export_duckdb(trace, tmp_path / "run.duckdb")
            diff_as_given(trace, trace)
    if seed < 2:
        # The numbers of a file are not those of Parquet's statistics.
        with cupti_etl.open(tmp_path / "run.duckdb", settings=ONE_THREAD) as trace:
            assert ask_all(trace) == []


DEVICE = (
    "process_id device_id name multiprocessors threads_per_warp max_warps_per_multiprocessor"
    " max_blocks_per_multiprocessor max_registers_per_multiprocessor"
    " max_shared_per_multiprocessor_bytes compute_capability_major"
)
KERNEL = (
    "process_id device_id start_ns end_ns name grid_x grid_y grid_z block_x block_y block_z"
    " registers_per_thread static_shared_bytes dynamic_shared_bytes\n"
    "1 0 0 100 a 2147483647 2147483647 2147483647 1024 1024 1024 2147483647 2147483647 2147483647"
)
MAX = (1 << 31) - 1


@pytest.mark.slow
@pytest.mark.parametrize("limit", [MAX, -MAX - 1, -1, 0])
def test_an_absurd_device(trace: MakeTrace, limit: int) -> None:
    opened = trace(device=f"{DEVICE}\n1 0 gpu {' '.join([str(limit)] * 7)}", kernel=KERNEL)
    report = build(opened)
    assert not report.failed
    assert opened.query("kernel_summary").count() == 1


@pytest.mark.slow
def test_what_no_clock_can_have_is_not_known(tmp_path: Path) -> None:
    run = write_trace(
        tmp_path / "run",
        kernel=f"start_ns end_ns name\n {-(1 << 63)} {(1 << 63) - 1} a\n {LEAST} {MOST} b\n 0 9 c",
    )
    with cupti_etl.open(run) as trace:
        assert_rows(
            trace.sql("SELECT name, start_ns, end_ns FROM kernel ORDER BY name"),
            f"name start_ns end_ns\n a - -\n b {LEAST} {MOST}\n c 0 9",
        )
        assert_rows(
            trace.sql("SELECT max(end_ns - start_ns) AS ns FROM kernel"), f"ns\n {MOST - LEAST}"
        )
        export_duckdb(trace, tmp_path / "run.duckdb")
    with duckdb.connect(tmp_path / "run.duckdb") as con:
        con.execute("UPDATE kernel SET start_ns = -9223372036854775808 WHERE name = 'c'")
    with cupti_etl.open(tmp_path / "run.duckdb") as trace:
        assert_rows(trace.sql("SELECT start_ns FROM kernel WHERE name = 'c'"), "start_ns\n -")


def test_plausible_times_are_read_as_they_are(trace: MakeTrace) -> None:
    """A condition would keep DuckDB from passing over row groups."""
    opened = trace(kernel="start_ns end_ns name\n 0 9 a")
    assert opened.sql("FROM kernel").count() == 1
    (view,) = opened.sql("SELECT sql FROM duckdb_views() WHERE view_name = 'kernel'")
    assert "CASE" not in view["sql"]


@pytest.mark.slow
def test_a_section_that_fails_leaves_the_others(
    trace: MakeTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = trace(kernel="process_id device_id start_ns end_ns name\n 1 0 0 9 a")
    query = Trace.query

    def broken(self: Trace, name: str, **params: object) -> object:
        if name == "kernel_summary":
            raise UsageError("Out of Range Error: <overflow>")
        return query(self, name, **params)

    monkeypatch.setattr(Trace, "query", broken)
    report = build(opened)
    assert set(report.failed) == {"kernel_summary"}
    for text in (str(report), html(report)):
        assert "Not answered, see each of them: kernel_summary." in text
        assert "it failed: Out of Range Error" in text
        assert "kernel_category" in text


@pytest.mark.slow
def test_the_status_of_a_report_that_is_not_whole(tmp_path: Path) -> None:
    run = write_trace(
        tmp_path / "run", kernel="process_id device_id start_ns end_ns name\n 1 0 0 9 a"
    )
    code = (
        "import sys; from cupti_etl.analysis import report\n"
        "from cupti_etl.errors import UsageError;"
        "was = report._section\n"
        "def section(trace, asked, *rest):\n"
        "    if asked.query == 'kernel_summary': raise UsageError('no \\x1b[2J')\n"
        "    return was(trace, asked, *rest)\n"
        "report._section = section\n"
        "from cupti_etl.cli import main; main(['report', sys.argv[1]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, run], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "cupti-etl: kernel_summary could not be answered: no \\x1b[2J" in done.stderr
    assert "## What kinds of kernels" in done.stdout
