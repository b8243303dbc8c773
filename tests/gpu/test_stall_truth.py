"""The comparison of stall reasons with their causes and Nsight Compute's can fail."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

_STALLED = "smsp__pcsamp_warps_issue_stalled_"
NCU = f"""==PROF== x
"ID","Kernel Name","{_STALLED}barrier","{_STALLED}selected","{_STALLED}barrier_not_issued"
"","","warp","warp","warp"
"0","stall_barrier","1,500","400","9"
"1","stall_barrier","100","0","9"
"2","other","n/a","","9"
"""
SHARES = {"stall_barrier": {"barrier": 80.0, "selected": 20.0}}


def rows(**percents: float) -> list[dict[str, Any]]:
    """Rows of kernel_stall: each kernel waits as it was written to, but for what is given."""
    from stall_truth import EXPECTED

    found = []
    for kernel, (reason, *_) in EXPECTED.items():
        percent = percents.get(kernel, 80.0)
        shares = {reason: percent, "selected": 20.0, "wait": 80.0 - percent}
        found += [
            {"name": kernel, "reason": each, "percent": share, "kernel_samples": 5000}
            for each, share in shares.items()
        ]
    return found


def test_shares_of_ncu_are_summed_over_launches() -> None:
    from stall_truth import ncu_shares

    assert ncu_shares(NCU) == SHARES
    assert ncu_shares("==ERROR== no counters") == {}


def test_what_agrees_passes() -> None:
    from stall_truth import judge

    done = judge(rows(stall_barrier=76.0), SHARES)
    assert (done["ok"], done["compared"], done["apart"]) == (True, ["stall_barrier"], [])


@pytest.mark.parametrize(
    ("percents", "theirs"),
    [
        ({"stall_barrier": 30.0}, {"stall_barrier": {"barrier": 30.0, "wait": 50.0}}),
        ({"stall_barrier": 70.0}, SHARES),
        ({}, {}),
    ],
    ids=["another cause", "apart from ncu", "no ncu"],
)
def test_what_does_not_agree_fails(percents: dict[str, float], theirs: dict[str, Any]) -> None:
    from stall_truth import judge

    assert judge(rows(**percents), theirs)["ok"] is False


@pytest.mark.parametrize(("counted", "ok"), [(68.0, True), (76.0, False)])
def test_where_ncu_differs_what_was_counted_decides(counted: float, ok: bool) -> None:
    from stall_truth import EXACT_METRICS, exact_shares, judge

    cycles = {"barrier": counted, "selected": 20.0, "wait": 80.0 - counted}
    names = {f"smsp__warps_issue_stalled_{reason}.sum": n for reason, n in cycles.items()}
    assert names.keys() <= {*EXACT_METRICS}
    exact = exact_shares(
        {"name": "stall_barrier", "metric": name, "value": n} for name, n in names.items()
    )
    assert exact == {"stall_barrier": pytest.approx(cycles)}
    done = judge(rows(stall_barrier=70.0), SHARES, exact)
    assert done["ok"] is ok
    assert [each["reason"] for each in done["apart"]] == ["barrier", "wait"]


def test_without_samples_it_fails() -> None:
    from stall_truth import judge

    assert judge([], SHARES)["ok"] is False
