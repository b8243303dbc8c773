"""CONTRIBUTING says that a kind is one file and `make generate`; this does just that."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from support.compilers import not_optimizing

from cupti_etl.schema.kinds import KINDS
from tools.codegen.cdecl import kinds_inc
from tools.codegen.headers import load_facts

ROOT = Path(__file__).parents[2]

TOY = '''"""Preemptions of kernels, as a toy."""

from cupti_etl.schema.spec import NO_FIELD, Kind
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import i32, i64, timestamp

KIND = Kind(
    table="toy",
    activity=("PREEMPTION",),
    struct="CUpti_ActivityPreemption",
    doc="One row per toy.",
    fields=NO_FIELD,
    columns=(
        C("timestamp_ns", timestamp, "timestamp", "When it happened.", unit="ns", null=0),
        C("grid_id", i64, "gridId", "What was stopped."),
        C("block_x", i32, "blockX", "Where."),
        C("block_z", i32, "blockZ", "Where else."),
    ),
)
'''
# At its whole size, and without its last member, as an older CUPTI would write it.
PROGRAM = """
import json, struct, sys
from pathlib import Path
import pyarrow.parquet as pq
from cupti_etl.capture.decoder import Decoder
from cupti_etl.native.loader import load
from cupti_etl.capture.segment import Process
from cupti_etl.storage.part import write_part
import pyarrow as pa
ffi, lib = load()
rows = []
for stride, version in ((40, 130000), (32, 18)):
    decoder = Decoder()
    described = {"info": {"process_id": 7, "cupti_version": version}, "strides": {"19": stride},
                 "ring_full": {}}
    process = Process.loaded(decoder, described)
    record = struct.pack("<IIQQIIII", 19, 1, 100, 250, 9, 11, 13, 0)[:stride]
    process.decode(ffi.from_buffer("uint8_t[]", bytearray(record)), stride, 1)
    table = decoder.tables.index("toy")
    path = Path(sys.argv[1], f"part-{stride}.parquet")
    write_part(path, "toy", pa.Table.from_batches([decoder.take(table)]))
    rows += pq.read_table(path).to_pylist()
print(json.dumps(rows))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository's own files, with the toy kind in it."""
    copy = tmp_path_factory.mktemp("house")
    docs = ("docs/reference", "docs/measurements")
    for name in ("cupti_etl", "native", "tools", "migrations", *docs):
        ignore = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / name, copy / name, ignore=ignore)
    (copy / "cupti_etl/schema/kinds/toy.py").write_text(TOY)
    return copy


def run(house: Path, *words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=house,
        env={**os.environ, "PYTHONPATH": str(house), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_one_file_and_make_generate(house: Path, tmp_path: Path) -> None:
    written = run(house, "-m", "tools.codegen").split()
    assert "native/generated/kinds.inc" in written
    assert "docs/reference/tables.md" in written
    (migration,) = (name for name in written if name.startswith("migrations/"))
    assert "toy" in (house / migration).read_text()
    assert run(house, "-m", "tools.codegen", "--check") == ""
    run(house, "native/build.py", CC=not_optimizing(tmp_path / "cc"))
    first, second = json.loads(run(house, "-c", PROGRAM, str(tmp_path)))
    expected = {
        "process_id": 7,
        "timestamp_ns": 100,
        "grid_id": 250,
        "block_x": 9,
        "block_z": 13,
    }
    assert first == expected
    assert second == expected | {"block_z": None}
    assert "toy" in run(house, "-m", "cupti_etl", "schema")
    assert "toy" in (house / "docs/reference/tables.md").read_text()


def test_the_example_in_contributing_can_be_followed() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    example = re.search(r"^   ```python\n(.*?)^   ```", text, re.DOTALL | re.MULTILINE)
    assert example is not None
    names: dict[str, Any] = {}
    exec(textwrap.dedent(example[1]), names)
    assert names["KIND"].table in kinds_inc((*KINDS, names["KIND"]), load_facts())
    assert f"`{names['KIND'].table}.py`" in text
