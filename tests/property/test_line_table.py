"""Lines of instructions, decoded from what the injector sends, against CPython's own answer."""

from __future__ import annotations

import argparse
import json.decoder
import struct
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fakes import CUPTI_13
from support.records import Bench, string_entry

from cupti_etl.capture.segment import STRINGS

CODE, STACK, TAG = 8, 16, 0xFFFFFFFF
CALLS = 3
STATES = ("whole", "cut", "no_frames", "no_python", "unreadable", "no_room")


def code_entry(code: types.CodeType, table: bytes | None = None) -> bytes:
    """``struct etl_python_code`` and what follows."""
    texts = code.co_filename.encode(), code.co_qualname.encode(), code.co_linetable
    file, function, lines = (*texts[:2], texts[2] if table is None else table)
    head = struct.pack("<4I", code.co_firstlineno, len(file), len(function), len(lines))
    return head + file + function + lines


def frames(entry: bytes, places: list[int]) -> bytes:
    """A stack with a frame for each place in one code."""
    (key,) = struct.unpack_from("<Q", string_entry(entry))
    return b"".join(struct.pack("<QII", key, place, 0) for place in places)


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and all code inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def told(bench: Bench, entry: bytes, places: list[int]) -> list[dict[str, Any]]:
    """The rows of a stack."""
    stack = frames(entry, places)
    bench.decode(string_entry(entry, TAG, CODE) + string_entry(stack, TAG, STACK), STRINGS)
    return bench.take("python_stack")


@pytest.mark.parametrize("module", [typing, json.decoder, argparse], ids=lambda m: m.__name__)
def test_lines_are_those_that_python_tells(module: types.ModuleType) -> None:
    path = str(module.__file__)
    bench = Bench(CUPTI_13)
    checked = 0
    for code in nested(compile(Path(path).read_text(), path, "exec")):
        lines = {at: line for start, end, line in code.co_lines() for at in range(start, end, 2)}
        for some in range(0, len(lines), 200):
            places = sorted(lines)[some : some + 200]
            rows = told(bench, code_entry(code), places)
            assert [row["line"] for row in rows] == [lines[at] or None for at in places]
            assert {row["function"] for row in rows} == {code.co_qualname}
            assert {row["first_line"] for row in rows} == {code.co_firstlineno}
            checked += len(rows)
    assert checked > 1000


@settings(max_examples=100, deadline=None)
@given(table=st.binary(max_size=40), place=st.integers(0, 2**32 - 1))
def test_a_table_may_hold_anything(table: bytes, place: int) -> None:
    bench = Bench(CUPTI_13)
    code = compile("pass", "file.py", "exec")
    (row,) = told(bench, code_entry(code, table), [place])
    assert row["line"] is None or row["line"] > 0
    assert row["file"] == "file.py"


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=600), flag=st.sampled_from([CODE, STACK]))
def test_entries_may_hold_anything(data: bytes, flag: int) -> None:
    """What is damaged is counted, and rows have what is known."""
    bench = Bench(CUPTI_13)
    bench.decode(string_entry(data, TAG, flag), STRINGS)
    # No code is known that a stack could name.
    assert bench.take("python_stack") == []
    is_whole = len(data) >= 16 and sum(struct.unpack_from("<4x3I", data)) == len(data) - 16
    is_code = flag == CODE and is_whole
    assert bench.process.decoded().damaged_stacks == (0 if is_code else 1)


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=200))
def test_calls_may_hold_anything(data: bytes) -> None:
    bench = Bench(CUPTI_13)
    bench.decode(data, CALLS)
    calls = [struct.unpack_from("<QII", data, at) for at in range(0, len(data) // 16 * 16, 16)]
    good = [call for call in calls if call[2] < len(STATES) and call[1]]
    rows = bench.take("launch_stack")
    assert [row["state"] for row in rows] == [STATES[call[2]] for call in good]
    assert [(row["stack_id"] or 0) % 2**64 for row in rows] == [call[0] for call in good]
    assert bench.process.decoded().damaged_stacks == len(calls) - len(good)
