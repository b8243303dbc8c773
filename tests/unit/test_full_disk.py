"""A trace that cannot be written says so, in words and by its exit status, and ends."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import cupti_etl

RECORDING = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
# Room for no table; for the small ones, but not for the kernels.
NOTHING_FITS, SMALL_FIT = 2_000, 40_000
# Not a preexec_fn: forking while there are threads is a warning from Python 3.12 on. Bytecode that
# is cut off is kept, too, and nothing that imports the module would start from then on.
LIMITED = """
import resource, runpy, sys
sys.dont_write_bytecode = True
size = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
runpy.run_module("cupti_etl", run_name="__main__")
"""


def replay(out: Path, file_size: int) -> subprocess.CompletedProcess[str]:
    """A replay whose files cannot grow beyond a size."""
    return limited(file_size, "replay", str(RECORDING), "-o", str(out))


def limited(file_size: int, *words: str) -> subprocess.CompletedProcess[str]:
    """A command whose files cannot grow beyond a size; writing more fails with EFBIG."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(file_size), *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("file_size", [NOTHING_FITS, SMALL_FIT])
def test_parts_that_cannot_be_written(tmp_path: Path, file_size: int) -> None:
    done = replay(tmp_path / "trace", file_size)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert f"what was written before is in {tmp_path / 'trace'}" in done.stderr
    assert "Traceback" not in done.stderr
    assert "rows; trace in" not in done.stderr
    # A part is there whole or not at all.
    for part in tmp_path.rglob("*.parquet"):
        assert part.read_bytes()[-4:] == b"PAR1"


@pytest.mark.slow
def test_a_trace_without_its_rows_does_not_call_itself_complete(tmp_path: Path) -> None:
    replay(tmp_path / "trace", SMALL_FIT)
    with cupti_etl.open(tmp_path / "trace") as trace:
        assert trace.sql("FROM kernel").arrow().num_rows == 0
        (verdict,) = (
            trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
            .arrow()
            .to_pylist()
        )
    assert verdict["subject"] != "complete"


def test_an_import_that_finds_no_room_says_that_nothing_is_left(tmp_path: Path) -> None:
    out = tmp_path / "trace"
    done = limited(NOTHING_FITS, "import", str(RECORDING), "-o", str(out))
    assert done.returncode == 1
    what, todo = done.stderr.splitlines()[-2:]
    assert what.startswith("cupti-etl: the trace cannot be written: ")
    assert "File too large" in what
    assert not what.startswith("cupti-etl: the trace cannot be written: [Errno")
    assert todo == "  nothing is left of it; make room and import again"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["chrome", "duckdb", "perfetto", "csv"])
def test_an_export_that_finds_no_room_says_which_file(tmp_path: Path, form: str) -> None:
    assert replay(tmp_path / "trace", resource.RLIM_INFINITY).returncode == 0
    table = ["--table", "kernel"] if form == "csv" else []
    out = tmp_path / f"exported.{form}"
    words = ["export", str(tmp_path / "trace"), "--to", form, *table, str(out)]
    done = limited(SMALL_FIT, *words)
    assert done.returncode == 1
    what, todo = done.stderr.splitlines()[-2:]
    assert what.startswith(f"cupti-etl: cannot write {out}: ")
    assert "migrated" not in what
    assert todo == "  check the permissions and the free space of the folder"
    assert not out.exists()


# Prints what came of each size that is too small for trace.duckdb.
WRITE = """
import resource, sys
sys.dont_write_bytecode = True
from cupti_etl.errors import EtlError
from cupti_etl.queries.trace_duckdb import write_trace_duckdb
for size in (4096 << i for i in range(12)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        write_trace_duckdb(sys.argv[1])
        break
    except EtlError as error:
        print(type(error).__name__, error.exit_code, error.message.splitlines()[0])
"""


@pytest.mark.slow
def test_trace_duckdb_that_cannot_be_written(tmp_path: Path) -> None:
    out = tmp_path / "trace"
    assert replay(out, resource.RLIM_INFINITY).returncode == 0
    (out / "trace.duckdb").unlink()
    done = subprocess.run(
        [sys.executable, "-c", WRITE, str(out)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    errors = done.stdout.splitlines()
    assert len(errors) > 3
    wanted = f"TraceError 1 cannot write {out / 'trace.duckdb'}"
    assert [error for error in errors if not error.startswith(wanted)] == []
    files = sorted(path.name for path in out.iterdir() if path.is_file())
    assert files == ["manifest.json", "schema.json", "trace.duckdb"]
