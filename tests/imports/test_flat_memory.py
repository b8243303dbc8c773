"""Memory does not grow with the file."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from imports.conftest import event

# Reading only: what the sink gathers for a part has a limit of its own.
READ = """
import resource, sys
from pathlib import Path
from cupti_etl.imports.detect import detect
rows = sum(batch.num_rows for _, batch in detect(Path(sys.argv[1])).batches())
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write_json(path: Path, events: int) -> None:
    # Names and arguments that are all different, as long texts would be kept for ever.
    args = {"External id": -1, "Input Dims": [[-1, -1]], "note": "NOTE"}
    one = json.dumps(event("cpu_op", "op NAME", -1, 1, **args))
    with path.open("w") as file:
        file.write('{"traceEvents": [')
        for i in range(events):
            made = (
                one.replace("-1", str(i)).replace("NAME", f"{i:050}").replace("NOTE", f"{i:0150}")
            )
            file.write((", " if i else "") + made)
        file.write("]}")


def write_sqlite(path: Path, rows: int) -> None:
    with closing(sqlite3.connect(path)) as con, con:
        con.execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid)")
        con.executemany(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, 16777217)",
            ((i, i + 1, f"range {i:0200}") for i in range(rows)),
        )


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_json, write_sqlite])
def test_four_times_the_file_in_the_same_memory(tmp_path: Path, write: object) -> None:
    peaks, sizes = [], []
    for rows in (150_000, 600_000):
        path = tmp_path / str(rows)
        write(path, rows)  # type: ignore[operator]
        done = subprocess.run(
            [sys.executable, "-c", READ, str(path)],
            capture_output=True,
            text=True,
            check=True,
            # The allocator that gives back what is free, whatever the threads' turns are.
            env={**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"},
        )
        found, peak = map(int, done.stdout.split())
        assert found >= 2 * rows
        peaks.append(peak)
        sizes.append(path.stat().st_size >> 20)
    # Allocators take a while until they have what they need, and keep it then.
    assert peaks[1] - peaks[0] < (sizes[1] - sizes[0]) * 2 / 3, (peaks, sizes)
