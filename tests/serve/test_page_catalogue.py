"""What the page knows before it asks for rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace import add_part, write_trace

from cupti_etl.queries.catalog import library

pytest.importorskip("starlette", reason="the extra serve is not installed")


@pytest.mark.slow
@pytest.mark.parametrize(("end_ns", "is_recording"), [("-", True), ("500", False)])
def test_a_capture_that_goes_on(serve, tmp_path: Path, end_ns: str, is_recording: bool) -> None:
    path = write_trace(
        tmp_path / "growing",
        capture=f"capture_id start_ns end_ns\n1 100 {end_ns}",
        kernel="start_ns end_ns name\n150 300 a",
    )
    client = serve(path)
    first = client.get("/catalogue.json").json()
    assert (first["begin_ns"], first["duration_ns"]) == ("100", 200)
    assert first["is_recording"] == is_recording
    assert not first["has_steady_state"]
    add_part(path, "kernel", "start_ns end_ns name\n350 400 a")
    assert client.get("/catalogue.json").json()["duration_ns"] == 300


def test_queries_and_tables(client) -> None:
    known = client.get("/catalogue.json").json()
    assert known["traces"] == ["run42"]
    assert {each["name"] for each in known["queries"]} == {
        query.name for query in library() if not query.is_building_block
    }
    (kernel,) = (each for each in known["tables"] if each["name"] == "kernel")
    assert "grid_x" in kernel["columns"]


@pytest.mark.slow
def test_traces_are_named_in_the_order_that_was_given(serve, tmp_path: Path) -> None:
    paths = [
        write_trace(tmp_path / name, capture=f"capture_id start_ns\n{at} {at}")
        for name, at in {"later": 500, "earlier": 100}.items()
    ]
    for given in (paths, paths[::-1]):
        known = serve(*given).get("/catalogue.json").json()
        assert known["traces"] == [path.name for path in given]


@pytest.mark.slow
def test_captures_at_the_same_time_are_one_span(serve, tmp_path: Path) -> None:
    spans = {"a": (100, 300), "b": (200, 400), "c": (900, 950)}
    paths = [
        write_trace(tmp_path / name, capture=f"capture_id start_ns end_ns\n{start} {start} {end}")
        for name, (start, end) in spans.items()
    ]
    assert serve(*paths).get("/catalogue.json").json()["recorded"] == [[0, 300], [800, 850]]
