"""Ray and Spark as engines, where they are installed: too large for every run of the tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.trace import write_trace

import cupti_etl
from cupti_etl.errors import UsageError

TESTS = Path(__file__).parents[1]
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
# In a process of its own, as Ray, or Spark's Java, stays beside the one that it is started in.
KILLED = """
import sys
from importlib import import_module
from pathlib import Path

from support import dying

from cupti_etl.errors import EngineError

noted, module, name = Path(sys.argv[1]), *sys.argv[2:]
Engine = getattr(import_module(f"cupti_etl.engines.{module}"), name)
tasks = [dying.Square(number, noted, number) for number in range(3)]
done = Engine().run(dying.square, tasks)
print(sorted((each.place, each.result, each.attempts) for each in done))
try:
    list(Engine().run(dying.square, [dying.Square(9, noted, 3)]))
except EngineError as error:
    print(error.message)
try:
    list(Engine().run(dying.refused, [dying.Square(5, noted)]))
except Exception as error:
    print(type(error).__name__, error)
"""


@dataclass(frozen=True)
class Extra:
    """An engine that is an extra: its class, what it is installed as, and how its workers die."""

    name: str
    module: str
    class_name: str
    package: str
    death: str
    needs: str = ""

    @property
    def is_there(self) -> bool:
        program = not self.needs or shutil.which(self.needs) is not None
        return program and find_spec(self.package) is not None


RAY = Extra("ray", "ray_tasks", "Ray", "ray", "WorkerCrashedError")
SPARK = Extra("spark", "spark", "Spark", "pyspark", "Python worker exited unexpectedly", "java")


def installed(extra: Extra) -> object:
    what = " or ".join(filter(None, (extra.class_name, extra.needs)))
    reason = f"{what} is not installed: pip install --group {extra.name}"
    marks = [pytest.mark.slow, pytest.mark.skipif(not extra.is_there, reason=reason)]
    return pytest.param(extra, id=extra.name, marks=marks)


@pytest.fixture
def run(tmp_path: Path) -> str:
    return str(write_trace(tmp_path / "run", **MADE))


@pytest.mark.parametrize("extra", [installed(RAY), installed(SPARK)])
def test_it_answers_as_one_duckdb_does(extra: Extra, run: str) -> None:
    def rows(*engine: str) -> list[dict[str, object]]:
        words = [sys.executable, "-m", "cupti_etl", "query", "gpu_busy", run, *engine]
        done = subprocess.run(
            [*words, "--format", "json"], capture_output=True, text=True, check=True
        )
        return list(json.loads(done.stdout))

    assert [row["busy_ns"] for row in rows()] == [100, 250]
    assert rows("--engine", extra.name) == rows()


@pytest.mark.parametrize("extra", [installed(RAY), installed(SPARK)])
def test_workers_that_are_killed(extra: Extra, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), extra.module, extra.class_name],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )
    assert done.stdout.splitlines() == [
        "[(0, 0, 1), (1, 1, 2), (2, 4, 3)]",
        f"number 9: its worker died 3 times, the last time of {extra.death}",
        "TraceError 5 cannot be read",
    ]


@pytest.mark.parametrize("extra", [RAY, SPARK], ids=lambda extra: extra.name)
def test_without_it_its_extra_is_named(
    extra: Extra, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, extra.package, None)
    with cupti_etl.open(run) as trace, pytest.raises(UsageError) as raised:
        trace.engine(extra.name).query("gpu_busy")
    assert raised.value.message == f"{extra.class_name} is not installed"
    assert raised.value.hint == f"pip install 'cupti-etl[{extra.name}]'"
