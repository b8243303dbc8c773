"""Writes tests/data/schema_<revision>.duckdb.gz: a small self-contained file of the present schema.

Run it when a migration is added, and before the first release when the baseline is made anew::

    .venv/bin/python tests/data/make_duckdb.py

Files of earlier revisions stay as they are: later versions are tested on what they once wrote.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

ROWS = {
    "capture": "capture_id start_ns end_ns exit_status\n 7 0 1000 0",
    "process": "process_id pid host state emitted stored\n 1 100 node1 finished 4 4",
    "device": "process_id device_id device_uuid name tpcs\n 1 0 GPU-1 H200 66",
    "kernel": "process_id device_id correlation_id start_ns end_ns name\n"
    " 1 0 11 10 30 _Z1av\n 1 0 12 40 - _Z1bv",
    "api_call": "process_id correlation_id start_ns end_ns domain name\n"
    " 1 11 5 8 runtime cudaLaunchKernel_v7000",
    "kernel_name": 'mangled demangled short\n _Z1av "a()" a\n _Z1bv "b()" b',
}


def make(folder: Path) -> Path:
    """Write the file into a folder, and return its path."""
    from support.trace import write_trace

    import cupti_etl
    from cupti_etl.render.duckdb_file import export_duckdb
    from cupti_etl.schema.revisions import newest

    path = folder / f"schema_{newest()}.duckdb"
    with cupti_etl.open(write_trace(folder / "run", **ROWS)) as trace:
        export_duckdb(trace, path)
    return path


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = make(Path(folder))
        target = HERE / f"{made.name}.gz"
        target.write_bytes(gzip.compress(made.read_bytes(), mtime=0))
        print(target, target.stat().st_size)
