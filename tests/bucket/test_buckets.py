"""Captures that many hosts write into one trace, in a bucket or on a shared disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.captures import Capturer, running
from support.proxy import Proxy
from support.waiting import wait_until

import cupti_etl
from cupti_etl.errors import TraceError, UsageError
from cupti_etl.queries import small_tables
from cupti_etl.storage import bucket, disk

pytestmark = pytest.mark.slow


def words_to(capturer: Capturer, out: str, *options: str, **program: Any) -> Any:
    spool = capturer.folder / "spool"
    words, env, trace, _ = capturer.prepare("13.5.25", ["--spool", str(spool), *options], **program)
    words[words.index(str(trace))] = out
    cloud = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    return words, {**env, **cloud}, spool


def run(words: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=env, capture_output=True, text=True, timeout=300, check=False)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return run([sys.executable, "-m", "cupti_etl", *words], dict(os.environ))


def launches(trace: cupti_etl.Trace) -> int:
    (row,) = trace.sql("SELECT count(*) AS count FROM kernel")
    return int(row["count"])


def check_sums(trace: cupti_etl.Trace) -> None:
    """Emitted = stored + lost, and stored is what is there."""
    (row,) = trace.sql(
        "SELECT (SELECT sum(emitted) FROM process) AS emitted,"
        " (SELECT sum(stored) FROM process) AS stored,"
        " (SELECT coalesce(sum(records), 0) FROM loss WHERE NOT is_stored) AS lost,"
        " (SELECT sum(stored) FROM row_count WHERE process_id IS NOT NULL) AS counted"
    )
    assert row["emitted"] == row["stored"] + row["lost"], row
    assert row["stored"] == row["counted"], row
    for counted in trace.sql("FROM row_count WHERE process_id IS NOT NULL"):
        (there,) = trace.sql(
            f"SELECT count(*) AS rows FROM {counted['table_name']}"
            f" WHERE process_id = {counted['process_id']}"
        )
        assert there["rows"] == counted["stored"], counted


def test_two_captures_on_hosts_of_one_name_are_one_trace(capturer: Capturer, proxy: Proxy) -> None:
    words, env, spool = words_to(capturer, "s3://traces/run42", launches=300)
    for _ in range(2):
        done = run(words, env)
        assert done.returncode == 0, done.stderr
        assert "trace in s3://traces/run42/" in done.stderr
    assert not list(spool.iterdir())
    with cupti_etl.open("s3://traces/run42") as trace:
        assert len(trace.paths) == 2
        assert launches(trace) == 600
        check_sums(trace)
        (verdict,) = trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
        assert verdict["subject"] == "complete"
        said = str([list(trace.sql(f"FROM {name}")) for name in ("capture", "process", "loss")])
        assert os.environ["AWS_SECRET_ACCESS_KEY"] not in said + done.stderr
    asked = command("query", "kernel_summary", "s3://traces/run42", "--format", "json")
    assert asked.returncode == 0, asked.stderr
    assert sum(row["calls"] for row in json.loads(asked.stdout)) == 600


def test_columns_that_are_not_asked_for_are_not_read(
    capturer: Capturer, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_tables, "MOST_BYTES", 0)
    words, env, _ = words_to(capturer, "s3://traces/run42", launches=20000)
    assert run(words, env).returncode == 0
    with cupti_etl.open("s3://traces/run42") as trace:
        trace.sql("SELECT min(start_ns) FROM kernel LIMIT 0").arrow()  # the footers
        before = proxy.received
        trace.sql("SELECT max(grid_x) FROM kernel").arrow()
        few = proxy.received - before
        before = proxy.received
        trace.sql("SELECT max(COLUMNS(*)) FROM kernel").arrow()
        assert 0 < few < proxy.received - before


def test_a_bucket_that_is_away_at_the_end_is_told_and_the_rest_is_uploaded_later(
    capturer: Capturer, proxy: Proxy, tmp_path: Path
) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    words, env, spool = words_to(
        capturer, "s3://traces/run42", launches=300, ready=ready, until=until
    )
    with running(words, env, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        wait_until(ready.exists)
        proxy.is_gone = True
        until.touch()
        _, said = process.communicate(timeout=300)
    assert process.returncode == 1, said
    (left,) = spool.iterdir()
    assert f"cupti-etl upload {left}" in said
    proxy.is_gone = False
    later = command("upload", str(left))
    assert later.returncode == 0, later.stderr
    assert not left.exists()
    with cupti_etl.open("s3://traces/run42") as trace:
        assert launches(trace) == 300
        check_sums(trace)
    again = command("upload", str(left))
    assert (again.returncode, "nothing that is to be uploaded" in again.stderr) == (2, True)


def test_uploads_that_are_cut_leave_no_half_part(capturer: Capturer, proxy: Proxy) -> None:
    words, env, spool = words_to(capturer, "s3://traces/run42", launches=3000)
    # What is smaller arrives; the kernels do not.
    proxy.cut_after = 3000
    done = run(words, env)
    assert (done.returncode, proxy.cuts > 0) == (1, True), done.stderr
    proxy.cut_after = None
    bucket._LISTINGS.clear()
    root = bucket.Url("s3://traces/run42")
    assert all(each.read_bytes().endswith(b"PAR1") for each in root.glob("*/*/part-*.parquet"))
    (left,) = spool.iterdir()
    assert command("upload", str(left)).returncode == 0
    with cupti_etl.open(root) as trace:
        assert launches(trace) == 3000
        check_sums(trace)


def test_what_a_killed_capture_left_is_uploaded(
    capturer: Capturer, proxy: Proxy, tmp_path: Path
) -> None:
    ready, until = tmp_path / "ready", tmp_path / "until"
    words, env, spool = words_to(
        capturer, "s3://traces/run42", launches=300, ready=ready, until=until
    )
    with running(words, env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: sum(
            pq.read_metadata(part).num_rows for part in spool.glob("*/kernel/part-*.parquet")
        ) == 300)  # fmt: skip
        process.kill()
        process.wait()
        until.touch()
    (left,) = spool.iterdir()
    assert command("upload", str(left)).returncode == 0
    with cupti_etl.open("s3://traces/run42") as trace:
        assert launches(trace) == 300
        (verdict,) = trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
        assert verdict["subject"] != "complete"


def test_on_a_slow_network_rows_that_find_no_room_are_counted(
    capturer: Capturer, proxy: Proxy
) -> None:
    words, env, spool = words_to(
        capturer, "s3://traces/run42", "--spool-size", "1MiB", launches=30000
    )
    proxy.pause_s = 0.005
    most = 0

    def is_over() -> bool:
        nonlocal most
        most = max(most, disk.folder_bytes(spool))
        return process.poll() is not None

    with running(words, env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        wait_until(is_over)
    assert process.returncode in (0, 4)
    # Small tables are always taken.
    assert 0 < most < 1.5 * (1 << 20)
    assert not list(spool.iterdir())
    with cupti_etl.open("s3://traces/run42") as trace:
        rows = list(trace.sql("FROM loss WHERE cause = 'spool_full'"))
        assert rows
        assert launches(trace) < 30000
        check_sums(trace)


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("s3://nothing-here/run42", "cannot be written"),
        ("ftp://traces/run42", "is of a kind that is not known"),
        ("s3://", "names no bucket"),
        ("s3://me:a-key-that-nobody-says@traces/run42", "a user or a password"),
    ],
)
def test_where_nothing_can_be_written_nothing_is_started(
    capturer: Capturer, proxy: Proxy, out: str, said: str
) -> None:
    words, env, spool = words_to(capturer, out, launches=3)
    done = run(words, env)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert "a-key-that-nobody-says" not in done.stderr
    assert not spool.exists()


def test_a_bucket_that_cannot_be_read_is_a_sentence(proxy: Proxy) -> None:
    with pytest.raises(TraceError, match="there is no trace s3://traces/other"):
        cupti_etl.open("s3://traces/other")
    with pytest.raises(TraceError, match="s3://nothing-here/run42 cannot be read"):
        cupti_etl.open("s3://nothing-here/run42")
    proxy.is_gone = True
    with pytest.raises(TraceError, match="cannot be read"):
        cupti_etl.open("s3://traces/other")


def test_a_shared_disk_is_written_by_renaming(capturer: Capturer, tmp_path: Path) -> None:
    shared = tmp_path / "shared" / "run42"
    words, env, _ = words_to(capturer, f"file://{shared}", launches=300)
    for _ in range(2):
        done = run(words, env)
        assert done.returncode == 0, done.stderr
    assert not list(shared.rglob("*.tmp"))
    with cupti_etl.open(shared) as trace:
        assert launches(trace) == 600
        check_sums(trace)
    with cupti_etl.open(f"file://{shared}") as trace:
        assert launches(trace) == 600


@pytest.mark.parametrize(
    "url", ["s3://me@traces/run", "gs://me:key@traces/run", "abfs://a:k@b.c/r"]
)
def test_credentials_in_a_url_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="a user or a password") as caught:
        bucket.as_path(url)
    assert "@" not in str(caught.value) + str(caught.value.hint)


def test_azure_needs_the_name_of_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    bucket.file_system.cache_clear()
    with pytest.raises(UsageError, match="not the account") as caught:
        cupti_etl.open("abfs://traces/run42")
    assert caught.value.hint == "set AZURE_STORAGE_ACCOUNT"
