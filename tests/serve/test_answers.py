"""Queries and tables, in each format, of each part; and their errors."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from serve.conftest import Serve
from support.trace import add_part, write_trace

import cupti_etl
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import SCOPE_NAMES

pytest.importorskip("starlette", reason="the extra serve is not installed")

ARROW = "application/vnd.apache.arrow.stream"


def error(response: Any, status: int) -> dict[str, Any]:
    """What an error says, which has the one form."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"title", "detail", "hint", "status"}
    assert body["error"]["status"] == status
    assert response.headers["cache-control"] == "no-store"
    found: dict[str, Any] = body["error"]
    return found


def test_a_query_is_an_arrow_stream(client: Any, folder: Path) -> None:
    response = client.get("/arrow/kernel_summary")
    assert response.headers["content-type"] == ARROW
    with cupti_etl.open(folder) as trace:
        wanted = trace.query("kernel_summary").arrow()
    with pa.ipc.open_stream(response.content) as stream:
        assert stream.read_all() == wanted


def test_every_format_has_the_same_rows(kept_client: Any) -> None:
    rows = pa.ipc.open_stream(kept_client.get("/arrow/kernel").content).read_all()
    as_json = kept_client.get("/arrow/kernel?format=json")
    assert as_json.headers["content-type"] == "application/json"
    assert as_json.json() == rows.to_pylist()
    as_csv = kept_client.get("/arrow/kernel?format=csv")
    assert as_csv.headers["content-type"].startswith("text/csv")
    assert pacsv.read_csv(io.BytesIO(as_csv.content))["end_ns"].to_pylist() == [10, 50, 70]


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", ARROW),
        ("*/*", ARROW),
        ("text/html,application/xhtml+xml,*/*;q=0.8", ARROW),
        ("application/json", "application/json"),
        ("TEXT/CSV", "text/csv"),
        ("text/csv;q=0.5, application/json;q=0.9", "application/json"),
        ("application/json;q=0, text/csv", "text/csv"),
        ("text/*", "text/csv"),
        ("application/json;q=x, text/csv", "text/csv"),
    ],
)
def test_the_header_accept_chooses(kept_client: Any, accept: str, wanted: str) -> None:
    response = kept_client.get("/arrow/kernel", headers={"Accept": accept})
    assert response.headers["content-type"].partition(";")[0] == wanted


def test_what_is_not_acceptable_is_said(client: Any) -> None:
    refused = error(client.get("/arrow/kernel", headers={"Accept": "image/png"}), 406)
    assert "text/csv" in refused["hint"]


def test_parameters_scope_sort_and_limit(kept_client: Any) -> None:
    def names(address: str) -> list[str]:
        return [row["name"] for row in kept_client.get(f"/arrow/{address}&format=json").json()]

    assert names("kernel?from=15ns") == ["b", "b"]
    assert names("kernel?sort=end_ns:desc&limit=2") == ["b", "b"]
    assert names("kernel?limit=0") == []
    assert names("kernel_summary?to=15ns") == ["a"]
    found = kept_client.get("/arrow/gap_attribution?param=min_ns=10&format=json")
    assert found.status_code == 200, found.text


def test_the_part_is_said(client: Any) -> None:
    assert client.get("/arrow/kernel?from=15ns").headers["x-cupti-etl-part"] == "from 15ns"
    assert "x-cupti-etl-part" not in client.get("/arrow/kernel").headers


@pytest.mark.parametrize(
    ("address", "status", "detail", "hint"),
    [
        ("/arrow/kernl", 404, "no query or table 'kernl'", "did you mean kernel"),
        ("/arrow/zzzzzz", 404, "no query or table", "GET / lists"),
        ("/nothing", 404, "there is no address /nothing", "GET /"),
        ("/arrow/kernel/", 404, "there is no address /arrow/kernel/", "GET /"),
        ("/arrow/kernel?stpes=1", 422, "no parameter 'stpes'", "did you mean steps"),
        ("/arrow/kernel?gpu=0&gpu=1", 422, "gpu is given twice", "once"),
        ("/arrow/kernel?gpu=x", 422, "gpu: 'x' is not a number", "0,2"),
        ("/arrow/kernel?gpu=7", 422, "no GPU 7", ""),
        ("/arrow/kernel?limit=-1", 422, "limit: '-1'", "limit=1000"),
        ("/arrow/kernel?limit=9e9", 422, "limit: '9e9'", "limit=1000"),
        ("/arrow/kernel?limit=99999999999999999999", 422, "limit: ", "limit=1000"),
        ("/arrow/kernel?sort=nam", 422, "no column 'nam'", "did you mean name"),
        ("/arrow/kernel?sort=name:up", 422, "'up' is not a sort order", ""),
        ("/arrow/kernel?format=xml", 422, "no format 'xml'", "arrow, json, csv"),
        ("/arrow/kernel?from=9s&to=1s", 422, "is empty", ""),
        ("/arrow/kernel?from=soon", 422, "soon", ""),
        ("/arrow/kernel?param=x=1", 422, "is a table", ""),
        ("/arrow/kernel_summary?param=x=1", 422, "no parameter 'x'", ""),
        ("/arrow/kernel_summary?param=x", 422, "is not NAME=VALUE", ""),
        ("/arrow/gap_attribution?param=min_ns=x", 422, "min_ns takes BIGINT, not 'x'", ""),
    ],
)
def test_errors(kept_client: Any, address: str, status: int, detail: str, hint: str) -> None:
    said = error(kept_client.get(address), status)
    assert detail in said["detail"]
    assert hint in said["hint"]


def test_another_method_is_refused(client: Any) -> None:
    assert "POST for /sql" in error(client.get("/sql"), 405)["hint"]
    said = error(client.post("/arrow/kernel"), 405)
    assert said["detail"] == "/arrow/kernel is not asked with POST"
    error(client.delete("/"), 405)


def test_head_computes_nothing(client: Any) -> None:
    response = client.head("/arrow/kernel")
    assert (response.status_code, response.content) == (200, b"")


def test_the_index_links_to_what_answers(kept_client: Any) -> None:
    page = kept_client.get("/").text
    links = re.findall('href="([^"]+)"', page)
    assert any("/arrow/kernel_summary?" in link for link in links)
    for link in [each for each in links if "format=json" in each][:40:5]:
        # Without the header, as a browser follows it.
        found = kept_client.get(link.replace("&amp;", "&"), headers={"Authorization": ""})
        assert found.status_code == 200, (link, found.text)


def test_the_description_has_every_query_and_parameter(kept_client: Any) -> None:
    said = kept_client.get("/openapi.json").json()
    for query in library():
        assert (f"/arrow/{query.name}" in said["paths"]) is not query.is_building_block
    summary = said["paths"]["/arrow/kernel_summary"]["get"]
    assert {*SCOPE_NAMES, "limit"} <= {each["name"] for each in summary["parameters"]}
    row = summary["responses"]["200"]["content"]["application/json"]["schema"]["items"]
    (shown,) = kept_client.get("/arrow/kernel_summary?format=json&limit=1").json()
    assert list(row["properties"]) == list(shown)


def test_health_needs_no_token(client: Any) -> None:
    response = client.get("/health", headers={"Authorization": ""})
    assert response.json() == {"status": "ok"}


def test_new_parts_are_in_the_next_answer(client: Any, folder: Path) -> None:
    def count() -> tuple[int, int]:
        rows = client.get("/arrow/kernel?format=json").json()
        (row,) = client.post("/sql?format=json", content="SELECT count(*) AS n FROM kernel").json()
        return len(rows), row["n"]

    assert count() == (3, 3)
    add_part(folder, "kernel", "start_ns end_ns name\n90 99 c")
    assert count() == (4, 4)


def test_several_traces_are_served_as_one(serve: Serve, tmp_path: Path) -> None:
    paths = [
        write_trace(tmp_path / name, kernel=f"start_ns end_ns name\n1 2 {name}")
        for name in ("one", "two")
    ]
    client = serve(*paths)
    assert len(client.get("/arrow/kernel?format=json").json()) == 2
    assert len(client.post("/sql?format=json", content="FROM kernel").json()) == 2


@pytest.mark.slow
def test_a_self_contained_file_is_served(serve: Serve, folder: Path, tmp_path: Path) -> None:
    from cupti_etl.render.duckdb_file import export_duckdb

    file = tmp_path / "run42.duckdb"
    with cupti_etl.open(folder) as trace:
        export_duckdb(trace, file)
    client = serve(file)
    assert len(client.get("/arrow/kernel?format=json").json()) == 3
    assert len(client.post("/sql?format=json", content="FROM kernel").json()) == 3


def test_a_trace_that_is_gone_names_no_path(client: Any, folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    said = error(client.get("/arrow/kernel"), 500)
    assert str(folder.parent) not in json.dumps(said)


def test_a_damaged_part_names_no_path(client: Any, folder: Path) -> None:
    (part,) = (folder / "kernel").iterdir()
    part.write_bytes(b"PAR1 this is no part PAR1")
    said = error(client.get("/arrow/kernel"), 500)
    assert "run42/kernel/part-000000.parquet is damaged" in said["detail"]
    assert str(folder.parent) not in json.dumps(said)


@pytest.mark.slow
def test_what_is_compared_begins_with_the_verdict(serve: Serve, tmp_path: Path) -> None:
    traces = [write_trace(tmp_path / name, process="process_id pid\n1 10") for name in "ab"]
    answer = serve(*traces).get("/compare?format=shown").json()
    assert answer["notes"] == ["verdict: cannot tell: neither run has finished kernels"]


@pytest.mark.slow
def test_the_page_compares_the_part_that_the_command_does(serve: Serve, tmp_path: Path) -> None:
    # Between the warm-up and the last there are 4 steps.
    starts = (0, 3000, 4000, 5000, 6000, 7000)
    kernels = [f"1 0 {at} {at + 100} {at + 400} k" for at in starts]
    calls = [f"1 5 {at} runtime cudaLaunchKernel {at + 10} {at + 20}" for at in starts]
    marks = [f"1 5 {at} start {at} step\n1 5 {at} end {at + 990} step" for at in starts]
    tables = {
        "device": "process_id device_id device_uuid\n1 0 GPU-a",
        "kernel": "process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(kernels),
        "api_call": "process_id thread_id correlation_id domain name start_ns end_ns\n"
        + "\n".join(calls),
        "marker": "process_id thread_id marker_id event timestamp_ns name\n" + "\n".join(marks),
    }
    traces = [write_trace(tmp_path / name, **tables) for name in "ab"]
    answer = serve(*traces).get("/compare?format=shown").json()
    part = "steps 1-4 of 0-5, after the warm-up and without the last"
    assert answer["part"] == f"a: {part}; b: {part}"
    assert answer["command"] == "cupti-etl diff a b"
    (calls,) = (each for each in answer["columns"] if each["name"] == "after_calls")
    assert set(calls["values"]) == {4}


def test_headings_are_words_but_for_those_that_a_statement_chose(client: Any) -> None:
    def headings(answer: Any) -> list[str]:
        return [each["heading"] for each in answer.json()["columns"]]

    assert "grid x" in headings(client.get("/arrow/kernel?format=shown"))
    statement = "SELECT 1 AS my_own, grid_x FROM kernel"
    assert headings(client.post("/sql?format=shown", content=statement)) == ["my_own", "grid_x"]
