"""What finds no room in memory: where it is put, and that nothing of it stays."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.errors import MemoryLimitError
from cupti_etl.queries.failure import translate

KERNEL = "start_ns end_ns name\n 0 10 a"
SETTINGS = {"memory_limit": "60MB", "threads": "1"}
# More than that many bytes have to be sorted.
SORTED = "SELECT n, row_number() OVER (ORDER BY hash(n)) AS place FROM range(4000000) AS all_of(n)"
WHERE = "SELECT current_setting('temp_directory') AS folder"


def folder_of(trace: cupti_etl.Trace) -> Path:
    return Path(next(iter(trace.sql(WHERE)))["folder"])


def test_it_is_put_into_a_folder_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    path = write_trace(tmp_path / "run", kernel=KERNEL)
    with cupti_etl.open(path, settings=SETTINGS) as one, cupti_etl.open(path) as other:
        folder = folder_of(one)
        assert folder.parent == Path(tempfile.gettempdir())
        assert not folder.exists(), "it is made when it is needed"
        assert folder_of(other) != folder
        found = one.sql(f"SELECT max(place) AS n FROM ({SORTED})").arrow()
        assert found["n"].to_pylist() == [4000000]
        assert folder.exists(), "nothing had to be put there"
    assert not folder.exists()
    assert not [*here.iterdir()]


@pytest.mark.parametrize("sorts", [True, False])
def test_nothing_of_it_stays_when_a_command_ends(tmp_path: Path, *, sorts: bool) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    path = write_trace(tmp_path / "run", kernel=KERNEL)
    statement = f"SET memory_limit='60MB'; SET threads=1; SELECT max(place) AS n FROM ({SORTED})"
    what = ["sql", path, statement] if sorts else ["query", "kernel_summary", path]
    done = subprocess.run(
        [sys.executable, "-m", "cupti_etl", *what],
        env={"TMPDIR": str(temporary)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert ("4000000" in done.stdout.replace(",", "")) == sorts
    assert not [*temporary.iterdir()]


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)],
)
def test_nothing_of_it_stays_when_a_command_is_ended(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    path = write_trace(tmp_path / "run", kernel=KERNEL)
    longer = SORTED.replace("4000000", "400000000")
    statement = f"SET memory_limit='60MB'; SET threads=1; SELECT max(place) AS n FROM ({longer})"
    process = subprocess.Popen(
        [sys.executable, "-m", "cupti_etl", "sql", path, statement],
        env={"TMPDIR": str(temporary)},
        # nohup, and a shell in the background, have tests ignore it.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    try:
        while not [*temporary.glob("*/*")]:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait() == status
    finally:
        process.kill()
    assert not [*temporary.iterdir()]


def test_who_finds_no_room_on_disk_is_told_where_it_is_looked_for(tmp_path: Path) -> None:
    with cupti_etl.open(write_trace(tmp_path / "run", kernel=KERNEL), settings=SETTINGS) as opened:
        opened.sql("SET GLOBAL max_temp_directory_size='1MB'")
        with pytest.raises(MemoryLimitError) as error:
            opened.sql(f"SELECT max(place) AS n FROM ({SORTED})").arrow()
    assert error.value.hint.startswith("set TMPDIR to a folder with more room")
    # As it is said by a file system that holds less than it says.
    full = 'IO Error: Could not write file "/t/duckdb_temp_4_0.tmp": No space left on device'
    assert translate(duckdb.IOException(full), []).hint == error.value.hint


def test_a_trace_opens_where_the_system_has_no_such_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    with cupti_etl.open(write_trace(tmp_path / "run", kernel=KERNEL)) as opened:
        assert opened.query("kernel_summary").count() == 1
