"""A trace of a few rows, and who asks it as a widget does."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.trace import write_tables

import cupti_etl
from cupti_etl.api import Trace

KERNELS = """
    start_ns end_ns  name process_id device_id stream_id
    1000000  1400000 gemm 1          0         7
    1600000  1900000 copy 1          0         7
    2600000  2700000 gemm 1          0         7
"""
CAPTURE = "capture_id start_ns end_ns\n1 1000000 3000000"


class Asker:
    """Sends questions, and waits for answers."""

    def __init__(self, trace: Trace) -> None:
        from cupti_etl.jupyter.answers import Answers

        self.heard: queue.Queue[tuple[dict[str, Any], list[bytes]]] = queue.Queue()
        self.answers = Answers(trace, lambda *told: self.heard.put(told))
        self._asked = 0

    def ask(self, **question: Any) -> tuple[dict[str, Any], list[bytes]]:
        self._asked += 1
        self.answers.take({"id": str(self._asked), **question})
        content, buffers = self.heard.get(timeout=120)
        assert content["id"] == str(self._asked)
        return content, buffers

    def rows(self, **question: Any) -> list[dict[str, Any]]:
        content, (stream,) = self.ask(**question)
        assert set(content) == {"id"}
        found: list[dict[str, Any]] = pa.ipc.open_stream(stream).read_all().to_pylist()
        return found

    def error(self, **question: Any) -> dict[str, Any]:
        content, buffers = self.ask(**question)
        assert buffers == []
        assert set(content["error"]) == {"title", "detail", "hint", "status"}
        found: dict[str, Any] = content["error"]
        return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kept") / "run42"
    return write_tables(place, kernel=KERNELS, capture=CAPTURE)


@pytest.fixture
def trace(folder: Path) -> Iterator[Trace]:
    with cupti_etl.open(folder) as opened:
        yield opened


@pytest.fixture
def asker(trace: Trace) -> Iterator[Asker]:
    made = Asker(trace)
    yield made
    made.answers.close()
