"""The comparison of exact counters with Nsight Compute's can fail, and runs to its end."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest
from support.captures import PACKAGES
from support.fakes import CUPTI_13, Fakes, kernel_name

pytestmark = pytest.mark.slow

ROW = {"name": "copy", "metric": "smsp__inst_executed.sum", "exact": 100.0, "ncu": 100.0}
WHOLE = [{"launches": 3, "is_whole": True}, {"launches": 0, "is_whole": True}]


def judged(rows: list[dict[str, Any]], join: list[dict[str, Any]] = WHOLE) -> dict[str, Any]:
    from range_metrics import judge

    found: dict[str, Any] = judge(rows, join)
    return found


def row(apart: float | None, **others: Any) -> dict[str, Any]:
    return {**ROW, "ncu": 100 + (apart or 0), "ncu_apart_pct": apart, **others}


def test_what_agrees_passes() -> None:
    done = judged([row(0.0), row(1.9, metric="dram__bytes_read.sum")])
    assert (done["ok"], done["compared"], done["within"]) == (True, 2, 2)


@pytest.mark.parametrize(
    ("rows", "join"),
    [
        ([row(2.1)], WHOLE),
        ([row(0.1)], WHOLE),
        ([], WHOLE),
        ([row(None, ncu=None)], WHOLE),
        ([row(0.0)], [{"launches": 3, "is_whole": False}]),
        ([row(0.0)], []),
    ],
)
def test_what_does_not_agree_fails(rows: list[dict[str, Any]], join: list[dict[str, Any]]) -> None:
    assert judged(rows, join)["ok"] is False


def test_what_depends_on_the_machine_is_listed_and_not_judged() -> None:
    done = judged([row(0.0), row(30.0, metric="gpu__time_duration.sum")])
    assert done["ok"] is True
    assert [each["metric"] for each in done["apart"]] == ["gpu__time_duration.sum"]


def test_what_ncu_rounds_is_not_apart() -> None:
    done = judged([row(0.0), row(-20.9, exact=0.0126, ncu=0.01)])
    assert (done["ok"], done["apart"]) == (True, [])


def test_of_what_is_apart_it_is_said_whether_launches_differ_as_much() -> None:
    from range_metrics import judge

    spread = {"name": "copy", "least": 90.0, "most": 104.0, "ncu_least": 103.0, "ncu_most": 140.0}
    metric = "dram__bytes_read.sum"
    found = judge([row(30.0, metric=metric)], WHOLE, [{**spread, "metric": metric}])
    assert (found["overlapping"], found["apart"][0]["overlap"]) == (1, True)
    found = judge([row(30.0, metric=metric)], WHOLE, [{**spread, "metric": metric, "most": 100.0}])
    assert (found["overlapping"], found["apart"][0]["overlap"]) == (0, False)


def test_a_round_runs_to_its_end(
    fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a fake CUPTI and an ncu that answers what the fake does, but for one metric."""
    from range_metrics import compare
    from runs import Runner

    metrics = ("smsp__inst_executed.sum", "smsp__inst_issued.sum")
    monkeypatch.setattr("range_metrics.ROUNDS", {"small": (1, metrics)})
    for name, value in fakes.env(CUPTI_13).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", f"{PACKAGES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    program = tmp_path / "program"
    words = fakes.program(launches=2, names=1)
    program.write_text(f"#!/bin/sh\nexec {' '.join(words)} > /dev/null\n")
    head = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size"]
    lines = [
        [*head, "Grid Size", *metrics],
        [""] * 7 + ["inst", "inst"],
        ["0", "7", "x", "x", kernel_name(0), "(128, 4, 1)", "(1, 2, 3)", "1", "2"],
    ]
    ncu = tmp_path / "ncu"
    page = "\n".join(",".join(f'"{word}"' for word in line) for line in lines)
    ncu.write_text(f"#!/bin/sh\ncat <<'EOF'\n{page}\nEOF\n")
    for script in (program, ncu):
        script.chmod(0o755)
    options = argparse.Namespace(
        work=tmp_path,
        program=program,
        ncu=str(ncu),
        cupti=str(fakes.cupti(CUPTI_13)),
        cache="flush",
    )
    report = compare(Runner(tmp_path, tmp_path / "log", 300), options, "small")
    assert {step: run["status"] for step, run in report["runs"].items()} == {
        "check": 0, "capture": 0, "ncu": 0, "import": 0,
    }, report  # fmt: skip
    assert report["ok"] is False
    assert [each["is_whole"] for each in report["join"]] == [True]
    assert {each["metric"] for each in report["counters"]} == set(metrics)
    assert {each["ncu"] for each in (*report["apart"], *report["one_sided"])} >= {1.0}
