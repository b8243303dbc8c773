"""What an export joins and sorts has a limit, and goes to a folder that is gone in the end."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.command import etl
from support.exported import is_told
from support.trace import write_trace

ROWS = 600_000


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """So many calls that they do not fit into the least memory."""
    path = write_trace(tmp_path / "run", process="process_id pid\n 1 10")
    part = path / "api_call" / "part-000001.parquet"
    columns = duckdb.sql(f"FROM '{path / 'api_call' / 'part-000000.parquet'}'").columns
    known = {"process_id": "1", "thread_id": "7", "start_ns": "i * 7919 % 1000000007",
             "end_ns": "i * 7919 % 1000000007 + 5", "name": "'call ' || i"}  # fmt: skip
    values = ", ".join(f"{known.get(name, 'NULL')} AS {name}" for name in columns)
    duckdb.sql(f"SELECT {values} FROM range({ROWS}) AS r(i)").write_parquet(str(part))
    return path


@pytest.mark.slow
def test_little_memory_is_enough(tmp_path: Path, trace: Path) -> None:
    made = {}
    for limit in ("60MB", "2GB"):
        out = tmp_path / f"{limit}.pftrace"
        done = etl("export", trace, "--to", "perfetto", out, "--memory-limit", limit)
        assert (done.returncode, is_told(done.stderr, "perfetto", out)) == (0, True)
        made[limit] = out.read_bytes()
    assert made["60MB"] == made["2GB"]
    there = {each.name for each in tmp_path.iterdir()}
    assert there == {"run", "60MB.pftrace", "2GB.pftrace"}


@pytest.mark.parametrize(
    ("limit", "status", "says"), [("1MB", 1, "larger --memory-limit"), ("x", 2, "is not a size")]
)
def test_too_little(tmp_path: Path, trace: Path, limit: str, status: int, says: str) -> None:
    out = tmp_path / "out.json"
    done = etl("export", trace, "--to", "chrome", out, "--memory-limit", limit)
    assert (done.returncode, done.stdout) == (status, "")
    assert says in done.stderr
    assert {each.name for each in tmp_path.iterdir()} == {"run"}
