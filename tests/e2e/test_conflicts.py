"""Another CUPTI client comes and goes, in a program of 8,000 launches in four seconds.

It comes after 1,000 of them (half a second) and stays for 2,000 (a second).  That it came is
noticed with the call that is made each second, and whether it left is looked at each second.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13

PROGRAM = {
    "launches": 8000, "rate": 2000, "takeover_at": 1000, "takeover_for": 2000,
    "takeover_kinds": "10,5", "takeover_subscribe": 1,
}  # fmt: skip
LEAVES = {"takeover_unsubscribe": 1}


def run(capturer: Capturer, policy: str, release: str = CUPTI_13, **program: object) -> Capture:
    return capturer.run(
        release,
        ["--flush-ms", "5", "--on-conflict", policy],
        fake={"driver_version_recorded": 1},
        **{**PROGRAM, **program},
    )


def windows(capture: Capture) -> list[tuple[str, str]]:
    rows = sorted(capture.rows("capture_window"), key=lambda row: row["start_ns"])
    return [(row["opened_by"], row["closed_by"]) for row in rows]


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
@pytest.mark.parametrize("how", [LEAVES, {**LEAVES, "takeover_finalize": 1}])
def test_yield_comes_back_when_the_other_has_left(
    capturer: Capturer, release: str, how: dict[str, int]
) -> None:
    capture = run(capturer, "yield", release, **how)
    assert capture.status == 4
    assert "another CUPTI client (such as torch.profiler) took over" in capture.stderr
    assert windows(capture) == [("process", "other_client"), ("other_client", "process")]
    (loss,) = capture.losses()["other_client"]
    first, second = sorted(capture.rows("capture_window"), key=lambda row: row["start_ns"])
    assert loss["records"] is None
    assert loss["start_ns"] <= first["end_ns"] < second["start_ns"] <= loss["end_ns"] + 10**9
    # Before it came, and from at most two seconds after it left.
    assert 1000 + 1500 < capture.count("kernel") <= 8000 - 1900
    during = [
        r
        for r in capture.rows("kernel")
        if first["end_ns"] + 10**7 < r["start_ns"] < second["start_ns"]
    ]
    assert during == []


def test_yield_stays_away_while_the_other_keeps_its_subscription(capturer: Capturer) -> None:
    capture = run(capturer, "yield")
    assert capture.status == 4
    assert windows(capture) == [("process", "other_client")]
    assert 900 < capture.count("kernel") <= 1000


def test_keep_takes_the_records_back(capturer: Capturer) -> None:
    capture = run(capturer, "keep", takeover_for=6000)
    assert capture.status == 4
    assert windows(capture) == [("process", "other_client"), ("other_client", "process")]
    # All but those of the second in which it was not noticed; what the other's buffer held
    # when we came back is ours.
    assert capture.count("kernel") > 5500


def test_fail_ends_the_program(capturer: Capturer) -> None:
    capture = run(capturer, "fail")
    assert capture.status == 4
    assert "the capture is incomplete: another CUPTI client" in capture.stderr
    assert capture.rows("capture")[0]["exit_status"] == 128 + 15
    assert 900 < capture.count("kernel") <= 1000


@pytest.mark.parametrize("policy", ["yield", "keep", "fail"])
def test_another_was_there_first(capturer: Capturer, policy: str) -> None:
    capture = capturer.run(
        options=["--on-conflict", policy], fake={"other_client": True}, launches=50, linger_ms=300
    )
    if policy == "keep":
        assert (capture.status, capture.count("kernel")) == (0, 50)
    else:
        assert (capture.status, capture.count("kernel")) == (4, 0)
        assert "another CUPTI client" in capture.stderr
        assert len(capture.losses()["other_client"]) == 1


def test_selected_records_leave_no_room_for_an_older_client(capturer: Capturer) -> None:
    capture = capturer.run(
        CUPTI_13, ["--records", "selected"], launches=100, takeover_at=50, takeover_for=20
    )
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 100
    assert capture.losses() == {}


def test_several_clients_of_the_second_interface(capturer: Capturer, tmp_path: Path) -> None:
    capture = capturer.run(
        CUPTI_13,
        ["--records", "selected"],
        launches=100, takeover_at=50, takeover_for=20, takeover_v2=1, takeover_multiple=1,
        takeover_kinds="10", takeover_report=str(tmp_path / "other.json"),
    )  # fmt: skip
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 100
    assert json.loads((tmp_path / "other.json").read_text())["records"] == 20
