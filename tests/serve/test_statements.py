"""Statements of others: what runs, and that nothing else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from serve.conftest import Serve
from serve.test_answers import error

pytest.importorskip("starlette", reason="the extra serve is not installed")


def ask(client: Any, statement: str | bytes, **params: str) -> Any:
    return client.post("/sql", params={"format": "json", **params}, content=statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT count(*) AS n FROM kernel",
        "FROM kernel_summary",
        "FROM gap_attribution(min_ns := 10)",
        "WITH k AS (FROM kernel) FROM k;",
        "EXPLAIN FROM kernel",
        "explain  analyze  SELECT 1",
        "(SELECT 1) UNION ALL (SELECT 2)",
        "VALUES (1)",
        "SHOW TABLES",
        "DESCRIBE kernel",
        "SUMMARIZE kernel",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) FROM t",
        "SELECT unnest([1, 2])",
        "FROM range(3)",
        "SELECT * FROM (SELECT name FROM kernel) -- a comment",
        "SELECT '; DROP TABLE kernel' AS \"'; --\"",
    ],
)
def test_what_runs(kept_client: Any, statement: str) -> None:
    response = ask(kept_client, statement)
    assert response.status_code == 200, response.text
    assert isinstance(response.json(), list)


def test_parts_limits_and_order(client: Any) -> None:
    (row,) = ask(client, "SELECT count(*) AS n FROM kernel", **{"from": "15ns"}).json()
    assert row == {"n": 2}
    rows = ask(client, "FROM kernel", sort="start_ns:desc", limit="1").json()
    assert [row["start_ns"] for row in rows] == [60]


# `{part}` is a part of the trace, which the database may read; `{out}` a file that is not there.
HOSTILE = [
    "FROM read_csv('/etc/passwd')",
    "FROM read_text('/etc/passwd')",
    "FROM read_blob('/proc/self/environ')",
    "FROM '/etc/passwd'",
    "FROM '{out}.parquet'",
    "FROM glob('/etc/*')",
    "FROM sniff_csv('/etc/passwd')",
    "FROM read_parquet('{part}')",
    "FROM READ_CSV('/etc/passwd')",
    "FROM kernel, LATERAL (FROM read_text('/etc/passwd'))",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "DESCRIBE FROM read_text('/etc/passwd')",
    "SUMMARIZE FROM read_text('/etc/passwd')",
    "EXPLAIN ANALYZE FROM read_text('/etc/passwd')",
    "FROM query('SELECT 1')",
    "FROM query_table('kernel')",
    "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "FROM enable_logging()",
    "FROM enable_profiling()",
    "FROM checkpoint()",
    "FROM duckdb_secrets()",
    "FROM duckdb_settings()",
    "FROM duckdb_extensions()",
    "FROM which_secret('s3://x', 's3')",
    "COPY kernel TO '{out}'",
    "COPY kernel TO '{part}' (FORMAT parquet)",
    "COPY (SELECT 1) TO '{part}'",
    "EXPLAIN ANALYZE COPY kernel TO '{part}' (FORMAT parquet)",
    "EXPLAIN ANALYZE COPY kernel TO '{out}'",
    "EXPLAIN /* x */ ANALYZE COPY kernel TO '{part}'",
    "EXPLAIN (ANALYZE) COPY kernel TO '{part}'",
    "EXPLAIN (FORMAT json, ANALYZE) COPY kernel TO '{part}'",
    "EXPLAIN EXPLAIN ANALYZE COPY kernel TO '{part}'",
    "/**/ EXPLAIN ANALYZE COPY kernel TO '{part}'",
    "-- x\nEXPLAIN ANALYZE COPY kernel TO '{part}'",
    "EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1",
    "WITH x AS (COPY kernel TO '{part}') SELECT 1",
    "WITH x AS (COPY kernel TO '{out}') SELECT 1",
    "WITH x AS (INSERT INTO kernel VALUES (1) RETURNING 1) FROM x",
    "WITH x AS (DELETE FROM kernel RETURNING 1) SELECT 1",
    "SELECT (WITH x AS (COPY kernel TO '{part}') SELECT 1)",
    "SELECT 1; SELECT 2",
    "SELECT 1; COPY kernel TO '{out}'",
    "ATTACH '{out}' AS x",
    "ATTACH ':memory:' AS x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '100GB'",
    "SET GLOBAL enable_external_access = true",
    "RESET memory_limit",
    "PRAGMA version",
    "PRAGMA database_list",
    "CALL pragma_version()",
    "CREATE TABLE t AS SELECT 1",
    "CREATE VIEW v AS SELECT 1",
    "CREATE SECRET (TYPE s3)",
    "DROP VIEW kernel",
    "INSERT INTO kernel VALUES (1)",
    "UPDATE kernel SET name = 'x'",
    "DELETE FROM kernel",
    "EXPORT DATABASE '{out}'",
    "IMPORT DATABASE '{out}'",
    "BEGIN",
    "USE memory",
    "PREPARE p AS SELECT 1",
    "CHECKPOINT",
    "VACUUM",
    "SELECT getenv('HOME')",
    "FROM folder",
    "FROM client",
    "",
    ";",
    "-- nothing",
    "\x00",
    "SELECT 1 \x00; COPY kernel TO '{out}'",
    "SELECT",
    "SELECT $1",
    "'; DROP TABLE kernel; --",
    "<script>alert(1)</script>",
    "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "SELECT * FROM " + '"' + "x" * 65536 + '"',
]


@pytest.mark.parametrize("statement", HOSTILE, ids=lambda text: repr(text[:50]))
def test_what_does_not_run(kept_client: Any, kept_folder: Path, statement: str) -> None:
    (part,) = (kept_folder / "kernel").iterdir()
    content, out = part.read_bytes(), kept_folder.parent / "out"
    statement = statement.replace("{part}", str(part)).replace("{out}", str(out))
    said = error(ask(kept_client, statement), 422)
    assert said["detail"]
    assert part.read_bytes() == content
    assert not list(kept_folder.parent.glob("out*"))
    assert not (kept_folder / "derived").exists()
    # The database is as it was.
    (row,) = ask(kept_client, "SELECT count(*) AS n FROM kernel").json()
    assert row == {"n": 3}


def test_the_database_itself_reaches_no_other_file(folder: Path) -> None:
    """The second wall, if the look at a statement lets something through."""
    from cupti_etl.api import open_for_strangers
    from cupti_etl.errors import EtlError

    with open_for_strangers((folder,), {"memory_limit": "1GB"}) as trace:
        for statement in (
            "FROM read_text('/etc/passwd')",
            "FROM glob('/etc/*')",
            f"COPY kernel TO '{folder}/kernel/part-9.parquet'",
            f"COPY kernel TO '{folder}/out.csv'",
            f"ATTACH '{folder}/x.duckdb' AS x",
            "SET enable_external_access = true",
            "SET memory_limit = '2GB'",
            "INSTALL httpfs",
        ):
            with pytest.raises(EtlError):
                trace.sql(statement).arrow()


def test_names_of_python_are_none_of_sql(client: Any) -> None:
    kernel_rows = [1]
    said = error(ask(client, "FROM kernel_rows"), 422)
    assert kernel_rows
    assert "kernel_rows" in said["detail"]


@pytest.mark.slow
def test_no_error_names_a_path(kept_client: Any, kept_folder: Path) -> None:
    for statement in HOSTILE:
        said = json.dumps(ask(kept_client, statement).json())
        assert str(kept_folder.parent) not in said
        assert str(Path.home()) not in said
        assert "Traceback" not in said


def test_a_statement_has_a_length(client: Any) -> None:
    error(ask(client, "SELECT 1" + " " * (256 << 10)), 413)


def test_a_statement_is_utf_8(client: Any) -> None:
    assert "UTF-8" in error(ask(client, b"SELECT '\xff'"), 422)["detail"]


def test_a_statement_takes_no_param(client: Any) -> None:
    assert "no param" in error(ask(client, "SELECT 1", param="x=1"), 422)["detail"]


def test_a_statement_has_so_much_memory(serve: Serve) -> None:
    client = serve(memory="50MB")
    said = error(ask(client, "SELECT list(range) AS l FROM range(100000000)"), 422)
    assert "memory" in said["detail"].lower()
    assert "SET" not in said["hint"]


def test_a_statement_has_so_much_time(serve: Serve) -> None:
    client = serve(time_s=0.3)
    endless = (
        "SELECT count(*) FROM range(1000000000000) a, range(1000000) b WHERE a.range % 7 = b.range"
    )
    said = error(ask(client, endless), 504)
    assert "--time-limit" in said["hint"]
    # On a busy machine a short one can have too little time, too.
    answers = (ask(client, "SELECT 1 AS n").json() for _ in range(20))
    assert [{"n": 1}] in answers


def test_computed_rows_that_are_kept_can_be_read(
    client: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of them that is made after the database was opened is no damage."""
    assert ask(client, "FROM gpu_busy").status_code == 200
    derived = folder / "derived"
    derived.mkdir()
    assert ask(client, "FROM gpu_busy").status_code == 200
    assert derived.is_dir()
