"""The comparison of several runs with replayed kernels can fail, and runs to its end."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest
from support.captures import PACKAGES
from support.fakes import CUPTI_13, Fakes

pytestmark = pytest.mark.slow

EXACT, RATE = "smsp__inst_executed.sum", "l1tex__t_sector_hit_rate.pct"
KERNEL = {"name": "copy", "range_id": 1, "metric": EXACT, "value": 100.0}
RUN = {**KERNEL, "run": 1, "missing": None}
SAME = [{"run": 2, "is_same": True}]


@pytest.mark.parametrize(
    ("runs", "check", "is_ok"),
    [
        ([RUN], SAME, True),
        ([RUN, {**RUN, "metric": RATE, "value": 100.5}], SAME, True),
        ([RUN, {**RUN, "metric": RATE, "value": 157.0}], SAME, False),
        ([RUN, {**RUN, "metric": RATE, "value": None}], SAME, False),
        ([{**RUN, "value": 101.0}], SAME, False),
        ([{**RUN, "value": None}], SAME, False),
        ([RUN, {**RUN, "range_id": 2}], SAME, False),
        ([], SAME, False),
        ([RUN], [], False),
        ([RUN], [*SAME, {"run": 3, "is_same": False}], False),
    ],
)
def test_several_runs_have_to_count_the_same(
    runs: list[dict[str, Any]], check: list[dict[str, Any]], is_ok: bool
) -> None:
    from application_replay import judge

    assert judge([KERNEL], runs, check)["ok"] is is_ok


def test_ranges_have_to_be_sums_of_their_kernels() -> None:
    import application_replay as script

    kernels = [
        {**KERNEL, "metric": metric, "range_id": n} for metric in script.SAME for n in (1, 2)
    ]
    ranges = [{**row, "name": "round"} for row in kernels]
    assert script.judge_ranges(kernels, ranges)["ok"]
    assert not script.judge_ranges(kernels, ranges[1:])["ok"]
    assert not script.judge_ranges(kernels, [{**ranges[0], "value": 99.0}, *ranges[1:]])["ok"]


def test_other_launches_have_to_be_seen() -> None:
    from application_replay import judge_differing

    small = {**RUN, "name": "counted_small", "run": 2, "value": None, "missing": "other"}
    copy, differs = {**RUN, "run": 2}, [{"run": 2, "is_same": False}]
    assert judge_differing([small, copy], differs)["ok"]
    assert not judge_differing([small, copy], SAME)["ok"]
    assert not judge_differing([{**small, "value": 3.0, "missing": None}, copy], differs)["ok"]
    assert not judge_differing([small, {**copy, "value": None}], differs)["ok"]
    assert not judge_differing([copy], differs)["ok"]


def test_the_round_runs_to_its_end(
    fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a fake CUPTI, whose kernels have other names: so what has to be seen of these is not."""
    import application_replay as script
    from runs import Runner

    # Names that the fake has, and more of them than it counts in a pass.
    monkeypatch.setattr(script, "OTHERS", ("dram__bytes_read.sum",))
    for name, value in fakes.env(CUPTI_13).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", f"{PACKAGES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    program = tmp_path / "program"
    words = fakes.program(names=2, range_every=4, range_gap=0, range_name="round")
    program.write_text(
        "#!/bin/sh\n"
        'more=0; [ "$3" = differing ] && more=$CUPTI_ETL_REPLAY_RUN\n'
        f"exec {' '.join(words)} --launches=$((8 + more)) > /dev/null\n"
    )
    program.chmod(0o755)
    options = argparse.Namespace(
        out=tmp_path / "out", work=tmp_path, program=program, cupti=str(fakes.cupti(CUPTI_13))
    )
    report = script.application(Runner(tmp_path, tmp_path / "log", 300), options)
    assert {name: run["status"] for name, run in report["captures"].items()} == {
        "kernels": 0, "runs": 0, "ranges": 0, "differing": 0, "cooperative": 0, "sass": 0,
    }, report  # fmt: skip
    assert {path.name for path in (tmp_path / "out" / "traces").iterdir()} == set(script.KEPT)
    assert report["kernel"]["ok"], report["kernel"]
    assert (report["kernel"]["runs"], report["kernel"]["compared"]) == (2, 8 * len(script.SAME))
    assert report["range"]["ok"], report["range"]
    assert not any(row["is_same"] for row in report["differing"]["check"])
    assert report["ok"] is report["cooperative"]["ok"] is False
