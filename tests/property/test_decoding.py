"""Random records of several releases, decoded and read by hand: every value agrees."""

from __future__ import annotations

import math
import random
import struct
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.records import (
    DRIVER,
    FOREIGN,
    KERNEL,
    KIND_OF,
    MARKER,
    RUNTIME,
    Bench,
    api_tag,
    as_text,
    expected,
    key,
    pack,
    random_record,
    string_entry,
)

from cupti_etl.capture.loss import losses
from cupti_etl.capture.segment import STRINGS
from cupti_etl.schema.kinds import KINDS

RELEASES = ("11.8.87", "12.0.146", "12.9.79", "13.0.85", "13.5.25")
NAMES = (b"_Z3addPf", b"triton_poi_0", b"", b"caf\xc3\xa9", b"bad \xff\xc3 name", b"x" * 3000)
KNOWN = {key(name): as_text(name) for name in NAMES}
# The driver's and the runtime's functions with one number are two functions.
FUNCTIONS = {(kind, cbid): f"{kind}_{cbid}" for kind in (DRIVER, RUNTIME) for cbid in range(300)}


def bench(release: str) -> Bench:
    made = Bench(release)
    made.name(*NAMES)
    named = ((name.encode(), api_tag(*place)) for place, name in FUNCTIONS.items())
    made.decode(b"".join(string_entry(*entry) for entry in named), STRINGS)
    return made


def agree(found: Any, wanted: Any, what: str) -> bool:
    if what == "correlation" and found is not None:
        return bool(found & 0xFFFFFFFF == wanted)
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(found, float) and math.isnan(found)
    return type(found) is type(wanted) and bool(found == wanted)


def compare(made: Bench, records: list[bytes]) -> None:
    """Every column of every table against the records, in their order."""
    by_table = defaultdict(list)
    for record in records:
        kind = int.from_bytes(record[:4], "little")
        if kind in KIND_OF:
            by_table[KIND_OF[kind].table].append((kind, record))
    for table in made.decoder.tables:
        rows = made.take(table)
        assert len(rows) == len(by_table[table])
        for row, (number, record) in zip(rows, by_table[table], strict=True):
            kind, layout = KIND_OF[number], made.layouts[number]
            assert row["process_id"] == 77
            for column in kind.columns:
                wanted = expected(kind, column, layout, record, KNOWN, FUNCTIONS)
                found = row[column.name]
                # What ends before its start ends there.
                if column.name == "end_ns" and None not in (wanted, row["start_ns"]):
                    wanted = max(wanted, row["start_ns"])
                assert agree(found, wanted, column.type.name), (table, column.name, found, wanted)


@settings(max_examples=60, deadline=None)
@given(
    release=st.sampled_from(RELEASES),
    kinds=st.lists(st.sampled_from([*sorted(KIND_OF), FOREIGN]), max_size=300),
    seed=st.integers(0, 2**32),
)
@example(release="12.0.146", kinds=[KERNEL] * 64, seed=1)
@example(release="13.5.25", kinds=[KERNEL] * 65 + [FOREIGN] + [KERNEL] * 64, seed=2)
def test_every_value_agrees(release: str, kinds: list[int], seed: int) -> None:
    rng = random.Random(seed)
    made = bench(release)
    there = [kind for kind in kinds if kind in made.layouts]
    records = [random_record(rng, kind, made.layouts[kind], list(KNOWN)) for kind in there]
    made.decode(b"".join(records))
    compare(made, records)
    # Kinds without a table are passed over and counted.
    unknown = Counter(kind for kind in there if kind not in KIND_OF)
    assert made.process.unknown() == dict(unknown)
    assert made.process.decoded().records == len(records)
    assert made.process.decoded().unreadable_bytes == 0


@pytest.mark.parametrize("release", RELEASES)
def test_all_kinds_of_a_release_in_many_batches(release: str) -> None:
    rng = random.Random(7)
    made = bench(release)
    for count in (1, 63, 64, 65, 500):
        kinds = rng.choices(sorted(made.layouts), k=count * 4)
        records = [random_record(rng, kind, made.layouts[kind], list(KNOWN)) for kind in kinds]
        made.decode(b"".join(records))
        compare(made, records)


@pytest.mark.slow
def test_a_batch_that_grows_keeps_every_row() -> None:
    """Buffers are enlarged at 16,384 rows and beyond, at counts that fill no byte of bits."""
    made = Bench("13.5.25")
    layout, ids = made.layouts[KERNEL], []
    for count in (16_381, 3, 9, 16_390, 40_001, 7):
        more = [i % 3 and i for i in range(len(ids), len(ids) + count)]
        ids += more
        for at in range(0, count, 4000):
            slot = more[at : at + 4000]
            made.decode(b"".join(pack(KERNEL, layout, graphId=i, priority=i) for i in slot))
    rows = made.take("kernel")
    assert [row["graph_id"] or 0 for row in rows] == ids
    assert [row["priority"] for row in rows] == ids


@settings(max_examples=60, deadline=None)
@given(release=st.sampled_from(RELEASES), count=st.integers(1, 70), cut=st.integers(1, 300))
def test_a_truncated_slot_gives_its_whole_records(release: str, count: int, cut: int) -> None:
    rng = random.Random(count)
    made = bench(release)
    size = made.layouts[KERNEL]["size"]
    records = [random_record(rng, KERNEL, made.layouts[KERNEL], list(KNOWN)) for _ in range(count)]
    data = b"".join(records)[: -min(cut, size * count)]
    made.decode(data)
    whole = len(data) // size
    compare(made, records[:whole])
    assert made.process.decoded().unreadable_bytes == len(data) - whole * size


@settings(max_examples=40, deadline=None)
@given(before=st.integers(0, 100), kind=st.sampled_from([0, 7, 60, 127, 128, 2**32 - 1]))
def test_a_kind_of_unknown_size_ends_the_slot(before: int, kind: int) -> None:
    rng = random.Random(before)
    made = bench("13.0.85")
    records = [random_record(rng, MARKER, made.layouts[MARKER], list(KNOWN)) for _ in range(before)]
    made.decode(b"".join(records) + kind.to_bytes(4, "little") + bytes(60))
    compare(made, records)
    assert made.process.decoded().unreadable_bytes == 64
    assert made.process.unknown() == {}


@settings(max_examples=60, deadline=None)
@given(
    start=st.integers(0, 3 * 2**32),
    steps=st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=200),
    per_slot=st.integers(1, 100),
)
@example(start=2**32 - 3, steps=[1, 1, 1, 1, -3, 2, 5, -4], per_slot=100)
@example(start=2**33 - 2, steps=[3, -2, 1, 1, -4, 9], per_slot=1)
def test_call_ids_are_widened_across_the_wrap(start: int, steps: list[int], per_slot: int) -> None:
    made = Bench("13.5.25")
    # A trace begins near 0; from there to the start in steps CUPTI could make.
    ids = list(range(1, start, 2**30)) + [start]
    for step in steps:
        ids.append(max(1, ids[-1] + step))
    layout = made.layouts[KERNEL]
    records = [pack(KERNEL, layout, correlationId=wide & 0xFFFFFFFF) for wide in ids]
    for at in range(0, len(records), per_slot):
        made.decode(b"".join(records[at : at + per_slot]))
    # An id whose low 32 bits are 0 cannot be told from "none".
    wanted = [wide if wide & 0xFFFFFFFF else None for wide in ids]
    assert [row["correlation_id"] for row in made.take("kernel")] == wanted


# As the injector sees them: C strings.  The key is not made for zero bytes, and of all names
# without any, only "" and "\x01" are known to share one.
C_STRINGS = st.one_of(
    st.binary(max_size=40).map(lambda raw: raw.replace(b"\0", b"?")),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20).map(str.encode),
).filter(lambda raw: raw != b"\x01")


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(names=st.lists(C_STRINGS))
def test_names_are_stored_as_text_whatever_they_are(names: list[bytes]) -> None:
    made = Bench("13.0.85")
    made.name(*names)
    layout = made.layouts[KERNEL]
    made.decode(b"".join(pack(KERNEL, layout, name=key(name)) for name in names))
    assert [row["name"] for row in made.take("kernel")] == [as_text(name) for name in names]
    assert made.process.decoded().unresolved_strings == 0
    assert made.process.decoded().damaged_strings == 0


def test_a_size_that_was_not_found_costs_no_other_activity_its_columns() -> None:
    """The table of API calls is fed by two activities; one of them could not be measured."""
    made = Bench("13.0.85", {DRIVER: 0})
    made.decode(pack(RUNTIME, made.layouts[RUNTIME], start=5, end=6, cbid=3, correlationId=9))
    (row,) = made.take("api_call")
    assert (row["domain"], row["start_ns"], row["correlation_id"]) == ("runtime", 5, 9)


def test_a_column_that_is_read_from_elsewhere_is_seen() -> None:
    made = bench("13.0.85")
    layout = made.layouts[KERNEL]
    moved = {**layout, "members": {**layout["members"], "streamId": layout["members"]["gridX"]}}
    made.decode(pack(KERNEL, layout, streamId=3, gridX=4))
    made.layouts = {**made.layouts, KERNEL: moved}
    with pytest.raises(AssertionError, match="stream_id"):
        compare(made, [pack(KERNEL, layout, streamId=3, gridX=4)])


NOW = 1_795_000_000_000_000_000
# Nothing; a counter of a processor that was on for hours, for ten years; and what may be a time.
TIMES = st.sampled_from([0, 5_803_638_458_735, 10**18, NOW - 10**9, NOW, NOW + 10**12])


@settings(max_examples=60, deadline=None)
@given(
    release=st.sampled_from(RELEASES),
    times=st.lists(st.tuples(TIMES, TIMES), min_size=1, max_size=150),
)
def test_times_of_another_clock_are_null_and_counted(
    release: str, times: list[tuple[int, int]]
) -> None:
    made = Bench(release, start_ns=NOW)
    made.name(*NAMES)
    rng = random.Random(len(times))
    records = []
    for pair in times:
        record = bytearray(random_record(rng, KERNEL, made.layouts[KERNEL], list(KNOWN)))
        for member, ns in zip(("start", "end", "queued", "submitted"), (*pair, 0, 0), strict=True):
            struct.pack_into("<Q", record, made.layouts[KERNEL]["members"][member][0], ns)
        records.append(bytes(record))
    made.decode(b"".join(records))
    rows = made.take("kernel")
    known = [tuple(ns if ns >= NOW - 10**9 else None for ns in pair) for pair in times]
    # An end before its start is the start.
    early = [None not in pair and pair[1] < pair[0] for pair in known]
    mended = [(a, a) if is_early else (a, b) for (a, b), is_early in zip(known, early, strict=True)]
    assert [(row["start_ns"], row["end_ns"]) for row in rows] == mended
    table = made.decoder.tables.index("kernel")
    columns = [column.name for column in KINDS[table].as_table().columns]
    others = sum(any(0 < ns < NOW - 10**9 for ns in pair) for pair in times)
    assert made.process.other_clock(table) == others
    assert made.process.early_ends(table) == sum(early)
    told = {loss.detail.split(",")[0]: loss.records for loss in losses(made.process, None)}
    assert told.get("these rows were to end before they began", 0) == sum(early)
    for place, name in enumerate(("start_ns", "end_ns")):
        zeros = sum(pair[place] == 0 for pair in times)
        assert made.process.nulls(table, columns.index(name)) == zeros
