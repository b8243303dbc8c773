"""CONTRIBUTING says that a kind is one file and `make generate`; this does just that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

TOY = '''"""Runs of whole CUDA graphs."""

from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.spec import Kind
from cupti_etl.schema.types import correlation, i32, timestamp

KIND = Kind(
    table="toy_graph",
    activity=("GRAPH_TRACE",),
    struct="CUpti_ActivityGraphTrace2",
    doc="One row per toy.",
    columns=(
        C("start_ns", timestamp, "start", "When it began.", unit="ns", null=0),
        C("end_ns", timestamp, "end", "When it ended.", unit="ns", null=0),
        C("correlation_id", correlation, "correlationId", "The launch.", null=0),
        C("graph_id", i32, "graphId", "The graph."),
        C("end_device_id", i32, "endDeviceId", "Where it ended."),
    ),
)
'''
# Kind 51 at the size of CUPTI 12.3 and later, and at the size before.
PROGRAM = """
import json, struct, sys
from pathlib import Path
import pyarrow.parquet as pq
from cupti_etl.capture.decode import Decoder
from cupti_etl.capture.native import load
from cupti_etl.capture.segment import Process
from cupti_etl.sinks.parquet import write_part
import pyarrow as pa
ffi, lib = load()
rows = []
for stride, version in ((56, 130000), (48, 18)):
    decoder = Decoder()
    described = {"info": {"process_id": 7, "cupti_version": version}, "strides": {"51": stride},
                 "ring_full": {}}
    process = Process.loaded(decoder, described)
    record = struct.pack("<IIQQIIIIQII", 51, 11, 100, 250, 0, 42, 1, 7, 0, 3, 1)[:stride]
    process.decode(ffi.from_buffer("uint8_t[]", bytearray(record)), stride, 1)
    table = decoder.tables.index("toy_graph")
    path = Path(sys.argv[1], f"part-{stride}.parquet")
    write_part(path, "toy_graph", pa.Table.from_batches([decoder.take(table)]))
    rows += pq.read_table(path).to_pylist()
print(json.dumps(rows))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository's own files, with the toy kind in it."""
    copy = tmp_path_factory.mktemp("house")
    for name in ("cupti_etl", "native", "migrations", "docs/reference"):
        ignore = shutil.ignore_patterns("__pycache__", "_native")
        shutil.copytree(ROOT / name, copy / name, ignore=ignore)
    (copy / "cupti_etl/schema/kinds/toy_graph.py").write_text(TOY)
    return copy


def run(house: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=house,
        env={**os.environ, "PYTHONPATH": str(house)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_file_and_make_generate(house: Path, tmp_path: Path) -> None:
    written = run(house, "-m", "cupti_etl.schema.generate").split()
    assert "native/generated/kinds.inc" in written
    assert "docs/reference/tables.md" in written
    (migration,) = (name for name in written if name.startswith("migrations/"))
    assert "toy_graph" in (house / migration).read_text()
    assert run(house, "-m", "cupti_etl.schema.generate", "--check") == ""
    run(house, "native/build.py")
    first, second = json.loads(run(house, "-c", PROGRAM, str(tmp_path)))
    expected = {
        "process_id": 7,
        "start_ns": 100,
        "end_ns": 250,
        "correlation_id": 11,
        "graph_id": 42,
        "end_device_id": 3,
    }
    assert first == expected
    # Before CUPTI 12.3 the record was too short to say it.
    assert second == expected | {"end_device_id": None}
    assert "toy_graph" in run(house, "-m", "cupti_etl", "schema")
    assert "toy_graph" in (house / "docs/reference/tables.md").read_text()
