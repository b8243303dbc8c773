"""Trace.sql and Result: statements of every sort, as Arrow in every way."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.interruptible import interruptible
from cupti_etl.queries.known_names import KnownNames
from cupti_etl.queries.views import Views

KERNELS = "start_ns end_ns name\n" + "\n".join(f"{at} {at + 1} k{at % 7}" for at in range(500))


def test_all_ways_to_the_same_rows(trace: MakeTrace) -> None:
    result = trace(kernel=KERNELS).sql("SELECT start_ns, name FROM kernel ORDER BY start_ns")
    table = result.arrow()
    assert result.columns == ("start_ns", "name")
    assert result.count() == table.num_rows == 500
    assert result.reader(batch_rows=100).read_all().equals(table)
    assert pa.table(result).equals(table)
    assert pa.RecordBatchReader.from_stream(result).read_all().equals(table)
    assert list(result) == table.to_pylist()
    assert result.arrow().equals(table), "a result can be read again"
    assert repr(result) == "<Result of 2 columns: start_ns, name>"


@pytest.mark.parametrize("before", ["", "SET VARIABLE n = 1; "])
def test_columns_of_one_name_are_told_apart(trace: MakeTrace, before: str) -> None:
    result = trace(kernel=KERNELS).sql(f"{before}SELECT 2 AS a, 1 AS a, 3 AS b -- twice")
    assert result.columns == ("a", "a_1", "b")
    assert list(result) == [{"a": 2, "a_1": 1, "b": 3}]


def test_a_result_that_nobody_reads_to_the_end_blocks_nothing(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS)
    first, second = opened.sql("FROM kernel").reader(100), opened.sql("FROM kernel").reader(100)
    next(iter(first))
    next(iter(second))
    assert opened.sql("FROM kernel").count() == 500
    assert sum(batch.num_rows for batch in first) == 400


def test_parameters_are_values(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS)
    found = opened.sql("SELECT count(*) AS n FROM kernel WHERE name = $name", name="k'; DROP")
    assert_rows(found, "n\n 0")
    found = opened.sql("FROM kernel WHERE name = $name", name="k3")
    assert found.count() == 71
    assert found.count() == found.arrow().num_rows
    with pytest.raises(UsageError, match="name"):
        opened.sql("FROM kernel WHERE name = $name AND start_ns > $start", start=1)


@pytest.mark.parametrize(
    ("statement", "columns", "rows"),
    [
        ("WITH a AS (SELECT 1 AS n) FROM a", ("n",), 1),
        ("VALUES (1), (2);", ("col0",), 2),
        ("DESCRIBE kernel_summary", None, 13),
        ("SUMMARIZE SELECT name FROM kernel", None, 1),
        ("PIVOT (SELECT name FROM kernel WHERE start_ns < 3) ON name USING count(*)", None, 1),
        ("EXPLAIN FROM kernel", ("explain_key", "explain_value"), 1),
        ("SET threads = 2", (), 0),
        ("SELECT 1 AS a; SELECT 2 AS b", ("b",), 1),
        ("SELECT 1 AS n -- the end", ("n",), 1),
    ],
)
def test_statements_of_every_sort(
    trace: MakeTrace, statement: str, columns: tuple[str, ...] | None, rows: int
) -> None:
    result = trace(kernel=KERNELS).sql(statement)
    assert columns is None or result.columns == columns
    assert result.arrow().num_rows == rows
    assert result.reader().read_all().num_rows == rows
    assert result.count() == rows


def test_what_changes_something_runs_once(trace: MakeTrace, tmp_path: Path) -> None:
    opened = trace(kernel=KERNELS)
    made = opened.sql("CREATE TABLE mine AS SELECT 1 AS n")
    assert made.columns == ()
    inserted = opened.sql("INSERT INTO mine VALUES (2) RETURNING n")
    assert (inserted.arrow().num_rows, inserted.arrow().num_rows) == (1, 1)
    assert opened.sql("FROM mine").count() == 2
    copied = tmp_path / "copy.csv"
    opened.sql(f"COPY (SELECT name FROM kernel LIMIT 1) TO '{copied}'")
    assert copied.read_text() == "name\nk0\n"


@pytest.mark.parametrize("name", ["kernel_summary", "launch_bound", "nvtx_range", "kernel_worst"])
def test_what_a_query_is_known_to_read_is_there_when_it_is_bound(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    opened = trace(kernel="start_ns end_ns name\n 0 10 a")
    monkeypatch.setattr(KnownNames, "missing", lambda *_: pytest.fail("DuckDB lacks a name"))
    assert opened.query(name).columns == tuple(column.name for column in library()[name].columns)


def test_a_query_that_is_there_is_not_made_again(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = trace(kernel="start_ns end_ns name\n 0 10 a")
    columns = opened.query("kernel_summary").columns
    monkeypatch.setattr(Views, "need", lambda *_: pytest.fail("it is made again"))
    assert opened.query("kernel_summary").columns == columns


def test_a_table_of_somebodys_with_the_name_of_a_query(trace: MakeTrace) -> None:
    opened = trace(kernel="start_ns end_ns name\n 0 10 a")
    opened.sql("CREATE TABLE kernel_summary AS SELECT 7 AS n")
    assert_rows(opened.query("kernel_summary"), "n\n 7")


def test_nothing_reaches_the_files_of_the_trace(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS)
    with pytest.raises(UsageError):
        opened.sql("DELETE FROM kernel")
    with pytest.raises(UsageError):
        opened.sql("INSERT INTO kernel VALUES (1)")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELEC 1", "syntax error at or near"),
        ("FROM nowhere", "Table with name nowhere does not exist"),
        ("SELECT nothing FROM kernel", 'Referenced column "nothing" not found'),
        ("SELECT name::INTEGER FROM kernel", "Could not convert string 'k0' to INT32"),
        ("SELECT 9223372036854775807 + start_ns FROM kernel WHERE start_ns > 0", "Overflow"),
        ("FROM read_csv('/nowhere/at/all.csv')", "/nowhere/at/all.csv"),
        ("COPY kernel TO '/nowhere/at/all.csv'", "/nowhere/at/all.csv"),
        ("", "no statement"),
        ("-- nothing", "no statement"),
    ],
)
def test_errors_are_in_duckdbs_words(trace: MakeTrace, statement: str, words: str) -> None:
    opened = trace(kernel=KERNELS)
    with pytest.raises(UsageError) as raised:
        opened.sql(statement).arrow()
    assert words in raised.value.message
    with pytest.raises(UsageError):
        opened.sql(statement).reader().read_all()


def test_an_error_in_the_middle_of_a_stream_is_ours(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS)
    result = opened.sql(
        "SELECT CASE WHEN range < 900000 THEN '1' ELSE 'x' END::INTEGER AS n FROM range(1000000)"
    )
    # When it shows depends on how far DuckDB's threads have got.
    with pytest.raises(UsageError, match="Could not convert string 'x'"):
        result.reader(batch_rows=1000).read_all()


def test_names_of_python_variables_mean_nothing(trace: MakeTrace) -> None:
    opened = trace()
    query = pa.table({"n": [1]})
    with pytest.raises(UsageError, match="name query does not exist"):
        opened.sql("FROM query")
    assert query.num_rows == 1


def test_a_session_keeps_temporary_tables(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS)
    with opened.session() as session:
        session.sql("CREATE TEMP TABLE mine AS SELECT 1 AS n")
        session.sql("BEGIN")
        session.sql("COMMIT")
        assert_rows(session.sql("FROM mine"), "n\n 1")
    with pytest.raises(UsageError, match="mine does not exist"):
        opened.sql("FROM mine")


@pytest.mark.parametrize(("module", "method"), [("pandas", "df"), ("polars", "pl")])
def test_frames_need_their_library(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch, module: str, method: str
) -> None:
    result = trace(kernel=KERNELS).query("kernel_summary")
    if importlib.util.find_spec(module):
        assert len(getattr(result, method)()) == 7
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=f"{module} is not installed") as raised:
        getattr(result, method)()
    assert raised.value.hint == f"pip install {module}; or use .arrow()"


def test_duckdb_itself_reads_a_result(trace: MakeTrace) -> None:
    counted = trace(kernel=KERNELS).query("kernel_summary").arrow()
    assert counted.num_rows == 7
    assert duckdb.sql("SELECT sum(calls) FROM counted").fetchall() == [(500,)]


def test_after_the_first_rows_of_a_result_a_session_can_ask_again(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(Future[Any]):
        """Whoever has the result goes on before the thread that read it has ended."""

        def set_result(self, result: Any) -> None:
            super().set_result(result)
            time.sleep(0.1)

    monkeypatch.setattr("cupti_etl.queries.interruptible.Future", Late)
    rows = trace().session().sql("FROM range(300000)")
    first = next(iter(rows.reader(1000)))
    assert (first.num_rows, rows.count()) == (1000, 300_000)


def test_a_session_sees_what_a_query_with_parameters_needs(trace: MakeTrace) -> None:
    """Its connection has checked the values before: no transaction of that may go on."""
    with trace(kernel="start_ns end_ns\n1 2").session() as session:
        assert session.query("gap_attribution", min_ns=10).count() == 0


class Interrupted:
    """Counts the interrupts of a connection."""

    interrupts = 0

    def interrupt(self) -> None:
        self.interrupts += 1

    def wait(self) -> None:
        """Until there is a second one: DuckDB forgets one that comes before it has begun."""
        for _ in range(10_000):
            if self.interrupts > 1:
                break
            time.sleep(0.001)


def test_ctrl_c_is_heard_though_duckdb_had_not_begun() -> None:
    """It forgets an interrupt that comes before; without another it would run to its end."""
    con = Interrupted()

    def run() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        con.wait()

    with pytest.raises(KeyboardInterrupt):
        interruptible(run, con.interrupt)
    assert con.interrupts > 1


def test_ctrl_c_reaches_what_was_started_meanwhile() -> None:
    def run() -> subprocess.CompletedProcess[bytes]:
        program = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('goes on')"
        words = [
            sys.executable,
            "-c",
            f"import signal; signal.signal(2, signal.SIG_DFL); {program}",
        ]
        return subprocess.run(words, stdout=subprocess.PIPE, check=False, timeout=60)

    done = interruptible(run, lambda: None)
    assert (done.returncode, done.stdout) == (-signal.SIGINT, b"")


def test_ctrl_c_is_heard_though_another_thread_got_the_signal() -> None:
    """As DuckDB's threads can; Python acts on it in the main thread, which waits for the query."""
    con, done = Interrupted(), threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()

    def run() -> None:
        time.sleep(0.1)  # the main thread waits by then
        assert other.ident is not None
        signal.pthread_kill(other.ident, signal.SIGINT)
        con.wait()

    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(run, con.interrupt)
    finally:
        done.set()
        other.join()
    assert con.interrupts > 1
