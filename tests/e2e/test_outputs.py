"""What capture -o can name: a self-contained file, a stream of Arrow, names with % in them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pytest
from support.captures import Capturer, running, table
from support.waiting import wait_until

import cupti_etl
from cupti_etl.config import LAUNCHERS

# CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
KERNEL = 10


def words_to(capturer: Capturer, out: str | Path, *options: str, **program: Any) -> Any:
    """Command line and environment of a capture to another output than a folder."""
    words, env, trace, log = capturer.prepare("13.5.25", options, **program)
    words[words.index(str(trace))] = str(out)
    return words, env, log


def run(words: list[str], env: dict[str, str], **more: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(words, env=env, capture_output=True, timeout=120, check=False, **more)


@pytest.mark.slow
@pytest.mark.parametrize("is_wanted", [True, False])
def test_the_file_for_duckdbs_shell_is_there_however_short_the_run(
    capturer: Capturer, is_wanted: bool
) -> None:
    capturer.trace_duckdb = is_wanted
    trace = capturer.run(launches=1).trace
    assert (trace / "trace.duckdb").exists() is is_wanted
    if is_wanted:
        with duckdb.connect(trace / "trace.duckdb", read_only=True) as con:
            assert con.sql("SELECT calls FROM kernel_summary").fetchall() == [(1,)]


@pytest.mark.slow
def test_a_self_contained_file(capturer: Capturer, tmp_path: Path) -> None:
    out = tmp_path / "new" / "run.duckdb"
    words, env, log = words_to(capturer, out, launches=300, print="hello")
    done = run(words, env)
    assert (done.returncode, done.stdout) == (0, b"hello\n"), done.stderr
    assert f"trace in {out}" in done.stderr.decode()
    # Nothing is left beside it.
    assert [path.name for path in out.parent.iterdir()] == ["run.duckdb"]
    with duckdb.connect(out, read_only=True) as plain:
        assert plain.sql("SELECT count(*) FROM kernel").fetchall() == [(300,)]
        assert plain.sql("SELECT sum(calls) FROM kernel_summary").fetchall() == [(300,)]
        assert plain.sql("SELECT exit_status FROM capture").fetchall() == [(0,)]
    with cupti_etl.open(out) as trace:
        verdict = trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
        assert [row["subject"] for row in verdict] == ["complete"]
    assert capturer.fakes.log(log)


@pytest.mark.slow
def test_while_the_program_runs_the_parts_can_be_asked(capturer: Capturer, tmp_path: Path) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    out = tmp_path / "run.duckdb"
    words, env, _ = words_to(capturer, out, launches=50, ready=ready, until=until)
    with running(words, env, stderr=subprocess.PIPE):
        wait_until(
            lambda: ready.exists() and table(tmp_path / "run.duckdb.parts", "kernel").num_rows
        )
        assert not out.exists()
        until.touch()
    assert out.exists()


def test_a_conversion_that_fails_loses_nothing(capturer: Capturer, tmp_path: Path) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    out, parts = tmp_path / "run.duckdb", tmp_path / "run.duckdb.parts"
    words, env, _ = words_to(capturer, out, launches=50, ready=ready, until=until)
    with running(words, env, stderr=subprocess.PIPE) as process:
        wait_until(ready.exists)
        out.write_text("somebody was quicker")
        until.touch()
        _, words_said = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"{out} could not be written: {out} exists already" in words_said
    assert f"cupti-etl export {parts} --to duckdb {out}" in words_said
    assert out.read_text() == "somebody was quicker"
    assert table(parts, "kernel").num_rows == 50


@pytest.mark.parametrize("name", ["run.duckdb", "run.arrows"])
def test_what_exists_is_not_touched(capturer: Capturer, tmp_path: Path, name: str) -> None:
    out, marker = tmp_path / name, tmp_path / "ran"
    out.write_text("mine")
    options = ["--table", "kernel"] if name.endswith("s") else []
    words, env, _ = words_to(capturer, out, *options, launches=1, ready=marker)
    done = run(words, env)
    assert done.returncode == 2
    assert b"exists already" in done.stderr
    assert out.read_text() == "mine"
    assert not marker.exists()


# --- streams


def test_a_stream_on_standard_output(capturer: Capturer) -> None:
    words, env, log = words_to(
        capturer, "-", "--table", "kernel", launches=500, print="out", print_error="err"
    )
    done = run(words, env)
    assert done.returncode == 0, done.stderr
    rows = pa.ipc.open_stream(done.stdout).read_all()
    assert rows.num_rows == 500 == capturer.fakes.log(log).delivered(KERNEL)
    assert rows.schema.field("start_ns").metadata[b"unit"] == b"ns"
    assert set(rows.schema.types) & {pa.string()}
    # The program's own words go where ours go.
    said = done.stderr.decode()
    assert said.startswith("out\nerr\n") or said.startswith("err\nout\n")
    assert "kernel to standard output" in said


def test_rows_come_while_the_program_runs(capturer: Capturer, tmp_path: Path) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    words, env, _ = words_to(
        capturer, "-", "--table", "kernel", launches=50, ready=ready, until=until
    )
    with running(words, env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        stream = pa.ipc.open_stream(process.stdout.buffer)
        got = 0
        while got < 50:
            got += stream.read_next_batch().num_rows
        assert process.poll() is None
        until.touch()
        with pytest.raises(StopIteration):
            stream.read_next_batch()
    assert process.returncode == 0


@pytest.mark.parametrize(("name", "rows"), [("process", 1), ("capture", 1), ("api_call", 40)])
def test_a_stream_to_a_file(capturer: Capturer, tmp_path: Path, name: str, rows: int) -> None:
    out = tmp_path / f"{name}.arrows"
    words, env, _ = words_to(capturer, out, "--table", name, launches=20, print="out")
    done = run(words, env)
    assert (done.returncode, done.stdout) == (0, b"out\n"), done.stderr
    found = pa.ipc.open_stream(out.read_bytes()).read_all()
    assert found.num_rows >= rows
    if name == "process":
        assert found["state"].to_pylist() == ["finished"]


@pytest.mark.slow
def test_the_size_of_a_stream_can_be_limited(capturer: Capturer, tmp_path: Path) -> None:
    out = tmp_path / "kernel.arrows"
    limited = ["--table", "kernel", "--max-size", "1kB"]
    words, env, _ = words_to(capturer, out, *limited, launches=8000, rate=2000)
    assert run(words, env).returncode == 0
    assert 0 < pa.ipc.open_stream(out.read_bytes()).read_all().num_rows < 8000


def test_a_stream_through_a_named_pipe(capturer: Capturer, tmp_path: Path) -> None:
    out = tmp_path / "pipe.arrows"
    os.mkfifo(out)
    words, env, _ = words_to(capturer, out, "--table", "kernel", launches=20)
    with running(words, env, stderr=subprocess.PIPE), out.open("rb") as pipe:
        assert pa.ipc.open_stream(pipe).read_all().num_rows == 20
    assert out.is_fifo()


@pytest.mark.slow
def test_a_reader_that_goes_away_does_not_disturb_the_program(
    capturer: Capturer, tmp_path: Path
) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    words, env, log = words_to(
        capturer, "-", "--table", "kernel",
        launches=2000, rate=2000, print="out", ready=ready, until=until,
    )  # fmt: skip
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(words, env, **streams) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        pa.ipc.open_stream(process.stdout.buffer)
        process.stdout.close()
        wait_until(ready.exists)
        until.touch()
        said = process.stderr.read()
    assert process.returncode == 1
    assert "who read standard output has gone: the stream of kernel ends after" in said
    assert "the program was not disturbed" in said
    assert "Traceback" not in said
    assert "Exception" not in said
    # It ended well, and all that CUPTI emitted was taken from it.
    assert capturer.fakes.log(log).delivered(KERNEL) == 2000


def test_the_status_of_the_program_comes_before_that_of_the_reader(capturer: Capturer) -> None:
    words, env, _ = words_to(capturer, "-", "--table", "kernel", launches=100, status=7)
    with running(words, env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.read()
    assert process.returncode == 7


@pytest.mark.parametrize(
    ("out", "options", "message"),
    [
        ("-", [], "-o - takes one table"),
        ("x.arrows", [], "takes one table"),
        ("folder", ["--table", "kernel"], "--table goes with -o - or -o FILE.arrows"),
        ("-", ["--table", "kernels"], "there is no table 'kernels'"),
        ("/proc/none/x.arrows", ["--table", "kernel"], "/proc/none cannot be created"),
        ("/proc/none/x.duckdb", [], "/proc/none cannot be created"),
        ("-", ["--table", "kernel", "--max-size", "1MB"], "a pipe has no size"),
        ("run-%x", [], "-o does not know %x"),
        ("run-%", [], "-o does not know %"),
        ("run-%r", [], "none of RANK, OMPI_COMM_WORLD_RANK, PMIX_RANK"),
    ],
)
def test_what_cannot_be_asked_for(
    capturer: Capturer, tmp_path: Path, out: str, options: list[str], message: str
) -> None:
    marker = tmp_path / "ran"
    words, env, _ = words_to(capturer, out, *options, launches=1, ready=marker)
    for variable in LAUNCHERS["RANK"]:
        env.pop(variable, None)
    done = run(words, env, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert not marker.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["log1"]


# --- names


@pytest.mark.parametrize(
    ("template", "variables", "name"),
    [
        ("run-%r", {"RANK": "3", "SLURM_PROCID": "5"}, "run-3"),
        ("run-%r", {"SLURM_PROCID": "5"}, "run-5"),
        ("run-%r", {"OMPI_COMM_WORLD_RANK": "7", "SLURM_PROCID": "5"}, "run-7"),
        ("run-%h-100%%", {}, f"run-{socket.gethostname()}-100%"),
    ],
)
def test_names_with_percent_signs(
    capturer: Capturer, tmp_path: Path, template: str, variables: dict[str, str], name: str
) -> None:
    words, env, _ = words_to(capturer, tmp_path / template, launches=1)
    for variable in LAUNCHERS["RANK"]:
        env.pop(variable, None)
    done = run(words, env | variables)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / name / "kernel").is_dir()


def test_the_pid_in_a_name_is_that_of_the_capture(capturer: Capturer, tmp_path: Path) -> None:
    words, env, _ = words_to(capturer, tmp_path / "run-%p", launches=1)
    with running(words, env, stderr=subprocess.PIPE) as process:
        process.communicate(timeout=120)
    assert (tmp_path / f"run-{process.pid}" / "kernel").is_dir()


@pytest.mark.slow
def test_a_killed_collector_leaves_parts_that_can_be_recovered(
    capturer: Capturer, tmp_path: Path
) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    words, env, _ = words_to(
        capturer, tmp_path / "run.duckdb", launches=50, ready=ready, until=until
    )
    parts = tmp_path / "run.duckdb.parts"
    with subprocess.Popen(words, env=env, stderr=subprocess.PIPE) as process:
        wait_until(lambda: ready.exists() and table(parts, "kernel").num_rows == 50)
        process.send_signal(signal.SIGKILL)
        until.touch()
    etl = words[: words.index("capture")]
    assert run([*etl, "recover", str(parts)], env).returncode == 0
    done = run([*etl, "export", str(parts), "--to", "duckdb", str(tmp_path / "run.duckdb")], env)
    assert done.returncode == 0, done.stderr
    with cupti_etl.open(tmp_path / "run.duckdb") as trace:
        assert trace.sql("FROM kernel").count() == 50
