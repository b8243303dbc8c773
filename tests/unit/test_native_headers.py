"""Structs and numbers of the library's headers, as Python reads them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cupti_etl.native.headers import Copy, constant, enumeration, members, packed, size, view

SHARED = Path(__file__).parents[2] / "native" / "include" / "etl"


def test_enumerations_are_those_of_the_header() -> None:
    body = re.search(r"enum etl_process_state \{(.*?)\}", (SHARED / "abi.h").read_text(), re.DOTALL)
    assert body
    said = re.findall(r"ETL_(\w+)", body[1])
    assert enumeration("etl_process_state", "ETL_") == dict(enumerate(map(str.lower, said)))
    assert [constant(f"ETL_{name}") for name in said] == list(range(len(said)))


def test_a_struct_there_and_back() -> None:
    data = packed("etl_frame", magic=5, rows=2**64 - 1)
    assert len(data) == size("etl_frame") == 32
    found = Copy(view("etl_frame", data))
    assert vars(found) == {
        **dict.fromkeys(members("etl_frame"), 0),
        "magic": 5,
        "rows": 2**64 - 1,
    }
    with pytest.raises(AttributeError, match="no member 'row'"):
        _ = found.row


def test_too_few_bytes_are_no_struct() -> None:
    with pytest.raises(ValueError, match="31 bytes are no etl_frame"):
        view("etl_frame", packed("etl_frame")[:-1])


def test_a_text_without_an_end_is_cut() -> None:
    hello = packed("etl_hello", magic=1)
    filled = hello[: -size("etl_hello") + 16] + b"\xff" + b"x" * 511
    assert Copy(view("etl_hello", filled)).reason == "\ufffd" + "x" * 511
