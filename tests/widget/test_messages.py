"""Messages of a widget, and what comes back: rows, errors, and nothing that was taken back."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from serve.test_statements import HOSTILE
from support.slow import few
from support.waiting import wait_until
from widget.conftest import Asker

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.jupyter.answers import Answers

# Longer than anybody waits.
ENDLESS = "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c"


def test_rows_of_a_query(asker: Asker) -> None:
    lanes = asker.rows(name="timeline_lane", params={})
    assert [(row["label"], row["items"]) for row in lanes if row["content"] == "stream"] == [
        ("stream 7", 3)
    ]
    marks = asker.rows(name="timeline_mark", params={"from_ns": "0", "bucket_ns": "1"})
    assert [row["label"] for row in marks if row["label"] == "gemm"] == ["gemm", "gemm"]


def test_rows_are_as_a_browser_reads_them(asker: Asker) -> None:
    _, (stream,) = asker.ask(name="kernel")
    (batch,) = pa.ipc.open_stream(stream)
    # Compressed buffers have a length before them: here is none.
    assert batch.serialize().size < len(stream)
    assert b"gemmcopygemm" in stream


def test_rows_of_a_statement(asker: Asker) -> None:
    assert asker.rows(sql="SELECT count(*) AS n FROM kernel") == [{"n": 3}]


@pytest.mark.parametrize(
    ("question", "status", "detail"),
    [
        ({"name": "kernl"}, 404, "there is no query or table 'kernl'"),
        ({"name": "timeline_mark", "params": {"from": "0"}}, 422, "no parameter"),
        ({"name": "timeline_mark", "params": {"from_ns": "x"}}, 422, "from_ns"),
        ({"name": "kernel", "params": {"x": "1"}}, 422, "takes no param"),
        ({"name": "kernel", "params": ["x"]}, 422, "a question has"),
        ({"sql": "SELECT nothing FROM kernel"}, 422, "nothing"),
        ({"sql": 3}, 422, "a question has"),
        ({}, 422, "a question has"),
    ],
)
def test_errors(asker: Asker, question: dict[str, object], status: int, detail: str) -> None:
    error = asker.error(**question)
    assert error["status"] == status
    assert detail in error["detail"]


@pytest.mark.parametrize("statement", few(20, HOSTILE), ids=lambda text: repr(text[:50]))
def test_what_does_not_run(asker: Asker, folder: Path, statement: str) -> None:
    (part,) = (folder / "kernel").iterdir()
    content, out = part.read_bytes(), folder.parent / "out"
    text = statement.replace("{part}", str(part)).replace("{out}", str(out))
    assert asker.error(sql=text)["status"] == 422
    assert part.read_bytes() == content
    assert not out.exists()


def test_paths_stay_here(asker: Asker, folder: Path) -> None:
    error = asker.error(sql=f"FROM '{folder}/kernel/none.parquet'")
    assert "none.parquet" in error["detail"]
    assert str(folder.parent) not in str(error)


def test_an_answer_has_an_end(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cupti_etl.jupyter.answers._MOST_BYTES", 1 << 20)
    asker = Asker(trace)
    error = asker.error(sql="SELECT range AS n FROM range(1000000)")
    assert error["detail"] == "the answer is larger than 1 MiB"
    assert asker.rows(sql="SELECT 1 AS n") == [{"n": 1}]


def test_what_is_taken_back_gives_nothing(asker: Asker) -> None:
    asker.answers.take({"id": "slow", "sql": ENDLESS})
    asker.answers.take({"id": "slow", "stop": True})
    assert asker.rows(sql="SELECT 1 AS n") == [{"n": 1}]
    assert asker.heard.empty()
    assert asker.answers.is_idle


def test_fast_zooming_queues_nothing(asker: Asker) -> None:
    for each in range(50):
        asker.answers.take({"id": f"z{each}", "sql": ENDLESS})
        asker.answers.take({"id": f"z{each}", "stop": True})
    assert asker.rows(name="timeline_mark", params={"bucket_ns": "1000"})
    assert asker.heard.empty()


def test_the_same_question_again_replaces_the_former(asker: Asker) -> None:
    asker.answers.take({"id": "1", "sql": ENDLESS})
    assert asker.rows(sql="SELECT 2 AS n") == [{"n": 2}]
    assert asker.heard.empty()


def test_what_is_no_message_is_left_alone(asker: Asker) -> None:
    for message in ({}, {"id": 3, "sql": "SELECT 1"}, {"id": None}, {"id": "x", "stop": True}):
        asker.answers.take(message)
    assert asker.answers.is_idle
    assert asker.rows(sql="SELECT 1 AS n") == [{"n": 1}]


def test_closing_leaves_nothing(trace: Trace) -> None:
    asker = Asker(trace)
    asker.answers.take({"id": "slow", "sql": ENDLESS})
    (running, work) = asker.answers._running["slow"]
    asker.answers.close()
    wait_until(work.done)
    assert running._sessions == []
    assert asker.answers._opened.for_strangers._opened is None
    asker.answers.take({"id": "late", "sql": "SELECT 1"})
    assert asker.answers.is_idle
    assert asker.heard.empty()


def test_a_closed_trace_says_so(folder: Path) -> None:
    with cupti_etl.open(folder) as trace:
        asker = Asker(trace)
    assert asker.error(name="timeline_lane")["detail"] == "the trace is closed"


def test_a_fault_says_what_it_is(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("cupti_etl.jupyter.answers.rows_of", fail)
    error = asker.error(name="kernel")
    assert error["status"] == 500
    assert error["detail"] == "ZeroDivisionError: by zero"


def test_answers_go_back_to_the_loop_and_the_cell(trace: Trace) -> None:
    cell: contextvars.ContextVar[str] = contextvars.ContextVar("cell")

    async def main() -> tuple[object, str]:
        heard: asyncio.Future[tuple[object, str]] = asyncio.get_running_loop().create_future()
        answers = Answers(
            trace, lambda *_: heard.set_result((asyncio.get_running_loop(), cell.get()))
        )
        cell.set("the first")
        answers.take({"id": "1", "name": "kernel"})
        cell.set("another")
        loop, told = await heard
        answers.close()
        return loop is asyncio.get_running_loop(), told

    assert asyncio.run(main()) == (True, "the first")


def test_no_server_is_loaded() -> None:
    code = (
        "import sys, cupti_etl.jupyter.answers\n"
        "print([n for n in ('starlette', 'uvicorn', 'anywidget') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
