"""Another CUPTI client comes and goes, in a program of 8,000 launches.

It comes after 1,000 of them, of which all records were handed over by then, and stays for 2,000.
That it came is noticed with the call that is made each second, and whether it left is looked at
each second: the program launches nothing while it waits for that, so that what is recorded does
not depend on how fast anything is.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.captures import Capture, Capturer
from support.fakes import CUPTI_12, CUPTI_13

PROGRAM = {
    "launches": 8000, "rate": 20_000, "takeover_at": 1000, "takeover_for": 2000,
    "takeover_kinds": "10,5", "takeover_subscribe": 1, "takeover_waits": 1,
}  # fmt: skip
LEAVES = {"takeover_unsubscribe": 1}
# Of those that were launched after it came, so many may be the other's.
NOTICED = {"takeover_noticed": 500}


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


@pytest.mark.slow
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
    # Before it came, and after it left: kernels are recorded a little before the window is open.
    starts = [row["start_ns"] for row in capture.rows("kernel")]
    assert sum(start < first["end_ns"] for start in starts) == 1000
    assert sum(start > first["end_ns"] for start in starts) == 8000 - 3000


@pytest.mark.slow
def test_calls_are_recorded_again_after_another_client(capturer: Capturer) -> None:
    """It switched their kinds off, after which old versions take no single function."""
    capture = capturer.run(
        CUPTI_12,
        ["--flush-ms", "5", "--api", "launch"],
        fake={"driver_version_recorded": 1},
        **{**PROGRAM, "takeover_kinds": "10,5,4"},
        **LEAVES,
    )
    left = min(row["end_ns"] for row in capture.rows("capture_window"))
    calls = {row["correlation_id"] for row in capture.rows("api_call")}
    later = [row for row in capture.rows("kernel") if (row["start_ns"] or 0) > left]
    assert len(later) == 8000 - 3000
    assert {row["correlation_id"] for row in later} <= calls


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"takeover_finalize": 1}])
def test_stacks_are_kept_again_after_another_client(
    capturer: Capturer, how: dict[str, int]
) -> None:
    """The subscription to callbacks is ours, and lasts unless the other ends CUPTI for all."""
    capture = capturer.run(
        CUPTI_13,
        ["--flush-ms", "5", "--python-stacks"],
        fake={"driver_version_recorded": 1},
        **{**PROGRAM, "takeover_subscribe": 0, **how},
    )
    first, second = sorted(capture.rows("capture_window"), key=lambda row: row["start_ns"])
    left = first["end_ns"]
    assert "launch_stack" not in {loss["table_name"] for loss in capture.rows("loss")}
    calls = {row["correlation_id"] for row in capture.rows("launch_stack")}
    kernels = [row for row in capture.rows("kernel") if row["start_ns"] is not None]
    # Kernels are recorded a little before the window is open, and so before stacks are.
    inside = [row for row in kernels if not left < row["start_ns"] < second["start_ns"]]
    assert {row["correlation_id"] for row in inside} <= calls
    assert sum(row["start_ns"] > left for row in kernels) == 8000 - 3000


@pytest.mark.slow
def test_yield_stays_away_while_the_other_records(capturer: Capturer) -> None:
    capture = run(capturer, "yield", takeover_for=0, **NOTICED)
    assert capture.status == 4
    assert windows(capture) == [("process", "other_client")]
    assert capture.count("kernel") == 1000


@pytest.mark.slow
def test_yield_comes_back_although_the_other_keeps_its_subscription(capturer: Capturer) -> None:
    capture = run(capturer, "yield")
    assert capture.status == 4
    assert windows(capture) == [("process", "other_client"), ("other_client", "process")]
    assert capture.count("kernel") == 8000 - 2000


# PyTorch's profiler: it never gives its subscription back, nor the clock that it brings each time.
TORCH = {"takeover_clock": 1, "takeover_times": 2, "takeover_every": 3500}


def check_times(capture: Capture) -> None:
    """Times are of our clock, or they are NULL and counted: what the other's buffers held."""
    (about,) = capture.rows("process")
    counted = {
        loss["table_name"]: loss["records"] for loss in capture.losses().get("other_clock", [])
    }
    for table in ("kernel", "api_call"):
        times = [(row["start_ns"], row["end_ns"]) for row in capture.rows(table)]
        known = [pair for pair in times if None not in pair]
        assert all(about["start_ns"] <= start <= end <= about["end_ns"] for start, end in known)
        assert len(times) - len(known) == counted.get(table, 0)


@pytest.mark.slow
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_yield_comes_back_after_each_profile_of_pytorch(capturer: Capturer, release: str) -> None:
    capture = run(capturer, "yield", release, **TORCH)
    assert capture.status == 4
    assert windows(capture) == [
        ("process", "other_client"),
        ("other_client", "other_client"),
        ("other_client", "process"),
    ]
    first, second, _ = sorted(row["end_ns"] for row in capture.rows("capture_window"))
    starts = [row["start_ns"] for row in capture.rows("kernel") if row["start_ns"] is not None]
    assert sum(start < first for start in starts) == 1000
    assert sum(first <= start < second for start in starts) == 1500
    assert sum(second <= start for start in starts) == 1500
    check_times(capture)
    assert capture.losses().keys() <= {"other_client", "other_clock"}


@pytest.mark.slow
def test_keep_has_its_own_clock(capturer: Capturer) -> None:
    capture = run(capturer, "keep", **TORCH, **NOTICED)
    assert capture.status == 4
    assert 8000 - 2 * 500 <= capture.count("kernel") <= 8000
    check_times(capture)
    assert capture.losses().keys() <= {"other_client", "other_clock"}


@pytest.mark.slow
def test_keep_takes_the_records_back(capturer: Capturer) -> None:
    capture = run(capturer, "keep", takeover_for=6000, **NOTICED)
    assert capture.status == 4
    # When the other ends, it switches off what is ours, too.
    assert windows(capture) == [
        ("process", "other_client"),
        ("other_client", "other_client"),
        ("other_client", "process"),
    ]
    # What the other's buffer held when we came back is ours.
    assert 8000 - 500 <= capture.count("kernel") <= 8000


@pytest.mark.slow
def test_fail_ends_the_program(capturer: Capturer) -> None:
    capture = run(capturer, "fail", **NOTICED)
    assert capture.status == 4
    assert "the capture is incomplete: another CUPTI client" in capture.stderr
    assert capture.rows("capture")[0]["exit_status"] == 128 + 15
    assert capture.count("kernel") == 1000


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


@pytest.mark.slow
def test_nobody_came_while_a_program_prepared_its_work(capturer: Capturer, tmp_path: Path) -> None:
    start = tmp_path / "start"
    waits = ["sh", "-c", f'(sleep 1; touch {start}) & exec "$@"', "sh"]
    words, env, trace, log = capturer.prepare(
        CUPTI_13,
        ["--flush-ms", "5", "--records", "fixed"],
        {"driver_version_recorded": 1},
        launches=100, start=str(start),
    )  # fmt: skip
    at = words.index("--") + 1
    done = subprocess.run(
        [*words[:at], *waits, *words[at:]], env=env, capture_output=True, text=True, check=False
    )
    capture = Capture(trace, done, capturer.fakes.log(log))
    assert capture.status == 0, capture.stderr
    assert capture.count("kernel") == 100
    assert windows(capture) == [("process", "process")]
