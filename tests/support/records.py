"""Synthetic CUPTI records and what a decoder must make of them.

Bytes are laid out by the tests' own facts (``native/facts/record_layouts.json``), never
by the table specifications: the two meet only in the names of the members.
"""

from __future__ import annotations

import codecs
import functools
import random
import struct
from collections.abc import Mapping
from typing import Any

from cupti_etl.capture.decoder import Decoder
from cupti_etl.capture.segment import RECORDS, STRINGS, Process
from cupti_etl.native.loader import load
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.spec import Column, Kind
from support.fake_build import api_version, layouts
from tools.codegen.headers import load_facts

KERNEL, MEMCPY, MEMSET, DRIVER, RUNTIME = 10, 1, 2, 4, 5
MARKER = 12
_U64 = (1 << 64) - 1
Layout = Mapping[str, Any]

FACTS = load_facts()
# The specification names activities, CUPTI numbers them.
NUMBERS = {
    name.removeprefix("CUPTI_ACTIVITY_KIND_"): value
    for name, value in FACTS["enumerators"].items()
    if name.startswith("CUPTI_ACTIVITY_KIND_")
}
KIND_OF = {NUMBERS[activity]: kind for kind in KINDS for activity in kind.fed_by}

# A kind that no table takes.
FOREIGN = 120
_FOREIGN: Layout = {"size": 24, "members": {"kind": (0, 4), "value": (8, 8)}}


@functools.cache
def _newest() -> dict[int, Layout]:
    return {number: FACTS["structs"][kind.struct] for number, kind in KIND_OF.items()}


def _one_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


codecs.register_error("etl-one-byte", _one_byte)


def as_text(raw: bytes) -> str:
    """What is stored for a name: U+FFFD for each byte that is not UTF-8."""
    return raw.decode("utf-8", "etl-one-byte")


def _fold(a: int, b: int) -> int:
    product = a * b
    return (product & _U64) ^ (product >> 64)


def key(data: bytes) -> int:
    """The content key of a string: native/include/etl/hash.h, said again."""
    h = 0x9E3779B97F4A7C15 ^ len(data)
    whole = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        h = _fold(h ^ word, 0xD6E8FEB86659FD93)
    h = _fold(h ^ int.from_bytes(data[whole:], "little"), 0xA0761D6478BD642F)
    h = _fold(h ^ 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3)
    return h or 1


def string_entry(raw: bytes, tag: int = 0, flags: int = 0) -> bytes:
    """One entry of a slot of strings."""
    head = struct.pack("<QIIQ", key(raw), tag, flags, len(raw))
    return head + raw + bytes(-len(raw) % 8)


def api_tag(kind: int, cbid: int) -> int:
    """The tag of a function's name."""
    return kind << 16 | cbid


def pack(kind: int, layout: Layout, **members: int) -> bytes:
    """A record with these members; all other bytes are zero."""
    record = bytearray(layout["size"])
    for name, value in {"kind": kind, **members}.items():
        offset, size = layout["members"][name]
        record[offset : offset + size] = value.to_bytes(size, "little")
    return bytes(record)


class Bench:
    """One process of a release and its decoder.

    Attributes:
        layouts: record layout by activity kind, as the release has them; for the newest
            release those that the facts lack come from the header.
    """

    def __init__(
        self,
        release: str,
        strides: Mapping[int, int] | None = None,
        ring_full: Mapping[int, int] | None = None,
        **info: Any,
    ) -> None:
        self.layouts: dict[int, Layout] = {**layouts(release), FOREIGN: _FOREIGN}
        if api_version(release) == FACTS["version"]:
            self.layouts = {**_newest(), **self.layouts}
        self.version = api_version(release)
        self._ffi, _ = load()
        self.decoder = Decoder()
        found = {kind: layout["size"] for kind, layout in self.layouts.items()}
        described = {
            "info": {"process_id": 77, "cupti_version": self.version, **info},
            "strides": {str(k): size for k, size in {**found, **(strides or {})}.items()},
            "ring_full": {str(k): count for k, count in (ring_full or {}).items()},
        }
        self.process = Process.loaded(self.decoder, described)

    def decode(self, data: bytes, content: int = RECORDS) -> None:
        """Decode a slot; the bytes lie in a buffer that is exactly as long."""
        self.process.decode(self._ffi.new("uint8_t[]", data), len(data), content)

    def name(self, *names: bytes) -> None:
        """Publish names."""
        self.decode(b"".join(map(string_entry, names)), STRINGS)

    def take(self, table: str) -> list[dict[str, Any]]:
        """The rows of a table since the last call, after Arrow's own full check."""
        batch = self.decoder.take(self.decoder.tables.index(table))
        batch.validate(full=True)
        rows: list[dict[str, Any]] = batch.to_pylist()
        return rows


@functools.cache
def _labels(kind: Kind, column: Column) -> dict[int, str]:
    assert column.labels is not None
    numbers = FACTS["enumerators"]
    return {numbers[name]: label for name, label in column.labels.labels}


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def expected(
    kind: Kind,
    column: Column,
    layout: Layout,
    record: bytes,
    names: Mapping[int, str],
    functions: Mapping[tuple[int, int], str],
) -> Any:
    """The value of a column, except that call ids are given as their 32 bits."""
    if not column.source or column.source not in layout["members"]:
        return None
    offset, size = layout["members"][column.source]
    width = column.width or size
    raw = record[offset + column.at :][:width]
    value = int.from_bytes(raw, "little")
    if column.mask:
        value &= column.mask
    if column.only:
        member, *values = column.only
        offset, _ = layout["members"][member]
        number = int.from_bytes(record[offset : offset + 4], "little")
        if number not in [FACTS["enumerators"].get(value, value) for value in values]:
            return None
    what = column.type.name
    if what == "string":
        return names.get(value)
    if what == "api_name":
        return functions.get((int.from_bytes(record[:4], "little"), value))
    if column.null is not None and value == column.null:
        return None
    if what == "uuid":
        hexes = raw.hex()
        parts = (hexes[a:b] for a, b in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))
        return ("MIG-" if column.source == "migUuid" else "GPU-") + "-".join(parts)
    if what == "enum":
        return _labels(kind, column).get(value, str(value))
    if what == "boolean":
        return value != 0
    if what == "f64":
        return struct.unpack("<d", raw)[0]
    if what == "correlation":
        return value
    bits = {"i16": 16, "i32": 32, "i64": 64, "timestamp": 64}[what]
    return _signed(value, bits)


def random_record(
    rng: random.Random, kind: int, layout: Layout, names: list[int], cbids: int = 600
) -> bytes:
    """A record of random bytes, with extremes and known names here and there."""
    record = bytearray(rng.randbytes(layout["size"]))
    record[:4] = kind.to_bytes(4, "little")
    for name, (offset, size) in layout["members"].items():
        chance = rng.random()
        if name == "kind" or chance > 0.5:
            continue
        value = rng.choice((0, 0, 0xFF, 1, 2, 3)) if chance > 0.2 else rng.randrange(12)
        record[offset : offset + size] = (
            b"\xff" * size if value == 0xFF else value.to_bytes(size, "little")
        )
    for column in KIND_OF[kind].columns if kind in KIND_OF else ():
        if column.source not in layout["members"]:
            continue
        offset, size = layout["members"][column.source]
        if column.type.name == "string" and rng.random() < 0.9:
            record[offset : offset + size] = rng.choice([0, *names]).to_bytes(8, "little")
        elif column.type.name == "api_name":
            record[offset : offset + size] = rng.randrange(cbids).to_bytes(size, "little")
    return bytes(record)
