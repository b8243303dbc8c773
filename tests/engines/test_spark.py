"""Spark as an engine, where it and Java are installed: too large for every run of the tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.errors import UsageError

TESTS = Path(__file__).parents[1]
has_spark = pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None,
    reason="Spark or Java is not installed: pip install --group spark",
)
MADE = {
    "process": "process_id pid host\n 1 11 a\n 2 12 b",
    "device": "process_id device_id device_uuid\n 1 0 GPU-a\n 2 0 GPU-b",
    "kernel": """
        process_id device_id start_ns end_ns name
        1          0         100      200    gemm
        2          0         150      300    gemm
        2          0         250      400    copy
    """,
}
# In a process of its own, as Spark's Java stays beside the one that it is started in.
KILLED = """
import sys
from pathlib import Path

from support import dying

from cupti_etl.engines.spark import Spark
from cupti_etl.errors import EngineError

noted = Path(sys.argv[1])
tasks = [dying.Square(number, noted, number) for number in range(3)]
print(sorted((done.place, done.result, done.attempts) for done in Spark().run(dying.square, tasks)))
try:
    list(Spark().run(dying.square, [dying.Square(9, noted, 3)]))
except EngineError as error:
    print(error.message)
try:
    list(Spark().run(dying.refused, [dying.Square(5, noted)]))
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def run(tmp_path: Path) -> str:
    return str(write_trace(tmp_path / "run", **MADE))


@pytest.mark.slow
@has_spark
def test_spark_answers_as_one_duckdb_does(run: str) -> None:
    def rows(*engine: str) -> list[dict[str, object]]:
        words = [sys.executable, "-m", "cupti_etl", "query", "gpu_busy", run, *engine]
        done = subprocess.run(
            [*words, "--format", "json"], capture_output=True, text=True, check=True
        )
        return list(json.loads(done.stdout))

    assert [row["busy_ns"] for row in rows()] == [100, 250]
    assert rows("--engine", "spark") == rows()


@pytest.mark.slow
@has_spark
def test_workers_of_spark_that_are_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert done.stdout.splitlines() == [
        "[(0, 0, 1), (1, 1, 2), (2, 4, 3)]",
        "number 9: its worker died 3 times, the last time of Python worker exited unexpectedly",
        "TraceError 5 cannot be read",
    ]


def test_without_spark_its_extra_is_named(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with cupti_etl.open(run) as trace, pytest.raises(UsageError) as raised:
        trace.engine("spark").query("gpu_busy")
    assert raised.value.message == "Spark is not installed"
    assert raised.value.hint == "pip install 'cupti-etl[spark]'"
