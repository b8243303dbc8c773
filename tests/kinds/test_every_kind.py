"""Every column of every kind, over the releases in which its record changed.

Records are filled with random bytes; what each column must be is read from them with
``struct`` at the places that ``layouts.json`` gives.  Those are facts of NVIDIA's public
headers, taken from 16 releases and not from our own specification.
"""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.segment import STRINGS, Process
from cupti_etl.native.loader import load
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.spec import Column, Kind
from tools.codegen.headers import load_facts

LAYOUTS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("layouts.json").read_text()
)
ENUMERATORS = load_facts()["enumerators"]
API_VERSION = {
    "11.8": 18,
    "12.0": 18,
    "12.1": 18,
    "12.2": 20,
    "12.3": 21,
    "12.4": 22,
    "12.5": 23,
    "12.6": 24,
    "12.8": 26,
    "12.9": 28,
}
TEXT = "_Z3fooPf"


def api_version(release: str) -> int:
    major, minor = release.split(".")[:2]
    return API_VERSION.get(f"{major}.{minor}") or int(major) * 10000 + int(minor) * 100


def text_entry(text: bytes) -> tuple[int, bytes]:
    """A string's key and its entry as the injector writes it; see ``etl/strings.h``."""
    mask = (1 << 64) - 1

    def fold(a: int, b: int) -> int:
        product = (a * b) & ((1 << 128) - 1)
        return (product & mask) ^ (product >> 64)

    key = 0x9E3779B97F4A7C15 ^ len(text)
    whole, rest = len(text) // 8 * 8, text[len(text) // 8 * 8 :]
    for at in range(0, whole, 8):
        key = fold(key ^ int.from_bytes(text[at : at + 8], "little"), 0xD6E8FEB86659FD93)
    key = fold(key ^ int.from_bytes(rest, "little"), 0xA0761D6478BD642F)
    key = fold(key ^ 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)
    padded = text + b"\0" * (-len(text) % 8)
    return key, struct.pack("<QIIQ", key, 0, 0, len(text)) + padded


KEY, ENTRY = text_entry(TEXT.encode())
SIGNED = {"i16": 16, "i32": 32, "i64": 64, "timestamp": 64}


def raw(column: Column, layout: Any, record: bytes) -> int | None:
    """The member's bits as a number, or None if this release's record has no such member."""
    if column.source not in layout["members"]:
        return None
    at, size = layout["members"][column.source]
    width = column.width or size
    return int.from_bytes(record[at + column.at : at + column.at + width], "little")


def expected(column: Column, layout: Any, record: bytes, version: int) -> Any:
    value = raw(column, layout, record)
    if value is None or version < column.since:
        return None
    if column.only:
        at, _ = layout["members"][column.only[0]]
        values = [ENUMERATORS.get(value, value) for value in column.only[1:]]
        if int.from_bytes(record[at : at + 4], "little") not in values:
            return None
    if column.mask:
        value &= column.mask
    name = column.type.name
    if name == "uuid":
        text = value.to_bytes(16, "little").hex()
        parts = (text[:8], text[8:12], text[12:16], text[16:20], text[20:])
        return None if value == column.null == 0 else f"GPU-{'-'.join(parts)}"
    if column.null is not None and value == column.null:
        return None
    if name == "boolean":
        return value != 0
    if name == "string":
        return TEXT if value == KEY else None
    if name == "enum":
        assert column.labels is not None
        numbers = {ENUMERATORS[key]: label for key, label in column.labels.labels}
        return numbers.get(value, str(value))
    if name == "f64":
        return struct.unpack("<d", value.to_bytes(8, "little"))[0]
    if name in SIGNED:
        bits = SIGNED[name]
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value
    assert name in ("correlation", "api_name")
    return None if name == "api_name" else value


def record_of(kind: Kind, layout: Any, dice: random.Random) -> bytes:
    record = bytearray(dice.randbytes(layout["size"]))
    activity = dice.choice(kind.activity)
    struct.pack_into("<I", record, 0, ENUMERATORS[f"CUPTI_ACTIVITY_KIND_{activity}"])
    for column in kind.columns:
        if column.source not in layout["members"] or column.source == "kind":
            continue
        at, size = layout["members"][column.source]
        width = column.width or size
        value: int | None = None
        if column.type.name == "string":
            value = dice.choice([KEY, 0])
        elif column.type.name == "correlation":
            value = dice.randrange(1000)
        elif column.type.name == "enum" and dice.random() < 0.9:
            assert column.labels is not None
            value = ENUMERATORS[dice.choice(column.labels.labels)[0]]
        elif column.null is not None and dice.random() < 0.2:
            value = column.null
        if value is not None:
            record[at + column.at : at + column.at + width] = (
                value & ((1 << 8 * width) - 1)
            ).to_bytes(width, "little")
    return bytes(record)


def same(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b)


CASES = [(kind, release) for kind in KINDS for release in LAYOUTS[kind.table]]


@pytest.mark.parametrize(
    ("kind", "release"), CASES, ids=[f"{kind.table}-{release}" for kind, release in CASES]
)
def test_every_column(kind: Kind, release: str) -> None:
    layout, version = LAYOUTS[kind.table][release], api_version(release)
    dice = random.Random(f"{kind.table}{release}")
    records = [record_of(kind, layout, dice) for _ in range(150)]
    numbers = [ENUMERATORS[f"CUPTI_ACTIVITY_KIND_{name}"] for name in kind.fed_by]
    decoder = Decoder()
    process = Process.loaded(
        decoder,
        {
            "info": {"process_id": 9, "cupti_version": version},
            "strides": {str(number): layout["size"] for number in numbers},
            "ring_full": {},
        },
    )
    ffi, _ = load()
    process.decode(ffi.from_buffer("uint8_t[]", bytearray(ENTRY)), len(ENTRY), STRINGS)
    data = bytearray(b"".join(records))
    process.decode(ffi.from_buffer("uint8_t[]", data), len(data), 1)
    batch = decoder.take(decoder.tables.index(kind.table))
    batch.validate(full=True)
    rows = batch.to_pylist()
    assert len(rows) == len(records)
    assert {row["process_id"] for row in rows} == {9}
    filled = 0
    for column in kind.columns:
        for row, record in zip(rows, records, strict=True):
            wanted = expected(column, layout, record, version)
            if column.name.startswith("mig_") and wanted:
                wanted = wanted.replace("GPU", "MIG")
            # What ends before its start ends there.
            if column.name == "end_ns" and None not in (wanted, row["start_ns"]):
                wanted = max(wanted, row["start_ns"])
            assert same(row[column.name], wanted), (column.name, row[column.name], wanted)
            filled += wanted is not None
    assert filled > 0


def test_every_kind_has_facts() -> None:
    assert LAYOUTS.keys() == {kind.table for kind in KINDS}


def test_a_value_of_the_wrong_place_is_seen() -> None:
    kind = next(kind for kind in KINDS if kind.table == "memset")
    layout = LAYOUTS["memset"]["13.4.92"]
    record = record_of(kind, layout, random.Random(1))
    column = next(column for column in kind.columns if column.name == "stream_id")
    right = expected(column, layout, record, 130400)
    layout = json.loads(json.dumps(layout))
    layout["members"]["streamId"][0] += 4
    assert expected(column, layout, record, 130400) != right


def test_a_record_too_short_for_what_tells_a_union_apart() -> None:
    """Whether an allocation has a stream stands behind the stream's number."""
    layout = LAYOUTS["memory"]["12.6.80"]
    at, _ = layout["members"]["isAsync"]
    record = bytearray(layout["size"])
    struct.pack_into("<I", record, 0, ENUMERATORS["CUPTI_ACTIVITY_KIND_MEMORY2"])
    struct.pack_into("<I", record, layout["members"]["streamId"][0], 7)
    struct.pack_into("<I", record, at, 1)
    found = []
    for size in (layout["size"], at):
        decoder = Decoder()
        info = {"process_id": 9, "cupti_version": 130500}
        described = {"info": info, "strides": {"49": size}, "ring_full": {}}
        process = Process.loaded(decoder, described)
        ffi, _ = load()
        process.decode(ffi.from_buffer("uint8_t[]", record[:size]), size, 1)
        (row,) = decoder.take(decoder.tables.index("memory")).to_pylist()
        found.append(row["stream_id"])
    assert found == [7, None]


def test_no_time_is_lost_where_there_is_none() -> None:
    """A page fault has no end, a migration without one has lost it."""
    layout = LAYOUTS["unified_memory"]["12.8.90"]
    prefix = "CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_"
    records = bytearray()
    for counter in ("CPU_PAGE_FAULT_COUNT", "THRASHING", "BYTES_TRANSFER_HTOD"):
        record = bytearray(layout["size"])
        struct.pack_into("<II", record, 0, 25, ENUMERATORS[prefix + counter])
        struct.pack_into("<Q", record, layout["members"]["start"][0], 5)
        records += record
    decoder = Decoder()
    info = {"process_id": 9, "cupti_version": 130500}
    described = {"info": info, "strides": {"25": layout["size"]}, "ring_full": {}}
    process = Process.loaded(decoder, described)
    ffi, _ = load()
    process.decode(ffi.from_buffer("uint8_t[]", records), len(records), 1)
    table = decoder.tables.index("unified_memory")
    rows = decoder.take(table).to_pylist()
    assert [row["end_ns"] for row in rows] == [None, None, None]
    names = [
        "process_id",
        *(c.name for kind in KINDS if kind.table == "unified_memory" for c in kind.columns),
    ]
    assert process.nulls(table, names.index("start_ns")) == 0
    assert process.nulls(table, names.index("end_ns")) == 1
