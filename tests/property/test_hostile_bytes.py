"""Bytes that no CUPTI wrote: nothing crashes, and what comes out is valid Arrow."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.records import KIND_OF, Bench, key, random_record, string_entry

from cupti_etl.capture.segment import MAX_KIND, RECORDS, STRINGS

SIZES = st.dictionaries(
    st.sampled_from([*sorted(KIND_OF), 0, 127]),
    st.one_of(st.integers(0, 400), st.sampled_from([0, 1, 7, 8, 2**20, 2**32 - 1])),
    max_size=8,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    strides=SIZES,
    slots=st.lists(st.tuples(st.integers(0, 4), st.binary(max_size=600)), max_size=6),
    seed=st.integers(0, 2**32),
)
def test_random_slots(strides: dict[int, int], slots: list[tuple[int, bytes]], seed: int) -> None:
    rng = random.Random(seed)
    made = Bench("13.5.25", strides)
    for content, data in slots:
        # Half of them begin like a record, so that the decoder gets further.
        if rng.random() < 0.5:
            data = rng.choice([*KIND_OF, 3]).to_bytes(4, "little") + data
        made.decode(data, content)
    found = made.process.decoded()
    assert found.slots == len(slots)
    rows = sum(len(made.take(table)) for table in made.decoder.tables)
    assert rows + sum(made.process.unknown().values()) == found.records
    assert rows == sum(made.process.stored(i) for i in range(len(made.decoder.tables)))


@settings(max_examples=100, deadline=None)
@given(
    flips=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 7)), max_size=30),
    seed=st.integers(0, 2**32),
)
def test_flipped_bits(flips: list[tuple[int, int]], seed: int) -> None:
    rng = random.Random(seed)
    names = [rng.randbytes(rng.randrange(60)) for _ in range(20)]
    made = Bench("12.9.79")
    strings = bytearray(b"".join(map(string_entry, names)))
    kinds = rng.choices(sorted(made.layouts), k=60)
    keys = [key(name) for name in names]
    records = bytearray(
        b"".join(random_record(rng, kind, made.layouts[kind], keys) for kind in kinds)
    )
    for at, bit in flips:
        for data in (strings, records):
            data[at % len(data)] ^= 1 << bit
    made.decode(bytes(strings), STRINGS)
    made.decode(bytes(records), RECORDS)
    for table in made.decoder.tables:
        made.take(table)
    assert made.process.decoded().unreadable_bytes <= len(records)


@settings(max_examples=100, deadline=None)
@given(length=st.integers(0, 2**64 - 1), room=st.integers(0, 64), good=st.integers(0, 3))
def test_a_string_longer_than_its_slot(length: int, room: int, good: int) -> None:
    made = Bench("13.0.85")
    before = b"".join(string_entry(b"name %d" % i) for i in range(good))
    made.decode(before + struct.pack("<QIIQ", key(b""), 0, 0, length) + bytes(room), STRINGS)
    # Of length 0 it is the empty string; anything else is damage, seen once.
    assert made.process.decoded().damaged_strings == (length != 0 or room >= 24)


@settings(max_examples=30, deadline=None)
@given(number=st.integers(MAX_KIND, 2**32 - 1))
@example(2**32 - 1)
def test_a_kind_beyond_all_kinds(number: int) -> None:
    made = Bench("13.0.85")
    made.decode(number.to_bytes(4, "little") + bytes(100))
    assert made.process.decoded().unreadable_bytes == 104
    assert made.process.decoded().records == 0
