"""A file per table: Parquet, Arrow and CSV, and the command that writes them."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from pathlib import Path

import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from support.command import etl_bytes
from support.exported import is_told
from support.trace import add_part, as_table, write_part, write_trace

from cupti_etl.schema.arrow import TABLES, arrow_schema

KERNELS = 'process_id start_ns end_ns name\n 1 20 50 b\n 1 0 10 a\n 1 60 - ""'


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = write_trace(tmp_path / "run", capture="capture_id\n 1", kernel=KERNELS)
    add_part(folder, "kernel", "process_id start_ns end_ns name\n 1 5 9 -")
    return folder


def succeed(*arguments: object, stdin: str = "") -> bytes:
    done = etl_bytes(*arguments, stdin=stdin)
    assert done.returncode == 0
    if arguments[0] == "export" and isinstance(arguments[-1], Path):
        assert is_told(done.stderr.decode(), str(arguments[3]), arguments[-1])
    else:
        assert done.stderr == b""
    return done.stdout


@pytest.mark.slow
def test_parquet_is_sorted_and_explains_itself(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    succeed("export", run, "--to", "parquet", out)
    assert {path.name for path in out.iterdir()} == {f"{table}.parquet" for table in TABLES}
    for table in TABLES:
        schema = pq.read_schema(out / f"{table}.parquet")
        assert schema.equals(arrow_schema(table), check_metadata=True)
    kernels = pq.read_table(out / "kernel.parquet")
    assert kernels["start_ns"].to_pylist() == [0, 5, 20, 60]
    assert kernels["name"].to_pylist() == ["a", None, "b", ""]
    part = pq.read_metadata(out / "kernel.parquet")
    assert b"cupti_etl.columns" in part.metadata
    column = part.row_group(0).column(arrow_schema("kernel").names.index("start_ns"))
    assert (column.compression, column.encodings[-1]) == ("ZSTD", "DELTA_BINARY_PACKED")


def test_arrow_to_standard_output_and_to_a_file(run: Path, tmp_path: Path) -> None:
    data = succeed("export", run, "--to", "arrow", "--table", "kernel", "-")
    rows = pyarrow.ipc.open_stream(data).read_all()
    assert rows.num_rows == 4
    assert rows.schema.equals(arrow_schema("kernel"), check_metadata=True)
    succeed("export", run, "--to", "arrow", "--table", "kernel", tmp_path / "k.arrows")
    assert pyarrow.ipc.open_stream((tmp_path / "k.arrows").read_bytes()).read_all() == rows


def test_csv_of_several_tables(run: Path, tmp_path: Path) -> None:
    succeed("export", run, "--to", "csv", "--table", "kernel, capture", tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "capture.csv", "kernel.csv",
    ]  # fmt: skip
    text = (tmp_path / "out/kernel.csv").read_text()
    assert text == succeed("export", run, "--to", "csv", "--table", "kernel", "-").decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert sorted(row["start_ns"] for row in rows) == ["0", "20", "5", "60"]
    assert [row["end_ns"] for row in rows if row["start_ns"] == "60"] == [""]


@pytest.mark.slow
def test_what_this_version_does_not_know_is_written_too(run: Path, tmp_path: Path) -> None:
    more = as_table("kernel", KERNELS)
    write_part(run / "kernel/part-000001.parquet", more.append_column("novel", more["start_ns"]))
    (run / "from_the_future").mkdir()
    write_part(run / "from_the_future/part-000000.parquet", as_table("clock", "realtime_ns\n 5"))
    succeed("export", run, "--to", "parquet", tmp_path / "out")
    assert pq.read_table(tmp_path / "out/kernel.parquet")["novel"].null_count == 3
    assert pq.read_table(tmp_path / "out/from_the_future.parquet")["realtime_ns"].to_pylist() == [5]


@pytest.mark.slow
def test_from_a_file_and_from_several(run: Path, tmp_path: Path) -> None:
    other = write_trace(tmp_path / "other", capture="capture_id\n 2", kernel=KERNELS)
    succeed("export", run, "--to", "duckdb", tmp_path / "run.duckdb")
    text = succeed(
        "export", tmp_path / "run.duckdb", other, "--to", "csv", "--table", "kernel", "-"
    )
    assert len(text.splitlines()) == 1 + 4 + 3


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(run: Path) -> None:
    rows = "\n".join(f"{at} {at}" for at in range(50_000))
    add_part(run, "memset", f"start_ns end_ns\n{rows}")
    words = [sys.executable, "-m", "cupti_etl", "export", run, "--to", "csv", "--table", "memset"]
    with subprocess.Popen([*words, "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("arguments", "status", "message", "hint"),
    [
        (["{run}", "--to", "csv", "{run}"], 2, "{run} exists already", "choose another name"),
        (["{run}", "--to", "csv", "/no/x"], 2, "there is no folder /no", "make it"),
        (["{run}", "--to", "csv", "-"], 2, "standard output takes one table", "name it"),
        (["{run}", "--to", "csv", "--table", "x", "-"], 2, "there is no table 'x'", "`cupti"),
        (
            ["{run}", "--to", "parquet", "--table", "kernel", "-"],
            2,
            "a Parquet export is sorted",
            "name a file",
        ),
        (
            ["{run}", "--to", "duckdb", "--table", "kernel", "x"],
            2,
            "--table does not go with --to duckdb",
            "--to parquet",
        ),
        (["{run}", "--to", "csv"], 2, "TRACE or OUT is missing", "cupti-etl export {run} --to csv"),
        (["/none", "--to", "csv", "/tmp/x"], 1, "there is no trace /none", "give the folder"),
        (["{run}", "{run}", "--to", "csv", "/tmp/x"], 2, "{run} is given twice", "every row"),
        (["{run}", "--to", "csv", "/proc/x"], 1, "cannot write /proc/x", "check the perm"),
        (["{run}", "--to", "duckdb", "/proc/x"], 1, "cannot write /proc/x", "check the perm"),
        (
            ["{run}", "--to", "parquet", "--table", "kernel", "/proc/x"],
            1,
            "cannot write /proc/x",
            "check the perm",
        ),
        (
            ["{run}", "--to", "csv", "--table", "kernel", "/proc/x"],
            2,
            "cannot write /proc/x",
            "choose another",
        ),
    ],
)
def test_what_cannot_be_is_said_in_two_lines(
    run: Path, arguments: list[str], status: int, message: str, hint: str
) -> None:
    done = etl_bytes("export", *(each.replace("{run}", str(run)) for each in arguments))
    lines = done.stderr.decode().splitlines()
    assert done.returncode == status
    assert lines[0].startswith(f"cupti-etl: {message.replace('{run}', str(run))}")
    assert lines[-1].startswith(f"  {hint.replace('{run}', str(run))}")


@pytest.mark.slow
def test_a_damaged_part_leaves_nothing(run: Path, tmp_path: Path) -> None:
    rows = "\n".join(f"{at * at} {at}" for at in range(5000))
    part = add_part(run, "memset", f"start_ns end_ns\n{rows}")
    data = part.read_bytes()
    part.write_bytes(data[:200] + b"\xff" * 3000 + data[3200:])
    for form in ("parquet", "arrow", "csv", "duckdb"):
        done = etl_bytes("export", run, "--to", form, tmp_path / "out")
        assert done.returncode == 1
        assert b"memset/part-000001.parquet is damaged" in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["run"]


# --- several traces for the other commands


@pytest.mark.slow
def test_sql_and_query_take_several_traces(run: Path, tmp_path: Path) -> None:
    other = write_trace(tmp_path / "other one", capture="capture_id\n 2", kernel=KERNELS)
    count = "SELECT count(*) AS n FROM kernel"
    assert succeed("sql", run, other, count, "--format", "csv") == b"n\n7\n"
    assert succeed("sql", tmp_path / "*", count, "--format", "csv") == b"n\n7\n"
    text = succeed("query", "kernel_summary", run, other, "--format", "csv")
    assert text.count(b"\n") == 1 + 4
    # A trace with a space in its name is no statement; the statement comes from the pipe.
    assert succeed("sql", run, other, "--format", "csv", stdin=count) == b"n\n7\n"
    assert b"there is no trace typo" in etl_bytes("sql", run, "typo").stderr
    long = f"SELECT 1 AS one -- {'x' * 5000}"
    assert succeed("sql", run, long, "--format", "csv") == b"one\n1\n"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (("--to", "chrome"), "out.json"),
        (("--to", "perfetto"), "out.pftrace"),
        (("--to", "csv", "--table", "kernel"), "out.csv"),
        (("--to", "arrow", "--table", "kernel"), "out.arrows"),
    ],
    ids=["chrome", "perfetto", "csv", "arrow"],
)
def test_a_name_that_ends_in_gz_is_compressed(
    run: Path, tmp_path: Path, written: tuple[str, ...], name: str
) -> None:
    succeed("export", run, *written, tmp_path / name)
    for again in range(2):  # each time the same bytes
        succeed("export", run, *written, tmp_path / f"{again}{name}.GZ")
    first, second = ((tmp_path / f"{again}{name}.GZ").read_bytes() for again in range(2))
    assert gzip.decompress(first) == (tmp_path / name).read_bytes()
    assert first == second
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [f"0{name}.GZ", f"1{name}.GZ", name, "run"]
    )


def test_rows_are_of_the_format_that_stands_before_gz(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "one.csv.gz"
    succeed("sql", run, "SELECT 1 AS one", "-o", out)
    assert gzip.decompress(out.read_bytes()) == b"one\n1\n"


@pytest.mark.parametrize("form", ["duckdb", "parquet", "sqlite"])
def test_what_is_read_in_any_order_is_not_compressed(run: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"out.{form}.gz"
    done = etl_bytes("export", run, "--to", form, out)
    assert done.returncode == 2
    assert f"name it {tmp_path}/out.{form}\n" in done.stderr.decode()
    assert not out.exists()
