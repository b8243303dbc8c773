"""The commands sql, query and relink, as a user gives them."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command import etl
from support.trace import write_trace

KERNELS = """
    start_ns end_ns name
    0        10     a
    20       50     b
    60       80     a
"""


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "run", kernel=KERNELS)


def succeed(*arguments: object, stdin: str = "") -> str:
    done = etl(*arguments, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def fail(*arguments: object) -> tuple[int, list[str]]:
    done = etl(*arguments)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr.splitlines()


def test_a_query_by_name(run_folder: Path) -> None:
    rows = json.loads(succeed("query", "kernel_summary", run_folder, "--format", "json"))
    assert [(row["name"], row["calls"], row["total_ns"]) for row in rows] == [
        ("a", 2, 30),
        ("b", 1, 30),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "{run}", "FROM kernel"),
        ("sql", "{run}", "FROM kernel", "--format", "csv"),
        ("sql", "{run}", "FROM kernel", "--format", "parquet"),
        pytest.param(("report", "{run}"), marks=pytest.mark.slow),
        ("query", "--list"),
        ("schema",),
        ("export", "{run}", "--to", "arrow", "--table", "kernel", "-"),
    ],
)
def test_standard_output_that_is_full(run_folder: Path, words: tuple[str, ...]) -> None:
    arguments = [word.format(run=run_folder) for word in words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cupti_etl", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-2] == "cupti-etl: No space left on device"
    assert "Traceback" not in done.stderr


def test_no_standard_output(run_folder: Path) -> None:
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "cupti_etl"]
    done = subprocess.run(
        [*closed, "sql", str(run_folder), "FROM kernel"],
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ["cupti-etl: there is no standard output", "  add -o FILE"],
    )


def test_a_suffix_that_is_no_format(run_folder: Path, tmp_path: Path) -> None:
    status, lines = fail("sql", run_folder, "FROM kernel", "-o", tmp_path / "kernels.xlsx")
    assert status == 2
    assert ".xlsx is not the suffix of a format" in lines[0]
    assert ".csv" in lines[1]
    succeed("sql", run_folder, "FROM kernel", "-o", tmp_path / "kernels")
    assert (tmp_path / "kernels").read_text().startswith("process  ")


def test_any_sql(run_folder: Path) -> None:
    text = succeed("sql", run_folder, "SELECT name FROM kernel ORDER BY start_ns", "--format=csv")
    assert text.split() == ["name", '"a"', '"b"', '"a"']
    text = succeed("sql", run_folder, "SELECT 1 AS a; SELECT 2 AS b;", "--format=csv")
    assert text.split() == ["a", "1", "b", "2"]


def test_the_file_of_an_answer(run_folder: Path, tmp_path: Path) -> None:
    succeed("query", "gpu_activity", run_folder, "-o", tmp_path / "out.parquet")
    text = succeed("sql", run_folder, f"SELECT count(*) AS n FROM '{tmp_path}/out.parquet'")
    assert text.split()[-1] == "3"


def test_the_list() -> None:
    text = succeed("query", "--list")
    assert "kernels:\n" in text
    assert re.search(r"^  kernel_summary +Which kernels take the time\?$", text, re.MULTILINE)
    assert "kernel_named" not in text
    assert "_gap_cause" not in text
    everything = succeed("query", "--list", "--all")
    assert "kernel_named" in everything
    assert "_gap_cause" in everything
    assert "kernel_summary" not in succeed("query", "--list", "timeline")


def test_the_list_is_searched_by_name_question_and_the_names_of_other_tools() -> None:
    assert "  gap_attribution " in succeed("query", "--list", "idle")
    assert "  kernel_summary " in succeed("query", "--list", "cuda_gpu_kern_sum")
    assert fail("query", "--list", "nosuchthing") == (
        2,
        ["cupti-etl: no query is about 'nosuchthing'", "  cupti-etl query --list --all"],
    )


def test_names_of_other_tools_and_of_the_release_before(run_folder: Path) -> None:
    for name, today in (("top_kernels", "kernel_summary"), ("kernel_time", "_kernel_time")):
        # A building block gives its rows in no order.
        answers = (succeed("query", each, run_folder, "--format", "csv") for each in (name, today))
        assert len({tuple(sorted(answer.splitlines())) for answer in answers}) == 1
    assert succeed("sql", run_folder, "SELECT count(*) AS n FROM gap_edge", "--format", "csv")
    assert succeed("query", "top_kernels", "--sql").startswith("WITH durations AS (")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_a_query_and_of_the_command(option: str) -> None:
    text = succeed("query", "gpu_busy", option)
    assert text.startswith("gpu_busy (timeline)\n\nHow much of the time")
    assert "busy_pct" in text
    assert 'cupti-etl sql TRACE "FROM gpu_busy"' in text
    assert succeed("query", option).startswith("Usage: cupti-etl query")


@pytest.mark.parametrize(
    ("arguments", "status", "message", "hint"),
    [
        (["query"], 2, "which query?", "cupti-etl query --list lists them"),
        (["qurey", "{run}"], 2, "there is no command 'qurey'", "did you mean query?"),
        (["metrics", "lst"], 2, "there is no command 'lst'", "did you mean list?"),
        (["xyz"], 2, "there is no command 'xyz'", "cupti-etl --help lists the commands"),
        (
            ["kernel_summary", "a b", "--all"],
            2,
            "there is no command 'kernel_summary'",
            "cupti-etl query kernel_summary 'a b' --all",
        ),
        (
            ["sql", "{run}", "kernel_summary"],
            2,
            "'kernel_summary' is neither a trace nor SQL",
            'cupti-etl sql {run} "FROM kernel_summary"',
        ),
        (
            ["sql", "{run}", ""],
            2,
            "the QUERY is empty",
            'cupti-etl sql {run} "FROM kernel_summary"',
        ),
        (
            ["sql", "{run}", "kernel_sumary;"],
            2,
            "'kernel_sumary;' is neither a trace nor SQL",
            'cupti-etl sql {run} "FROM kernel_summary"',
        ),
        (
            ["sql", "{run}", "FROM kernel_sumary"],
            2,
            "Table with name kernel_sumary does not exist",
            "did you mean FROM kernel_summary?",
        ),
        (
            ["sql", "{run}", "FROM kernel_worst"],
            2,
            "Table with name kernel_worst does not exist",
            "did you mean FROM kernel_worst()?",
        ),
        (
            ["sql", "{run}", "SELECT dur FROM kernel"],
            2,
            'Binder Error: Referenced column "dur" not found',
            "DESCRIBE lists columns",
        ),
        (
            ["sql", "{run}", 'SELECT "a b" FROM kernel'],
            2,
            'Binder Error: Referenced column "a b" not found',
            "if it is a text, write 'a b'",
        ),
        (["sql", "{run}", "SELECT x FROM pm_sample"], 2, "Binder Error", "FROM pm_metric"),
        (["query", "kernel_sum", "{run}"], 2, "there is no query 'kernel_sum'", "did you mean"),
        (["query", "gpu_busy"], 2, "on which trace shall gpu_busy run?", "cupti-etl query gpu"),
        (["query", "gpu_busy", "/none"], 1, "there is no trace /none", "give the folder that"),
        (["query", "gpu_busy", "{run}", "--param", "x=1"], 2, "query gpu_busy has no par", "its"),
        (
            ["query", "gpu_gaps", "{run}", "--param", "min_ns=soon"],
            2,
            "query gpu_gaps: min_ns takes BIGINT, not 'soon'",
            "min_ns: Shortest gap",
        ),
        (["query", "gpu_busy", "{run}", "--param", "x"], 2, "--param 'x' is not NAME=VAL", "for"),
        (["sql", "/none", "SELECT 1"], 1, "there is no trace /none", "give the folder that"),
        (["sql", "{run}", "FROM nowhere"], 2, "Catalog Error: Table with name nowhere", ""),
        (["sql", "{run}", "SELECT 1", "-o", "/no/x.csv"], 2, "cannot write /no/x.csv", "choose"),
        (["relink", "/none"], 1, "there is no trace /none", "give the folder that"),
    ],
)
def test_what_cannot_be_is_said_in_two_lines(
    run_folder: Path, arguments: list[str], status: int, message: str, hint: str
) -> None:
    code, lines = fail(*(each.replace("{run}", str(run_folder)) for each in arguments))
    assert code == status
    assert lines[0].startswith(f"cupti-etl: {message}")
    assert lines[-1].startswith(f"  {hint}".replace("{run}", str(run_folder)))


@pytest.mark.slow
def test_statements_from_a_pipe(run_folder: Path) -> None:
    script = """
        -- a comment; with a semicolon
        CREATE TEMP TABLE mine AS SELECT 'x;y' AS text;
        SELECT text
        FROM mine; SELECT 2 AS two;
        .tables
        SELECT count(*) AS last FROM kernel
    """
    lines = succeed("sql", run_folder, "--format", "csv", stdin=script).splitlines()
    assert lines[:4] == ["text", '"x;y"', "two", "2"]
    assert ["kernel", "3"] in [line.split() for line in lines]
    assert lines[-2:] == ["last", "3"]
    assert succeed("sql", run_folder, stdin="") == ""


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("INSERT INTO kernel FROM kernel", "INSERT INTO kernel"),
        ("/* away with it */ delete from kernel WHERE true", "DELETE FROM kernel"),
        ('UPDATE "kernel" SET name = NULL', "UPDATE kernel"),
        ("DROP VIEW IF EXISTS kernel_summary", "DROP VIEW kernel_summary"),
        ("ALTER TABLE main.kernel DROP name", "ALTER TABLE kernel"),
    ],
)
def test_a_statement_that_would_change_the_trace_is_refused(
    run_folder: Path, statement: str, what: str
) -> None:
    status, lines = fail("sql", run_folder, statement)
    assert (status, lines[0]) == (
        2, f"cupti-etl: {what} is refused: a trace is only read, never changed",
    )  # fmt: skip
    assert "CREATE TABLE mine AS FROM" in lines[1]


def test_tables_of_ones_own_can_be_changed(run_folder: Path) -> None:
    script = """
        CREATE TABLE mine AS FROM kernel;
        DELETE FROM mine WHERE name = 'a';
        SELECT count(*) AS n FROM mine;
        CREATE TABLE memcpy AS SELECT 7 AS n;
        DROP TABLE memcpy;
    """
    assert succeed("sql", run_folder, "--format", "csv", stdin=script) == "n\n1\n"


# More than a pipe holds.
@pytest.mark.parametrize(
    "words",
    [
        ("query", "kernel_summary", "{run}", "--all", "--wide"),
        ("query", "kernel_summary", "{run}", "--format", "csv"),
        ("sql", "{run}", "FROM range(99999)", "--format", "json"),
        ("sql", "{run}", "FROM range(99999)", "--format", "arrow"),
        ("sql", "{run}", ".queries"),
        pytest.param(("report", "{run}"), marks=pytest.mark.slow),
        ("export", "{run}", "--to", "csv", "--table", "kernel", "-"),
        ("metrics", "list", "--chip", "GH100", "--format", "csv"),
        ("query", "--list"),
    ],
)
def test_output_that_nobody_reads_is_no_error(run_folder: Path, words: tuple[str, ...]) -> None:
    arguments = [word.format(run=run_folder) for word in words]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "cupti_etl", *arguments],
        stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writer)
    said = [line for line in done.stderr.splitlines() if "no driver here" not in line]
    assert (done.returncode, said) == (141, [])


def test_a_pipe_ends_at_the_first_error(run_folder: Path) -> None:
    done = etl("sql", run_folder, "--format=csv", stdin="SELECT 1 AS a; FROM nowhere; SELECT 2;")
    assert done.returncode == 2
    assert done.stdout == "a\n1\n"
    assert "nowhere" in done.stderr


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(run_folder: Path) -> None:
    sql = "SELECT range AS n FROM range(10000000)"
    for kind in ("csv", "json", "arrow", "parquet"):
        with subprocess.Popen(
            [sys.executable, "-m", "cupti_etl", "sql", run_folder, sql, "--format", kind],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""


def test_csv_of_a_pipe_is_whole(run_folder: Path) -> None:
    text = succeed("sql", run_folder, "SELECT range AS n FROM range(200000)", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 200000
    assert sum(int(row["n"]) for row in rows) == 200000 * 199999 // 2


def test_ctrl_c_ends_a_long_query(run_folder: Path, tmp_path: Path) -> None:
    # The query reads a pipe: that it opens it says that it runs, however slow the machine is.
    pipe = tmp_path / "remainder"
    os.mkfifo(pipe)
    hours = (
        "SELECT count(*) FROM range(9999999) a, range(9999999) b"
        f" WHERE a.range * b.range % 7 = (SELECT n FROM read_csv('{pipe}', columns = {{n: 'INT'}}))"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "cupti_etl", "sql", run_folder, hours],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            with os.fdopen(_opened_by_reader(pipe, process), "w") as file:
                file.write("1\n")
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()  # leaving the block waits for it
    assert (out, err.strip()) == ("", "")
    assert process.returncode == 130


def _opened_by_reader(pipe: Path, process: subprocess.Popen[str]) -> int:
    """The writing end, once the process has the other open."""
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(0.02)
    raise AssertionError("the query never read its input")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("{run}", "kernel_summary"),
            [
                "cupti-etl: the query comes before the trace",
                "  cupti-etl query kernel_summary {run}",
            ],
        ),
        (
            ("gap_attribution", "{run}", "--min-ns", "5"),
            [
                "cupti-etl: --min-ns is no option, but a parameter of a query",
                "  --param min_ns=VALUE",
            ],
        ),
    ],
)
def test_what_is_meant_is_said(run_folder: Path, words: tuple[str, ...], said: list[str]) -> None:
    given = [word.format(run=run_folder) for word in words]
    assert fail("query", *given) == (2, [line.format(run=run_folder) for line in said])


def test_columns_of_one_name_are_all_shown(run_folder: Path) -> None:
    told = succeed("sql", run_folder, "SELECT 1 AS a, 2 AS a", "--format", "markdown")
    assert told == "| a | a_1 |\n| ---: | ---: |\n| 1 | 2 |\n"
