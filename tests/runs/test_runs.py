"""``cupti-etl runs``: what is found below a folder, kept beside it, and compared."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.on_terminal import OnTerminal
from support.rights import without_reading_all
from support.trace import as_table, write_part, write_trace

from cupti_etl.cli import cli
from cupti_etl.errors import TraceError
from cupti_etl.runs import catalogue as made
from cupti_etl.runs.answers import kernels, runs
from cupti_etl.runs.catalogue import NAME, catalogue

pytestmark = pytest.mark.slow

S = 10**9


def run(home: Path, name: str, begin_s: int, step_ns: int, **more: str) -> Path:
    """A run of ``train``, with six steps of one kernel each, which takes a tenth of a step."""
    at = begin_s * S
    markers = ["process_id thread_id marker_id event timestamp_ns name"]
    calls = ["process_id thread_id correlation_id domain name start_ns end_ns"]
    work = ["process_id device_id correlation_id start_ns end_ns name"]
    for n in range(6):
        start = at + n * step_ns
        end = start + step_ns
        markers += [f"1 5 {n} start {start} 'step {n}'", f"1 5 {n} end {end - 1} -"]
        calls += [f"1 5 {n} runtime cudaLaunchKernel {start} {start + 1}"]
        work += [f"1 0 {n} {start + 2} {start + 2 + step_ns // 10} _Za"]
    tables = {
        "capture": f"""capture_id start_ns end_ns command host user_name git_commit tags exit_status
            {begin_s} {at} {at + S} train node1 ada c0ffee '{{"model":"llama"}}' 0""",
        "process": f"process_id pid rank host state start_ns\n 1 11 0 node1 finished {at}",
        "device": "process_id device_id device_uuid name\n 1 0 GPU-a H200",
        "kernel_name": "mangled demangled short\n _Za a(int) a",
        "marker": "\n".join(markers),
        "api_call": "\n".join(calls),
        "kernel": "\n".join(work),
    }
    return write_trace(home / name, **{**tables, **more})


def two(home: Path) -> Path:
    run(home, "a/second", 200, 1100)
    run(home, "first", 100, 1000)
    return home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return two(tmp_path)


@pytest.fixture(scope="module")
def catalogued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same two, with their catalogue, for those who copy it."""
    home = two(tmp_path_factory.mktemp("catalogued"))
    catalogue(home)
    return home


@pytest.fixture
def known(tmp_path: Path, catalogued: Path) -> Path:
    """The same two, which need not be opened any more."""
    return Path(shutil.copytree(catalogued, tmp_path / "known"))


def rows(home: Path) -> list[dict[str, Any]]:
    table, why_not = catalogue(home)
    assert why_not == ""
    found: list[dict[str, Any]] = runs(table).table.to_pylist()
    return found


def test_runs_are_listed_by_their_beginning(home: Path) -> None:
    first, second = rows(home)
    assert (first["run"], second["run"]) == ("first", "a/second")
    assert (first["duration_ns"], first["command"], first["hosts"]) == (S, "train", "node1")
    assert (first["user_name"], first["git_commit"]) == ("ada", "c0ffee")
    assert (first["ranks"], first["gpus"], first["kernels"], first["exit_status"]) == (1, 1, 6, 0)
    assert (first["steps"], first["step_ns"], first["step_change_pct"]) == (6, 1000, None)
    assert second["step_ns"] == 1100
    assert second["step_change_pct"] == pytest.approx(10)


def test_a_step_that_all_ranks_take_counts_once(tmp_path: Path) -> None:
    run(tmp_path, "one", 100, 1000)
    run(tmp_path, "two", 100, 1000)
    two = tmp_path / "two"
    for table in ("process", "device", "marker", "api_call", "kernel"):
        part = next((two / table).glob("part-*.parquet"))
        rank1 = pq.read_table(part)
        at = rank1.column_names.index("process_id")
        field = rank1.schema.field(at)
        rank1 = rank1.set_column(at, field, pa.array([2] * rank1.num_rows, field.type))
        write_part(two / table / "part-000002.parquet", rank1)
    one, both = sorted(rows(tmp_path), key=lambda row: str(row["run"]))
    assert (both["kernels"], both["steps"]) == (12, 6)
    assert one["steps"] == 6


def test_a_run_without_a_date_has_none(known: Path) -> None:
    run(known, "dated", 2_000_100, 1000)
    # Some exports of nsys have times since the recording began, and nothing else.
    assert [row["started"] for row in rows(known)] == [None, None, "1970-01-24 03:35:00Z"]


def test_kernels_of_the_first_and_the_last(known: Path) -> None:
    run(known, "third", 300, 2000, capture="start_ns end_ns command\n 300000000000 - other")
    table, _ = catalogue(known)
    (train, other) = sorted(
        kernels(table).table.to_pylist(), key=lambda row: str(row["command"]), reverse=True
    )
    assert (train["name"], train["demangled"], train["runs"]) == ("a", "a(int)", 2)
    assert (train["first_mean_ns"], train["last_mean_ns"]) == (100, 110)
    assert train["change_pct"] == pytest.approx(10)
    assert (train["first_run"], train["last_run"]) == ("first", "a/second")
    assert (other["runs"], other["change_pct"]) == (1, None)


def test_runs_of_unknown_commands_are_not_compared(known: Path) -> None:
    for name, begin in (("x", 300), ("y", 400)):
        told = f"start_ns end_ns command\n {begin}000000000 - -"
        run(known, name, begin, begin, capture=told)
    assert [row["step_change_pct"] for row in rows(known)[2:]] == [None, None]
    assert kernels(catalogue(known)[0]).table.num_rows == 3


def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that are opened from now on."""
    found: list[str] = []
    real = made._row
    monkeypatch.setattr(made, "_row", lambda each: found.append(each.name) or real(each))
    return found


def test_only_what_is_new_is_opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = opened(monkeypatch)
    before = rows(home)
    assert sorted(names) == ["a/second", "first"]
    assert rows(home) == before
    assert len(names) == 2
    run(home, "third", 300, 1000)
    assert rows(home)[:2] == before
    assert names[2:] == ["third"]
    # One that has grown is new; one that is gone leaves no row.
    write_part(home / "third/memcpy/part-000001.parquet", as_table("memcpy", ""))
    (home / "first").rename(home / ".aside")
    assert [row["run"] for row in rows(home)] == ["a/second", "third"]
    assert names[3:] == ["third"]
    assert duckdb.sql(f"SELECT count(*) FROM '{home / NAME}'").fetchall() == [(2,)]


@pytest.mark.parametrize("content", [b"", b"PAR1 something PAR1"])
def test_a_damaged_catalogue_is_made_anew(known: Path, content: bytes) -> None:
    before = rows(known)
    (known / NAME).write_bytes(content)
    assert rows(known) == before
    assert duckdb.sql(f"SELECT count(*) FROM '{known / NAME}'").fetchall() == [(2,)]


def test_a_catalogue_of_another_version_is_made_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = made.schema().with_metadata({made._MADE_BY: b"another"})
    with monkeypatch.context() as patch:
        patch.setattr(made, "schema", lambda: other)
        rows(home)
    names = opened(monkeypatch)
    rows(home)
    assert len(names) == 2


def test_why_a_trace_cannot_be_read_is_told(known: Path) -> None:
    (known / "first/kernel/part-000000.parquet").write_bytes(b"no parquet")
    done = CliRunner().invoke(cli, ["runs", str(known), "--format=csv"])
    assert "part-000000.parquet is damaged" in done.stderr


def test_a_damaged_trace_is_a_row(known: Path) -> None:
    (known / "first/kernel/part-000000.parquet").write_bytes(b"no parquet")
    good, bad = rows(known)
    assert (good["run"], good["kernels"], good["problem"]) == ("a/second", 6, None)
    assert (bad["run"], bad["verdict"], bad["step_ns"]) == ("first", "cannot be read", None)
    assert "part-000000.parquet is damaged" in bad["problem"]


def test_a_folder_that_cannot_be_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cupti_etl.storage.disk.write", full)
    table, why_not = catalogue(home)
    assert (table.num_rows, why_not) == (2, "No space left on device")
    assert not (home / NAME).exists()


def test_what_many_hosts_wrote_is_one_run(tmp_path: Path) -> None:
    for host in ("node1", "node2"):
        path = run(
            tmp_path / "job",
            host,
            100,
            1000,
            capture=f"capture_id start_ns end_ns host command\n {host[-1]} 0 5 {host} train",
            process=f"process_id pid rank host state\n {host[-1]} 1 {host[-1]} {host} finished",
            kernel=f"process_id device_id start_ns end_ns name\n {host[-1]} 0 10 20 k",
            # Nothing runs on the second of each.
            device=f"""process_id device_id device_uuid name
                {host[-1]} 0 GPU-{host} H200\n {host[-1]} 1 GPU-{host}-1 H200""",
        )
        (path / "host.txt").write_text(host)
    (only,) = rows(tmp_path)
    assert (only["run"], only["hosts"]) == ("job", "node1, node2")
    assert (only["ranks"], only["gpus"]) == (2, 2)


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is no folder"):
        catalogue(tmp_path / "nowhere")
    assert rows(tmp_path) == []
    alone = run(tmp_path, "alone", 100, 1000)
    assert [row["run"] for row in rows(alone)] == ["alone"]
    assert not (alone / NAME).exists()


def asked(*words: str) -> tuple[str, str]:
    done = CliRunner().invoke(cli, ["runs", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout, done.stderr


def test_the_command(home: Path) -> None:
    out, err = asked(str(home), "--format", "json")
    assert [row["run"] for row in json.loads(out)] == ["first", "a/second"]
    assert "reading first, 2 of 2" in err
    out, err = asked(str(home), "--where", "tags->>'model' = 'llama' AND step_ns > 1000")
    assert "a/second" in out
    assert "first" not in out
    assert "reading" not in err
    out, _ = asked(str(home), "--kernels", "--format", "json", "--where", "run = 'first'")
    (row,) = json.loads(out)
    assert (row["runs"], row["last_mean_ns"]) == (1, 100)
    out, err = asked(str(home), "--kernels", "--format", "csv", "--where", "run = 'none'")
    assert len(out.splitlines()) == 1
    assert err == "cupti-etl: --where leaves none of 2 runs.\n"
    (home / "empty").mkdir()
    with pytest.raises(TraceError, match="there is no trace below") as none:
        asked(str(home / "empty"))
    assert none.value.hint.startswith("give the folder below which")


def test_a_folder_that_may_not_be_looked_into_is_passed_over(home: Path) -> None:
    (home / "shut").mkdir(mode=0o000)
    asking = [sys.executable, "-m", "cupti_etl", "runs", str(home), "--format", "csv"]
    done = subprocess.run(without_reading_all(asking), capture_output=True, text=True, check=True)
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [
        "run", '"first"', '"a/second"'
    ]  # fmt: skip


def test_a_terminal_gets_one_line_of_what_is_read(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = OnTerminal()
    with monkeypatch.context() as inside:
        inside.setattr(sys, "stderr", shown)
        cli.main(["runs", str(home), "--format", "json"], standalone_mode=False)
    text = shown.getvalue()
    assert "reading first, 2 of 2" in text
    assert "\n" not in text
    assert text.endswith("\r\x1b[K")
