"""The splitter of JSON: wherever a file is cut, the events are those that json.loads gives."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cupti_etl.errors import ForeignError
from cupti_etl.imports.kineto.events import EventReader

COLUMNS = {
    "name": "s name",
    "tid": "s tid",
    "ts": "t ts",
    "id": "i id",
    "stream": "i args.stream",
    "share": "d args.share",
    "x": "a args.grid",
    "y": "+ args.grid",
    "z": "+ args.grid",
    "dropped": "- args.dropped",
    "rest": "* args",
}


def read(text: bytes, piece: int, rows: int = 3) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(text)
        reader = EventReader(Path(file.name), COLUMNS, rows=rows, piece=piece)
        batches = list(reader.batches())
        for batch in batches:
            batch.validate(full=True)
        return [row for batch in batches for row in batch.to_pylist()], reader.members


TEXT = st.text(
    alphabet=st.one_of(
        st.sampled_from('"\\{}[],: \n\u20ac\U0001f600'), st.characters(exclude_categories=["Cs"])
    ),
    max_size=12,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
INT = st.integers(-(2**63), 2**63 - 1)
ARGS = st.fixed_dictionaries(
    {},
    optional={
        "stream": INT,
        "share": st.floats(allow_nan=False, allow_infinity=False),
        "grid": st.lists(st.integers(0, 2**31), max_size=4),
        "dropped": JSON,
        "shapes": JSON,
        'odd "key"\\': JSON,
    },
)
EVENT = st.fixed_dictionaries(
    {"name": TEXT},
    optional={
        "tid": st.integers(0, 2**31) | TEXT,
        "ts": st.integers(0, 2**52),
        "id": INT,
        "args": ARGS,
        "unknown": JSON,
    },
)


def expected(event: dict[str, Any]) -> dict[str, Any]:
    args = event.get("args", {})
    grid = [*args.get("grid", [])[:3], None, None, None]
    rest = {k: v for k, v in args.items() if k not in ("stream", "share", "grid", "dropped")}
    ts = event.get("ts")
    return {
        "name": event["name"],
        "tid": str(event["tid"]) if "tid" in event else None,
        "ts": None if ts is None else ts * 1000,
        "id": event.get("id"),
        "stream": args.get("stream"),
        "share": args.get("share"),
        "x": grid[0],
        "y": grid[1],
        "z": grid[2],
        "rest": rest or None,
    }


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    events=st.lists(EVENT, max_size=8),
    members=st.dictionaries(TEXT.filter(lambda name: name != "traceEvents"), JSON, max_size=3),
    piece=st.integers(1, 400),
    indent=st.sampled_from([None, 0, 2]),
    is_ascii=st.booleans(),
    is_bare=st.booleans(),
)
@example([{"name": '}],"traceEvents":[{'}], {"a{": '["'}, 1, None, True, False)
@example(
    [{"name": ""}, {"name": "\x01"}, {"name": "a"}, {"name": "b\0"}], {}, 1, None, False, False
)
def test_any_events_in_any_pieces(
    events: list[dict[str, Any]],
    members: dict[str, Any],
    piece: int,
    indent: int | None,
    is_ascii: bool,
    is_bare: bool,
) -> None:
    whole: Any = events if is_bare else {**members, "traceEvents": events, "last": 1}
    text = json.dumps(whole, indent=indent, ensure_ascii=is_ascii).encode()
    found, said = read(text, piece)
    for row in found:
        row["rest"] = json.loads(row["rest"]) if row["rest"] is not None else None
    assert found == [expected(event) for event in events]
    assert said == ({} if is_bare else {**members, "last": 1})


@settings(max_examples=100, deadline=None)
@given(events=st.lists(EVENT, min_size=1, max_size=3), data=st.data())
def test_a_cut_file_is_never_taken_for_whole(events: list[dict[str, Any]], data: Any) -> None:
    text = json.dumps({"traceEvents": events}).encode()
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ForeignError, match="truncated"):
        read(text[:cut], piece=64)


@settings(max_examples=300, deadline=None)
@given(text=st.binary(max_size=200), piece=st.integers(1, 50), shell=st.booleans())
def test_rubbish_is_refused_or_read_but_never_crashes(text: bytes, piece: int, shell: bool) -> None:
    if shell:
        text = b'{"traceEvents": [' + text + b"]}"
    try:
        read(text, piece)
    except ForeignError:
        return


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        ("0", 0),
        ("1.0004", 1000),
        ("1.0005", 1001),
        ("-1.5", -1500),
        ('"12.25"', 12250),
        ("1e3", 1000000),
        ("1712195495519689.047", 1712195495519689047),
        ("9223372036854775.807", 2**63 - 1),
        ("null", None),
        ("nan", None),
        ('"soon"', None),
        ("99999999999999999999999", None),
        ("[1]", None),
    ],
)
def test_microseconds(written: str, nanoseconds: int | None) -> None:
    rows, _ = read(b'[{"name":"n","ts":%s}]' % written.encode(), 1 << 16)
    assert [row["ts"] for row in rows] == [nanoseconds]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("7", 7),
        ("7.0", 7),
        ("7.5", None),
        ('"7"', 7),
        ("18446744073709551615", -1),
        ("true", None),
        ("1e2", 100),
        ("-", None),
        ("", None),
    ],
)
def test_integers(written: str, number: int | None) -> None:
    text = b'[{"name":"n","id":%s}]' % written.encode()
    if not written:
        with pytest.raises(ForeignError, match="not well-formed JSON at byte 18"):
            read(text, 1 << 16)
        return
    rows, _ = read(text, 1 << 16)
    assert [row["id"] for row in rows] == [number]


def test_names_that_are_not_quite_json() -> None:
    """Kineto has written control characters, lone surrogates and unknown escapes."""
    text = b'[{"name":"a\nb"},{"name":"\\ud83d\\ude00 \\ud83d \\q\\/"},{"name":"\xff"}]'
    rows, _ = read(text, 1 << 16)
    assert [row["name"] for row in rows] == ["a\nb", "\U0001f600 \ufffd q/", "\ufffd"]
