"""Rows in every format: exact for machines, readable for people, streamed."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.trace import MakeTrace

from cupti_etl.cli import cli
from cupti_etl.errors import UsageError
from cupti_etl.render.output import FORMATS, Output, write

# 2^53 + 1 is the first integer that a double cannot hold.
ROWS = """
    SELECT * FROM (VALUES (9007199254740993::BIGINT, 'a "quoted", name', 1.5::DOUBLE, true),
                          (NULL, '', 'nan'::DOUBLE, NULL),
                          (-1, 'x|y' || chr(10) || 'ü', 0.1::DOUBLE, false))
    AS t(start_ns, name, share, flag)
"""
ODD = """
    SELECT [1, 2] AS list, {'a': 1.5, 'b': 'x'} AS struct, 'ab'::BLOB AS bytes,
           170141183460469231731687303715884105727::HUGEINT AS huge, 1.25::DECIMAL(9, 2) AS money,
           TIMESTAMP '2026-11-20 10:00:00' AS at, MAP {'k': 1} AS map, NULL AS nothing,
           sum(9223372036854775807) AS total
    FROM range(2)
"""


def written(opened, sql: str, kind: str, tmp_path: Path) -> bytes:
    path = tmp_path / "out.bin"
    write(opened.sql(sql), Output(kind, path))
    return path.read_bytes()


def test_csv_tells_null_from_empty(trace: MakeTrace, tmp_path: Path) -> None:
    text = written(trace(), ROWS, "csv", tmp_path).decode()
    assert text == (
        "start_ns,name,share,flag\n"
        '9007199254740993,"a ""quoted"", name",1.5,true\n'
        ',"",nan,\n'
        '-1,"x|y\nü",0.1,false\n'
    )
    assert list(csv.reader(io.StringIO(text)))[3] == ["-1", "x|y\nü", "0.1", "false"]


def test_json_is_an_array_of_objects_with_exact_integers(trace: MakeTrace, tmp_path: Path) -> None:
    assert json.loads(written(trace(), ROWS, "json", tmp_path)) == [
        {"start_ns": 9007199254740993, "name": 'a "quoted", name', "share": 1.5, "flag": True},
        {"start_ns": None, "name": "", "share": None, "flag": None},
        {"start_ns": -1, "name": "x|y\nü", "share": 0.1, "flag": False},
    ]


def test_arrow_and_parquet_keep_types(trace: MakeTrace, tmp_path: Path) -> None:
    opened = trace()
    expected = opened.sql(ROWS).arrow()
    stream = written(opened, ROWS, "arrow", tmp_path)
    assert pa.ipc.open_stream(stream).read_all().slice(2).equals(expected.slice(2))
    stored = pq.read_table(io.BytesIO(written(opened, ROWS, "parquet", tmp_path)))
    assert stored.schema.equals(expected.schema)
    assert stored.slice(2).equals(expected.slice(2))


def test_markdown_is_one_line_a_row(trace: MakeTrace, tmp_path: Path) -> None:
    assert written(trace(), ROWS, "markdown", tmp_path).decode() == (
        "| start | name | share | flag |\n"
        "| ---: | --- | ---: | --- |\n"
        '| +9,007,199.254741 s | a "quoted", name | 1.50 | yes |\n'
        "| - |  | nan | - |\n"
        "| -0.001 us | x\\|y ü | 0.10 | no |\n"
    )


def test_types_beyond_numbers_and_text(trace: MakeTrace, tmp_path: Path) -> None:
    opened = trace()
    (row,) = json.loads(written(opened, ODD, "json", tmp_path))
    assert row == {
        "list": [1, 2],
        "struct": {"a": 1.5, "b": "x"},
        "bytes": "6162",
        "huge": 170141183460469231731687303715884105727,
        "money": 1.25,
        "at": "2026-11-20T10:00:00",
        "map": [["k", 1]],
        "nothing": None,
        "total": 18446744073709551614,
    }
    (line,) = csv.DictReader(io.StringIO(written(opened, ODD, "csv", tmp_path).decode()))
    assert line["list"] == "[1, 2]"
    assert json.loads(line["struct"]) == {"a": 1.5, "b": "x"}
    assert line["huge"] == "170141183460469231731687303715884105727"
    for kind in FORMATS:
        assert written(opened, ODD, kind, tmp_path)


@pytest.mark.parametrize("kind", FORMATS)
def test_no_rows_are_still_a_valid_answer(trace: MakeTrace, tmp_path: Path, kind: str) -> None:
    data = written(trace(), "SELECT start_ns, name, [1] AS l FROM kernel", kind, tmp_path)
    readers = {
        "csv": lambda: data == b"start_ns,name,l\n",
        "json": lambda: json.loads(data) == [],
        "arrow": lambda: pa.ipc.open_stream(data).read_all().num_rows == 0,
        "parquet": lambda: (
            pq.read_table(io.BytesIO(data)).column_names == ["start_ns", "name", "l"]
        ),
        "markdown": lambda: data.decode().count("\n") == 2,
        "table": lambda: b"start  name  l" in data,
        "html": lambda: b"<table><tr><th" in data and b"<td" not in data,
    }
    assert readers[kind]()


def test_a_table_shows_numbers_for_people(trace: MakeTrace, tmp_path: Path) -> None:
    sql = """
        SELECT 4611686018427387 AS slurm_job_id, 1234567 AS total_ns, 0.123456 AS share,
               1e-7::DOUBLE AS small, 12345.678::DOUBLE AS mean_ns, NULL AS nothing,
               1234567 AS calls, 4300000 AS held_bytes, 12.34 AS busy_pct,
               'evil' || chr(27) || '[2J' || chr(10) || '[red]x' AS name
    """
    header, _rule, row = written(trace(), sql, "table", tmp_path).decode().splitlines()
    assert header.split() == [
        "slurm_job_id", "total", "share", "small", "mean", "nothing", "calls", "held", "busy",
        "name",
    ]  # fmt: skip
    assert re.split(r"\s\s+", row.strip()) == [
        "4611686018427387", "1.23 ms", "0.12", "1e-07", "12.3 us", "-", "1,234,567", "4.10 MiB",
        "12.3 %", "evil [2J [red]x",
    ]  # fmt: skip
    assert "\x1b" not in row


def test_a_long_table_says_how_many_rows_are_left(
    trace: MakeTrace, capsys: pytest.CaptureFixture[str]
) -> None:
    result = trace().sql("SELECT range AS n FROM range(5042)")
    write(result, Output())
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 42
    assert out.splitlines()[-1].strip() == "39"
    assert err == "5,002 more rows: --limit N, --all or --format csv\n"
    write(result, Output(all_rows=True))
    out, err = capsys.readouterr()
    assert (len(out.splitlines()), err) == (5044, "")


def test_the_name_of_a_file_chooses_the_format(trace: MakeTrace, tmp_path: Path) -> None:
    opened = trace()
    for name, start in (
        ("a.csv", b"n\n"), ("a.JSON", b"["), ("a.parquet", b"PAR1"), ("a.md", b"| n |"),
        ("a", b"n\n"),
    ):  # fmt: skip
        write(opened.sql("SELECT 1 AS n"), Output("", tmp_path / name))
        assert (tmp_path / name).read_bytes().startswith(start)
    write(opened.sql("SELECT 1 AS n"), Output("json", tmp_path / "b.csv"))
    assert json.loads((tmp_path / "b.csv").read_text()) == [{"n": 1}]


@pytest.mark.slow
def test_a_file_appears_only_when_it_is_complete(trace: MakeTrace, tmp_path: Path) -> None:
    kept = tmp_path / "kept.csv"
    kept.write_text("old")
    fails = "SELECT CASE WHEN range < 200000 THEN '1' ELSE 'x' END::INTEGER AS n FROM range(300000)"
    for kind in FORMATS:
        with pytest.raises(UsageError, match="Could not convert"):
            write(trace().sql(fails), Output(kind, kept, all_rows=True))
    assert kept.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["kept.csv"]
    with pytest.raises(UsageError, match="cannot write .*: No such file or directory"):
        write(trace().sql("SELECT 1"), Output("csv", tmp_path / "no" / "folder.csv"))


def test_a_device_is_written_in_place(trace: MakeTrace) -> None:
    write(trace().sql("SELECT 1"), Output("csv", Path("/dev/null")))
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_binary_is_not_for_terminals(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="would garble the terminal") as raised:
        write(trace().sql("SELECT 1"), Output(kind))
    assert "-o FILE" in raised.value.hint


def test_a_terminal_gets_a_table_of_its_width(trace: MakeTrace) -> None:
    path = trace(kernel="start_ns end_ns name\n 0 10 " + "k" * 300).path
    master, slave = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "cupti_etl", "query", "kernel_summary", str(path)],
        stdout=slave, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "60"},
    )  # fmt: skip
    os.close(slave)
    text = os.read(master, 65536).decode()
    os.close(master)
    assert done.returncode == 0, done.stderr
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert lines[0].split() == ["percent", "total", "calls", "mean", "name"]
    assert lines[2].split() == [
        "100.0",
        "%",
        "10",
        "ns",
        "1",
        "10",
        "ns",
        "k" * 14 + "…" + "k" * 15,
    ]
    assert max(len(line) for line in lines) <= 60
    assert done.stderr.startswith("columns not shown: median_ns, p95_ns")


# Of Parquet whole row groups are gathered: few rows are more than two of them.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "few"),
    [("csv", 200_000), ("json", 200_000), ("arrow", 200_000), ("parquet", 600_000)],
)
def test_memory_does_not_grow_with_the_rows(trace: MakeTrace, kind: str, few: int) -> None:
    path = trace().path
    code = (
        "import resource, sys, cupti_etl\n"
        "from cupti_etl.render.output import Output, write\n"
        f"trace = cupti_etl.open({str(path)!r})\n"
        "def rows(n):\n"
        "    sql = f\"SELECT range AS n, 'text ' || range AS t FROM range({n})\"\n"
        f"    write(trace.sql(sql), Output({kind!r}))\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"few = rows({few})\n"
        f"print(rows({few} + 1_000_000) - few, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True
    )
    # A million rows of about 40 bytes; in kilobytes.
    assert int(done.stderr) < 30_000


def test_the_list_of_queries_for_programs() -> None:
    listed = CliRunner().invoke(cli, ["query", "--list", "--format", "json"]).stdout
    rows = {row["query"]: row for row in json.loads(listed)}
    assert rows["kernel_summary"]["about"] == "Which kernels take the time?"
    assert "_gap_cause" not in rows
    words = ["query", "--list", "gap", "--all", "--format", "csv", "--where", "is_building_block"]
    lines = CliRunner().invoke(cli, words).stdout.splitlines()
    assert lines[0] == "query,topic,about,parameters,is_building_block"
    assert any(line.startswith('"_gap_cause",') for line in lines)
    assert not any(line.startswith('"gap_attribution",') for line in lines)
