"""Files of PyTorch and nsys with a few things changed: rows, or an error that says what to do.

Each case follows from its number.  ``python tests/imports/test_mutated_files.py FIRST LAST`` tries
others, and prints those that fail.
"""

from __future__ import annotations

import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from imports.conftest import event
from imports.hostile_nsys import ODD_COLUMNS, TABLES

from cupti_etl.capture.names import KernelNames
from cupti_etl.errors import ForeignError
from cupti_etl.imports.detect import detect
from cupti_etl.schema.arrow import arrow_schema

PLACE = {"device": 0, "context": 1, "stream": 7, "correlation": 9}
NUMBERS: tuple[Any, ...] = (0, -1, 1, 2**31, -(2**31) - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1)
NUMBERS += (-(2**63), 1e308, -1e308, 1e-320, float("inf"), 0.1, 1e15, 1e18, 9.3e18)
TEXTS = ("", "x", "-1", "1e15", "nan", "\0", "\u00e9" * 10, "a" * 5000, "1" * 5000)
TEXTS += ("_Z1f" + "P" * 900, "[memory]", "Memcpy PtoP", "Memset (")
ODD_JSON: tuple[Any, ...] = (None, True, *NUMBERS, *TEXTS, 2**63, 2**64, 10**400, float("nan"))
ODD_JSON += ("\ud800", "\udfff\ud800", [], [[1]], [None, "x", 2**70], {}, {"a": 1})
ODD_JSON += ([{"id": 0, "name": "\ud800"}], [{"id": 2**40}], "X", "i", "M", "s", "kernel", "Trace")
ODD_SQL: tuple[Any, ...] = (None, *NUMBERS, *TEXTS, b"\xff\xfe", b"")

KINETO = {
    "baseTimeNanoseconds": 1_700_000_000_000_000_000,
    "distributedInfo": {"rank": 0, "world_size": 2},
    "host_name": "node",
    "deviceProperties": [
        {"id": 0, "name": "H200", "totalGlobalMem": 1 << 37, "computeMajor": 9, "numSms": 132}
    ],
    "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python"}},
        event("cpu_op", "aten::mm", 1e3, 50, **{"External id": 3, "Input Dims": [[2, 3]]}),
        event("python_function", "m.py(1): f", 1e3, 80),
        event("cuda_runtime", "cudaLaunchKernel", 1010.5, 5, cbid=211, correlation=9),
        event("kernel", "_ZN2at4fillIfEEvT_", 1020, 30, grid=[4, 1, 2], block=[128, 1, 1], **PLACE),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1050, 3, bytes=64, **PLACE),
        event("gpu_memcpy", "Memcpy PtoP", 1060, 3, bytes=64, fromDevice=0, toDevice=1, **PLACE),
        event("gpu_memset", "Memset (Device)", 1070, 3, bytes=64, **PLACE),
        event("cuda_sync", "Stream Wait Event", 1080, 3, wait_on_cuda_event_id=5, **PLACE),
        event("overhead", "CUPTI Instrumentation", 1085, 4, pid=-1),
        {**event("cpu_instant_event", "[memory]", 1090, 0, Bytes=-512, Addr=2**64 - 1), "ph": "i"},
        {"ph": "s", "cat": "ac2g", "id": 9, "pid": 7, "tid": 7, "ts": 1010},
        event("Trace", "PyTorch Profiler (0)", 1e3, 99, pid="Spans", tid="PyTorch Profiler"),
    ],
}


def a_kineto_file(path: Path, dice: random.Random) -> None:
    """Values of other types and sizes, events that come and go, damaged bytes."""
    file = json.loads(json.dumps(KINETO))
    events = file["traceEvents"]
    for _ in range(dice.choice((1, 1, 2, 4, 8))):
        inside = [each for each in events if isinstance(each, dict)]
        some = dice.choice(inside)
        args = some.get("args")
        which = dice.randrange(8)
        if which == 0:
            events.insert(dice.randrange(len(events)), dice.choice((dice.choice(ODD_JSON), some)))
        elif which == 1 and len(inside) > 1:
            events.remove(some)
        elif which == 2:
            name = dice.choice([name for name in file if name != "traceEvents"])
            file[name] = dice.choice(ODD_JSON)
        elif which < 6 and isinstance(args, dict) and args:
            args[dice.choice(list(args))] = dice.choice(ODD_JSON)
        else:
            some[dice.choice([*some, "args", "ph", "cat"])] = dice.choice(ODD_JSON)
    text = json.dumps(file)
    if dice.random() < 0.1:
        depth = dice.choice((100, 1000, 100_000))
        text = text.replace(dice.choice(("1", '"node"')), "[" * depth + "]" * depth, 1)
    _write(path, text.encode(), dice, b'{}[]",:\\0-9eE.u\xff\0')


def an_nsys_file(path: Path, dice: random.Random) -> None:
    """Values, columns and declarations that no nsys writes, tables that are missing, damage."""
    path.unlink(missing_ok=True)
    hit = dice.sample(list(TABLES), dice.choice((0, 1, 1, 2, 4)))
    with closing(sqlite3.connect(path)) as con, con:
        con.execute(f"PRAGMA page_size = {dice.choice((512, 1024, 4096, 65536))}")
        for table, (names, values) in TABLES.items():
            columns, rows = names.split(), [list(row) for row in values]
            which = dice.randrange(8) if table in hit else -1
            if which == 0:
                continue
            if which in (1, 2, 3):
                for _ in range(dice.choice((1, 2, 5))):
                    dice.choice(rows)[dice.randrange(len(columns))] = dice.choice(ODD_SQL)
            elif which == 4:
                dice.shuffle(columns)
            elif which == 5:
                columns[0] = dice.choice(("a b", 'q"q', "\u00e9", "x]y"))
            declared = [f'"{name.replace(chr(34), chr(34) * 2)}"' for name in columns]
            if which == 6:
                declared[dice.randrange(len(columns))] += f" {dice.choice(ODD_COLUMNS)}"
            with suppress(sqlite3.Error):
                con.execute(f"CREATE TABLE {table} ({', '.join(declared)})")
                marks = ", ".join("?" * len(columns))
                con.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
                if which == 7:
                    con.execute(f"ALTER TABLE {table} DROP COLUMN {dice.choice(columns)}")
                    con.execute("ALTER TABLE " + table + " ADD COLUMN bytes DEFAULT 5")
    _write(path, path.read_bytes(), dice, b"\xff\x7f\0")


def _write(path: Path, whole: bytes, dice: random.Random, likely: bytes) -> None:
    """The file, half of the time with some bytes changed, gone, or there twice."""
    bits = bytearray(whole)
    for _ in range(dice.choice((0, 0, 0, 1, 2, 10))):
        # Where headers and names of tables are, or anywhere.
        at = dice.randrange(dice.choice((len(bits), min(len(bits), 4096))))
        other = dice.randrange(len(bits))
        which = dice.randrange(5)
        if which < 2:
            bits[at] = dice.choice((dice.randrange(256), dice.choice(likely)))
        elif which == 2:
            bits[at] ^= 1 << dice.randrange(8)
        elif which == 3:
            bits[at : at + 16] = bits[other : other + dice.choice((4, 16))]
        elif len(bits) > 200:
            del bits[at : at + dice.choice((1, 10, 100))]
    path.write_bytes(bits)


def read(path: Path) -> None:
    """All that an import asks of a file."""
    source, names = detect(path), KernelNames()
    for table, batch in source.batches():
        batch.validate(full=True)
        if table == "kernel":
            names.add(name for name in batch["name"].to_pylist() if name is not None)
    names.close()
    for table, rows in (
        ("process", source.process_rows()),
        ("loss", [loss.row() for loss in source.losses()]),
        ("import_skipped", source.skipped.rows(str(path))),
        ("kernel_name", names.take()),
    ):
        pa.RecordBatch.from_pylist(rows, arrow_schema(table)).validate(full=True)


def attempt(make: Callable[[Path, random.Random], None], number: int, path: Path) -> bool:
    """Whether a case could be read; anything but an error for people is passed on."""
    make(path, random.Random(number))
    said: ForeignError | None = None
    try:
        read(path)
    except ForeignError as error:
        said = error
    assert said is None or said.hint or "cannot be read" in said.message
    return said is None


@pytest.mark.slow
@pytest.mark.parametrize(("make", "cases"), [(a_kineto_file, 150), (an_nsys_file, 100)])
def test_each_is_rows_or_an_error_for_people(
    tmp_path: Path, make: Callable[[Path, random.Random], None], cases: int
) -> None:
    found = [attempt(make, number, tmp_path / "file") for number in range(cases)]
    # Neither is all of it refused, nor does nothing hurt.
    assert cases // 5 < sum(found) < cases - cases // 10


@pytest.mark.parametrize("number", [1146, 2120, 5058])
def test_those_that_were_found_by_hand(tmp_path: Path, number: int) -> None:
    """Names of members with an escape that is none; a pid of 5,000 digits."""
    attempt(a_kineto_file, number, tmp_path / "file")


@pytest.mark.parametrize("member", ["distributedInfo", "deviceProperties", "host_name"])
@pytest.mark.parametrize(
    "value",
    ["[" * 200_000 + "]" * 200_000, '"\\ud800"', '[{"id": 0, "name": "\\udfff"}]', "9" * 5000],
)
def test_members_beside_the_events(tmp_path: Path, member: str, value: str) -> None:
    file = tmp_path / "t.json"
    text = json.dumps({**KINETO, member: "HERE"}).replace('"HERE"', value)
    file.write_text(text)
    read(file)
    source = detect(file)
    assert sum(table == "kernel" for table, _ in source.batches()) == 1
    said = [row for row in source.skipped.rows("") if row["what"] == f"member {member}"]
    assert len(said) == (value[-1] in "]9" and "id" not in value)


def main(first: int, last: int) -> None:
    """Try cases, and print what fails."""
    with tempfile.TemporaryDirectory() as folder:
        for make in (a_kineto_file, an_nsys_file):
            found = 0
            for number in range(first, last):
                try:
                    found += attempt(make, number, Path(folder, "file"))
                except Exception as error:
                    print(make.__name__, number, repr(error)[:150], flush=True)
            print(make.__name__, f"{found} of {last - first} were read")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
