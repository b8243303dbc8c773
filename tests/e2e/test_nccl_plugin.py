"""What NCCL tells its profiler plugin: ``nccl_event``, of a program that calls it as NCCL does.

No test here needs NCCL: ``tests/native/fake_nccl.c`` looks the plugin up and calls it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.captures import Capture, Capturer, table
from support.command import etl

import cupti_etl

pytestmark = pytest.mark.slow

KERNEL = {"FAKE_KERNEL_NAME": "ncclDevKernel_AllReduce_Sum_f32_RING_LL"}


@pytest.fixture(autouse=True)
def kernels_of_nccl(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KERNEL.items():
        monkeypatch.setenv(name, value)


def run(capturer: Capturer, level: str = "", **options: int) -> Capture:
    words = ["--nccl", level] if level else []
    capture = capturer.run(options=words, command=capturer.fakes.nccl(**options))
    assert capture.status == 0, capture.stderr
    capture.check_sums()
    return capture


def rows(capture: Capture) -> list[dict[str, Any]]:
    """Rows of operations by rank, in order."""
    found = [row for row in capture.rows("nccl_event") if row["kind"] not in ("channel", "phase")]
    return sorted(found, key=lambda row: (row["rank"], row["event_id"]))


def operations(capture: Capture) -> list[tuple[int, int, int | None, int]]:
    """Rank, communicator from 0, sequence number and elements of each operation, in order."""
    return [
        (row["rank"], row["communicator"] & 0xFF, row["sequence"], row["count"])
        for row in rows(capture)
    ]


def printed(capture: Capture) -> list[tuple[int, ...]]:
    """What the program said of each operation: the same, and the times around its call."""
    return sorted(tuple(map(int, line.split())) for line in capture.stdout.splitlines())


def as_asked(capture: Capture) -> bool:
    """Whether each operation is there as the program asked for it."""
    return sorted(operations(capture)) == [line[:4] for line in printed(capture)]


def kernels(capture: Capture) -> list[tuple[int, int]]:
    """Elements of operations and the numbers at the ends of their kernels' names, by time."""
    found = cupti_etl.open(capture.trace).sql(
        "SELECT count, name FROM _nccl_kernel ORDER BY start_ns, count"
    )
    return [(row["count"], int(row["name"].rsplit("_", 1)[1])) for row in found]


@pytest.mark.parametrize(("version", "told"), [(4, 4), (6, 6), (7, 7), (8, 7)])
def test_each_version_of_the_interface(capturer: Capturer, version: int, told: int) -> None:
    capture = run(capturer, interface=version, communicators=2)
    assert len(operations(capture)) == 10
    assert as_asked(capture)
    first = rows(capture)[0]
    said = ("kind", "rank", "ranks", "function", "datatype", "size_bytes", "algorithm", "protocol")
    assert [first[name] for name in said] == [
        *("collective", 0, 1, "AllReduce", "ncclFloat32", 64, "RING", "LL")
    ]
    assert (first["channels"], first["warps"], first["interface"]) == (24, 16, told)
    assert (first["call_start_ns"] is None) == (told == 4)
    assert kernels(capture) == [((n + 1) * 16, n) for n in range(10)]


@pytest.mark.parametrize("version", [4, 5])
def test_a_lost_operation_shifts_no_other(capturer: Capturer, version: int) -> None:
    """Without launches told, the two kernels of one gap cannot be told apart: neither is taken."""
    capture = run(capturer, interface=version, silent=4)
    unknown = {4} if version > 4 else {4, 5}
    assert kernels(capture) == [((n + 1) * 16, n) for n in range(10) if n not in unknown]


def test_a_recording_has_the_same(capturer: Capturer, tmp_path: Path) -> None:
    file = tmp_path / "raw.etlrec"
    command = capturer.fakes.nccl(operations=3)
    capture = capturer.run(options=["--save-raw", str(file)], command=command)
    assert "3 nccl_event" in capture.stderr
    again = tmp_path / "again"
    assert etl("import", file, "-o", again).returncode == 0
    assert table(again, "nccl_event").to_pylist() == capture.rows("nccl_event")


def test_groups_have_one_kernel(capturer: Capturer) -> None:
    capture = run(capturer, interface=6, group=1, operations=4)
    assert as_asked(capture)
    assert kernels(capture) == [((n // 2 + 1) * 16, n // 2) for n in range(8)]


def test_send_and_receive_have_a_peer_and_no_number(capturer: Capturer) -> None:
    capture = run(capturer, interface=6, p2p=1, operations=3)
    assert operations(capture) == [(0, 0, None, 16), (0, 0, None, 32), (0, 0, None, 48)]
    assert [(row["function"], row["kind"], row["peer"], row["root"]) for row in rows(capture)] == [
        ("Send", "p2p", 1, None),
        ("Recv", "p2p", 1, None),
        ("Send", "p2p", 1, None),
    ]


def test_copies_have_no_kernel(capturer: Capturer) -> None:
    capture = run(capturer, interface=6, copy=1, operations=3)
    assert as_asked(capture)
    assert {(row["kind"], row["algorithm"], row["group_id"]) for row in rows(capture)} == {
        ("copy", None, None)
    }
    assert kernels(capture) == []


def test_channels_have_the_gpus_own_times(capturer: Capturer) -> None:
    capture = run(capturer, "channels", channels=1, operations=3)
    parents = {row["event_id"] for row in rows(capture)}
    channels = [row for row in capture.rows("nccl_event") if row["kind"] == "channel"]
    assert len(channels) == 6
    assert {row["parent_id"] for row in channels} == parents
    assert {(row["channel"], row["gpu_start"], row["gpu_end"]) for row in channels} == {
        *((0, 1000, 2000), (1, 1001, 2001))
    }


@pytest.mark.parametrize(("version", "level"), [(7, "channels"), (6, "channels"), (7, "events")])
def test_phases_are_told_since_version_7(capturer: Capturer, version: int, level: str) -> None:
    capture = run(capturer, level, interface=version, channels=1, phases=1, operations=2)
    assert as_asked(capture)
    told = [row for row in capture.rows("nccl_event") if row["kind"] == "phase"]
    if (version, level) != (7, "channels"):
        assert told == []
        return
    channels = {
        row["event_id"]: row for row in capture.rows("nccl_event") if row["kind"] == "channel"
    }
    assert len(told) == 12
    for row in told:
        assert row["channel"] == channels[row["parent_id"]]["channel"]
        begin = 1000 + row["channel"]
        assert (row["function"], row["gpu_start"] - begin, row["gpu_end"] - begin) in [
            *(("initial_sync", 0, 300), ("compute", 300, 600), ("final_sync", 600, 900))
        ]
    found = cupti_etl.open(capture.trace).sql(
        "SELECT phase, min(told.start_ns - kernel.start_ns) AS begins, max(told.end_ns -"
        " kernel.start_ns) AS ends FROM _nccl_phase AS told JOIN _nccl_kernel AS kernel"
        " USING (process_id, event_id) GROUP BY phase ORDER BY begins"
    )
    # The second channel begins a nanosecond after the first, with which the kernel does.
    assert [tuple(row.values()) for row in found] == [
        *(("initial_sync", 0, 301), ("compute", 300, 601), ("final_sync", 600, 901))
    ]


def test_what_a_graph_replays_has_no_time_of_call(capturer: Capturer) -> None:
    capture = run(capturer, graph=1, operations=3)
    assert {(row["is_graph"], row["call_start_ns"]) for row in rows(capture)} == {(True, None)}


def test_two_ranks_of_which_one_is_late(capturer: Capturer) -> None:
    """At least by its delay; on a busy machine by more. Clocks alone would match none of them."""
    capture = run(capturer, ranks=2, late=1, us=250, communicators=2)
    assert as_asked(capture)
    assert {row["rank"]: row["world_size"] for row in capture.rows("process") if row["pid"]} == {
        **{0: 2, 1: 2}
    }
    calls = {
        (row["rank"], row["communicator"], row["sequence"]): row["call_start_ns"]
        for row in rows(capture)
    }
    around = {(line[0], line[1], line[2]): line[4:] for line in printed(capture)}
    for (rank, communicator, sequence), at_ns in calls.items():
        before, after = around[rank, communicator & 0xFF, sequence]
        assert before <= at_ns <= after
        if rank == 1:
            assert at_ns - calls[0, communicator, sequence] >= 250_000
    matches = cupti_etl.open(capture.trace).sql(
        "SELECT matched_by, count(*) AS n FROM _collective_match GROUP BY ALL"
    )
    assert [*matches] == [{"matched_by": "nccl", "n": 20}]


def test_a_group_of_some_of_the_ranks(capturer: Capturer) -> None:
    capture = run(capturer, ranks=3, communicators=2, subgroup=1, operations=6)
    assert as_asked(capture)
    assert {(row["communicator"] & 0xFF, row["rank"], row["ranks"]) for row in rows(capture)} == {
        *((0, 0, 3), (0, 1, 3), (0, 2, 3), (1, 0, 2), (1, 1, 2))
    }
    found = cupti_etl.open(capture.trace).sql(
        "SELECT communicator, operation, count(*) AS n FROM _collective_match"
        " WHERE matched_by = 'nccl' GROUP BY ALL"
    )
    assert sorted((row["communicator"] & 0xFF, row["n"]) for row in found) == [
        *((0, 3), (0, 3), (0, 3), (1, 2), (1, 2), (1, 2))
    ]


def test_sends_and_receives_of_two_ranks_are_paired(capturer: Capturer) -> None:
    capture = run(capturer, ranks=2, p2p=1, operations=4)
    assert len(operations(capture)) == 8
    pairs = cupti_etl.open(capture.trace).sql(
        "SELECT from_rank, to_rank, number, size_bytes FROM nccl_p2p ORDER BY size_bytes"
    )
    assert [tuple(row.values()) for row in pairs] == [
        *((0, 1, 0, 64), (1, 0, 0, 128), (0, 1, 1, 192), (1, 0, 1, 256))
    ]


def test_a_rank_that_is_killed_inside_an_operation(capturer: Capturer) -> None:
    """The other rank is whole, and what was not read of this one is counted."""
    command = capturer.fakes.nccl(ranks=2, killed=4)
    capture = capturer.run(command=command)
    assert [line for line in operations(capture) if line[0] == 0] == [
        line[:4] for line in printed(capture) if line[0] == 0
    ]
    killed = [loss for loss in capture.losses()["killed"] if loss["table_name"] == "nccl_event"]
    mine = sum(row["rank"] == 1 for row in rows(capture))
    assert [loss["records"] for loss in killed] == [5 - mine]
    assert killed[0]["detail"] == "events of NCCL of the last moments before the process ended"


def test_an_operation_that_does_not_end(capturer: Capturer) -> None:
    capture = run(capturer, operations=3, unended=1)
    assert as_asked(capture)
    assert [row["end_ns"] is None for row in rows(capture)] == [False, False, True]
    (loss,) = capture.losses()["incomplete"]
    assert (loss["table_name"], loss["records"], loss["is_stored"]) == ("nccl_event", 1, True)


def test_an_older_nccl_is_left_alone_and_said(capturer: Capturer) -> None:
    capture = run(capturer, interface=3, operations=3)
    assert (capture.count("nccl_event"), capture.count("kernel")) == (0, 3)
    (loss,) = capture.losses()["nccl_refused"]
    assert (loss["table_name"], loss["records"]) == ("nccl_event", None)
    assert "NCCL has version 3 of the interface" in loss["detail"]
    assert "use NCCL 2.27 or later" in capture.stderr


def test_the_plugin_of_somebody_else_stays(
    capturer: Capturer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    theirs = str(tmp_path / "theirs.so")
    monkeypatch.setenv("NCCL_PROFILER_PLUGIN", theirs)
    capture = run(capturer, operations=3)
    assert (capture.count("nccl_event"), capture.count("kernel")) == (0, 3)
    (loss,) = capture.losses()["nccl_refused"]
    assert loss["process_id"] is None
    assert f"not recorded, as NCCL_PROFILER_PLUGIN={theirs} is set; unset it" in loss["detail"]
    assert loss["detail"] in capture.stderr


def test_without_events(
    capturer: Capturer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NCCL_PROFILER_PLUGIN", str(tmp_path / "theirs.so"))
    capture = run(capturer, "none", operations=3)
    assert (capture.count("nccl_event"), capture.count("kernel")) == (0, 3)
    assert capture.losses() == {}
