"""Excerpts of real traces: rows counted against json and sqlite3, joins against the truth."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from imports.conftest import Import
from support.trace import assert_rows

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.cli import cli
from cupti_etl.commands._writing import convert
from cupti_etl.imports.run import import_traces

DATA = Path(__file__).parents[1] / "data"
RECORDING = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
KINETO = DATA / "kineto_v100.json.gz"


def count(trace: Trace, table: str) -> int:
    return int(next(iter(trace.sql(f"SELECT count(*) AS n FROM {table}")))["n"])


def unpacked(tmp_path: Path) -> Path:
    file = tmp_path / "nsys.sqlite"
    file.write_bytes(gzip.decompress((DATA / "nsys_h100.sqlite.gz").read_bytes()))
    return file


def test_kineto(imported: Import) -> None:
    events = json.loads(gzip.decompress(KINETO.read_bytes()))["traceEvents"]
    number = Counter(event.get("cat") for event in events if event["ph"] == "X")
    trace = imported(KINETO)
    assert count(trace, "kernel") == number["kernel"] == 300
    assert count(trace, "memcpy") == number["gpu_memcpy"]
    assert count(trace, "api_call") == number["cuda_runtime"]
    ranges = ("cpu_op", "user_annotation", "Trace")
    assert count(trace, "nvtx_range") == sum(number[category] for category in ranges)
    kernels = [event for event in events if event.get("cat") == "kernel"]
    assert_rows(
        trace.sql("SELECT sum(grid_y) AS y, count(DISTINCT name) AS n FROM kernel"),
        f"y n\n{sum(k['args']['grid'][1] for k in kernels)} {len({k['name'] for k in kernels})}",
    )
    # Each launch leads to its operator, and no kernel has two.
    assert count(trace, "kernel JOIN launch USING (process_id, correlation_id)") == 300
    external = {
        event["args"]["correlation"]: event["args"]["External id"]
        for event in events
        if event.get("cat") == "cuda_runtime"
    }
    operators = {e["args"]["External id"] for e in events if e.get("cat") == "cpu_op"}
    expected = sum(external[k["args"]["correlation"]] in operators for k in kernels)
    joined = """kernel JOIN external_correlation USING (process_id, correlation_id)
        JOIN nvtx_range ON payload_int = external_id AND domain = 'cpu_op'"""
    assert count(trace, joined) == expected > 250


def collectives(trace: Trace) -> list[dict[str, Any]]:
    return list(
        trace.sql("""
            SELECT arguments->>'Collective name' AS name, (arguments->>'In msg nelems')::BIGINT AS n
            FROM argument WHERE arguments->>'Collective name' IS NOT NULL ORDER BY n
        """)
    )


def test_arguments_of_collectives(imported: Import) -> None:
    events = json.loads(gzip.decompress(KINETO.read_bytes()))["traceEvents"]
    expected = sorted(
        event["args"]["In msg nelems"]
        for event in events
        if "Collective name" in event.get("args", {})
    )
    found = collectives(imported(KINETO))
    assert [row["n"] for row in found] == expected
    assert {row["name"] for row in found} == {"allreduce", "broadcast", "wait"}


def test_nsys(tmp_path: Path, imported: Import) -> None:
    file = unpacked(tmp_path)
    trace = imported(file)
    with closing(sqlite3.connect(file)) as con:

        def number(table: str) -> int:
            return int(con.execute(f"SELECT count(*) FROM {table}").fetchone()[0])

        for ours, theirs in (
            ("kernel", "CUPTI_ACTIVITY_KIND_KERNEL"),
            ("memcpy", "CUPTI_ACTIVITY_KIND_MEMCPY"),
            ("memset", "CUPTI_ACTIVITY_KIND_MEMSET"),
            ("api_call", "CUPTI_ACTIVITY_KIND_RUNTIME"),
            ("synchronization", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"),
            ("nvtx_range", "NVTX_EVENTS"),
        ):
            assert count(trace, ours) == number(theirs) > 0, ours
        naive = number(
            "CUPTI_ACTIVITY_KIND_KERNEL JOIN CUPTI_ACTIVITY_KIND_RUNTIME USING (correlationId)"
        )
        (total,) = con.execute(
            'SELECT sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL'
        ).fetchone()
    assert count(trace, "kernel JOIN launch USING (process_id, correlation_id)") == 150
    assert naive == 161
    assert_rows(trace.sql("SELECT sum(end_ns - start_ns) AS ns FROM kernel"), f"ns\n{total}")
    assert_rows(trace.sql("SELECT pid FROM process ORDER BY 1"), "pid\n111\n112")


def test_the_command_says_what_it_kept_and_what_not(tmp_path: Path) -> None:
    out = tmp_path / "trace"
    result = CliRunner().invoke(
        cli, ["import", str(KINETO), str(unpacked(tmp_path)), "-o", str(out)]
    )
    assert result.exit_code == 0, result.output
    said = result.stderr
    assert f"{KINETO}: kineto" in said
    assert "nsys.sqlite: nsys 3.25.0 SQLite" in said
    assert "kernel 491" in said
    assert "not kept, redundant: arrows ac2g 680" in said
    assert said.endswith(f"rows of 3 processes; trace in {out}\n")
    assert (out / "trace.duckdb").is_file()
    again = CliRunner().invoke(cli, ["import", str(KINETO), "-o", str(out)])
    assert again.exit_code != 0
    assert "exists already" in str(again.exception)


@pytest.mark.slow
def test_into_a_self_contained_file(tmp_path: Path) -> None:
    import_traces([RECORDING], tmp_path / "run.duckdb", 1, convert=convert)
    assert [path.name for path in tmp_path.iterdir()] == ["run.duckdb"]
    with cupti_etl.open(tmp_path / "run.duckdb") as trace:
        assert count(trace, "kernel") == 5947


def test_a_recording_gives_the_rows_of_its_replay(imported: Import) -> None:
    trace = imported(RECORDING)
    assert count(trace, "kernel") == 5947
    assert_rows(
        trace.sql("SELECT state, emitted - stored AS lost FROM process"), "state lost\nfinished 0"
    )
    assert count(trace, "kernel JOIN kernel_name ON mangled = name") == 5947
