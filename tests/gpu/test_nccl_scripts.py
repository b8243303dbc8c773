"""The checks of NCCL on a GPU see what is wrong."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from support.trace import write_tables

pytestmark = pytest.mark.slow

# One communicator, two groups: a send with its receive, and two of these as one kernel.
LOG: dict[str, Any] = {
    "version": 22809,
    "communicators": [
        [
            {
                "before_ns": 1000,
                "after_ns": 1100,
                "operations": [["Send", 5, "ncclInt8", 5], ["Recv", 5, "ncclInt8", 5]],
            },
            {
                "before_ns": 2000,
                "after_ns": 2100,
                "operations": [
                    *(["Send", 3, "ncclInt64", 24], ["Recv", 3, "ncclInt64", 24]),
                    *(["Send", 4, "ncclInt8", 4], ["Recv", 4, "ncclInt8", 4]),
                ],
            },
        ]
    ],
}
TABLES = {
    "process": "process_id state rank\n 1 finished 0",
    "kernel": """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              1060     1090   ncclDevKernel_SendRecv
        1          0         2              2060     2090   ncclDevKernel_SendRecv
    """,
    "api_call": """
        process_id thread_id correlation_id domain name             start_ns end_ns
        1          5         1              driver cuLaunchKernelEx 1030     1040
        1          5         2              driver cuLaunchKernelEx 2030     2040
    """,
    "nccl_event": """
        process_id event_id group_id kind communicator rank ranks function count datatype \
size_bytes peer thread_id call_start_ns start_ns end_ns launch_start_ns launch_end_ns interface
        1 4  3 p2p 77 0 1 Send 5 ncclInt8  5  0 5 1010 1050 1060 1020 1045 5
        1 5  3 p2p 77 0 1 Recv 5 ncclInt8  5  0 5 1011 1051 1061 1020 1045 5
        1 8  7 p2p 77 0 1 Send 3 ncclInt64 24 0 5 2010 2050 2060 2020 2045 5
        1 9  7 p2p 77 0 1 Recv 3 ncclInt64 24 0 5 2011 2051 2061 2020 2045 5
        1 10 7 p2p 77 0 1 Send 4 ncclInt8  4  0 5 2012 2052 2062 2020 2045 5
        1 11 7 p2p 77 0 1 Recv 4 ncclInt8  4  0 5 2013 2053 2063 2020 2045 5
    """,
}  # fmt: skip


def test_events_as_they_were_logged(tmp_path: Path) -> None:
    from nccl_one import compare

    case = compare(write_tables(tmp_path / "run", **TABLES), LOG)
    assert case["wrong"] == []
    assert (case["asked"], case["groups"], case["kernels"], case["interface"]) == (6, 2, 2, 5)


@pytest.mark.parametrize(
    ("table", "old", "new", "wrong"),
    [
        ("nccl_event", "Send 3 ncclInt64 24", "Send 3 ncclInt64 23", "operations differ"),
        ("nccl_event", "2063 2020", "2463 2020", "1 times lie outside"),
        ("nccl_event", " 77 0 1 Send 5", " 78 0 1 Send 5", "2 communicators, not 1"),
        ("kernel", "1090   ncclDevKernel", "1090   other", "1 kernels of NCCL, not 2"),
        ("api_call", "2030 ", "2016 ", "joined to kernels"),
    ],
)
def test_what_is_wrong_is_seen(tmp_path: Path, table: str, old: str, new: str, wrong: str) -> None:
    from nccl_one import compare

    tables = TABLES | {table: TABLES[table].replace(old, new)}
    assert wrong in "\n".join(compare(write_tables(tmp_path / "run", **tables), LOG)["wrong"])


def test_losses_are_wrong(tmp_path: Path) -> None:
    from nccl_one import compare

    loss = {"loss": "process_id cause detail\n 1 ring_full full"}
    case = compare(write_tables(tmp_path / "run", **TABLES, **loss), copy.deepcopy(LOG))
    assert case["wrong"] == ["losses: ['full']"]


NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
# One all-reduce of 400 bytes, for which the second rank calls 250 us later.
TWO_RANKS = {
    "process": "process_id state rank world_size host\n 1 finished 0 2 n\n 2 finished 1 2 n",
    "kernel": f"""
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              1060     261090 {NAME}
        2          0         1              251060   261090 {NAME}
    """,
    "api_call": """
        process_id thread_id correlation_id domain name             start_ns end_ns
        1          5         1              driver cuLaunchKernelEx 1030     1040
        2          6         1              driver cuLaunchKernelEx 251030   251040
    """,
    "nccl_event": """
        process_id event_id group_id kind communicator rank ranks sequence function size_bytes \
thread_id call_start_ns start_ns launch_start_ns launch_end_ns
        1 4  3  collective 77 0 2 0 AllReduce 400 5 1010   1050   1020   1045
        2 14 13 collective 77 1 2 0 AllReduce 400 6 251010 251050 251020 251045
    """,
}


def late(delay_us: int, *skews_us: float) -> list[dict[str, Any]]:
    """Logs of two ranks, of which the second called so much later in each operation."""
    each = {"bytes": 400, "delay_us": delay_us}
    first = {**each, "called_ns": [1000] * len(skews_us)}
    second = {**each, "called_ns": [1000 + int(1e3 * skew) for skew in skews_us]}
    return [{"late": [first]}, {"late": [second]}]


def test_two_ranks_as_they_were_logged(tmp_path: Path) -> None:
    from nccl_checks import asked_and_told, delays

    folder = write_tables(tmp_path / "run", **TWO_RANKS)
    case = asked_and_told(folder, [{"asked": [["AllReduce", 400, 1]]}] * 2)
    assert (case["wrong"], case["matches"], case["more"]) == ([], {"nccl": 2}, [])
    case = delays(folder, late(250, 249))
    (found,) = case["delays"]
    assert (found["call_us"], found["kernel_us"], found["wait_us"]) == (250, 250, 250)
    assert (found["transfer_us"], found["call_off_us"]["median"]) == (10.03, 1)
    # One operation is too few to say that somebody is always late.
    assert case["wrong"] == ["rank_stragglers does not name rank 1 alone"]


@pytest.mark.parametrize(
    ("table", "old", "new", "asked", "wrong"),
    [
        ("nccl_event", "400 6", "404 6", 1, "rank 1: asked and told differ"),
        ("nccl_event", "400 6", "400 6", 2, "rank 0: asked and told differ"),
        ("nccl_event", "1 2 0", "1 2 8", 1, "not all were matched by NCCL's numbers"),
        ("kernel", "2          0         1 ", "2          0         9 ", 1, "without a kernel"),
    ],
)
def test_what_is_wrong_of_two_ranks_is_seen(
    tmp_path: Path, table: str, old: str, new: str, asked: int, wrong: str
) -> None:
    from nccl_checks import asked_and_told

    tables = TWO_RANKS | {table: TWO_RANKS[table].replace(old, new)}
    folder = write_tables(tmp_path / "run", **tables)
    case = asked_and_told(folder, [{"asked": [["AllReduce", 400, asked]], "alone": []}] * 2)
    assert wrong in "\n".join(case["wrong"])


def test_operations_of_a_rank_alone_are_seen(tmp_path: Path) -> None:
    from nccl_checks import asked_and_told

    folder = write_tables(tmp_path / "run", **TWO_RANKS)
    case = asked_and_told(folder, [{"asked": [], "alone": [400]}, {"asked": []}])
    assert case["wrong"][0].startswith("rank 0: operations in a group of one rank")
    assert case["more"] == [[0, "AllReduce", 400, 1], [1, "AllReduce", 400, 1]]


def test_channels_beyond_their_kernels(tmp_path: Path) -> None:
    from nccl_checks import channels

    logs = [{"asked": [["AllReduce", 400, 1]]}] * 2
    case = channels(write_tables(tmp_path / "none", **TWO_RANKS), logs)
    assert any("of 2 collectives, channels" in each for each in case["wrong"])
    told = """
        process_id event_id parent_id group_id kind communicator rank ranks sequence function \
size_bytes thread_id launch_start_ns launch_end_ns channel gpu_start gpu_end
        1 4  -  3  collective 77 0 2 0 AllReduce 400 5 1020   1045   - -  -
        2 14 -  13 collective 77 1 2 0 AllReduce 400 6 251020 251045 - -  -
        1 5  4  -  channel    77 0 2 - -         -   5 -      -      0 10 260000
        2 15 14 -  channel    77 1 2 - -         -   6 -      -      0 20 %d
    """
    for end, untimed in ((10000, 0), (60020, 1)):
        folder = write_tables(tmp_path / str(end), **TWO_RANKS | {"nccl_event": told % end})
        case = channels(folder, logs)
        assert (case["channels"]["untimed"], len(case["wrong"])) == (untimed, untimed)


@pytest.mark.parametrize(
    ("logs", "wrong"),
    [
        (late(250, 300), "call_us is 50.0 us off the logs"),
        (late(200, 200), "a delay of 200.0 us is recovered as 250.0 by kernel_us"),
        (late(200, 250), "a delay of 200 us was one of 250.0 by the logs"),
        (late(250, 250, 250), "1 operations, not 2"),
    ],
)
def test_a_delay_that_is_not_found_again(tmp_path: Path, logs: Any, wrong: str) -> None:
    from nccl_checks import delays

    folder = write_tables(tmp_path / "run", **TWO_RANKS)
    assert wrong in "\n".join(delays(folder, logs)["wrong"])


def test_transfer_that_a_delay_changes(tmp_path: Path) -> None:
    from nccl_checks import delays

    tables = {
        **TWO_RANKS,
        "kernel": TWO_RANKS["kernel"] + f"1 0 2 500000 510000 {NAME}\n2 0 2 500000 510000 {NAME}",
        "api_call": TWO_RANKS["api_call"]
        + "1 5 2 driver cuLaunchKernelEx 499000 499040\n"
        + "2 6 2 driver cuLaunchKernelEx 499000 499040",
        "nccl_event": TWO_RANKS["nccl_event"]
        + "1 5  6  collective 77 0 2 1 AllReduce 404 5 498000 498500 498900 499050\n"
        + "2 15 16 collective 77 1 2 1 AllReduce 404 6 498000 498500 498900 499050",
    }
    none = {"bytes": 404, "delay_us": 0, "called_ns": [1000]}
    logs = [{"late": [none, *log["late"]]} for log in late(250, 250)]
    folder = write_tables(tmp_path / "run", **tables)
    case = delays(folder, logs)
    assert [found["transfer_us"] for found in case["delays"]] == [10, 10.03]
    assert not any("transfer" in each for each in case["wrong"])
    slow = tables["kernel"].replace("261090", "281090")
    case = delays(write_tables(tmp_path / "slow", **tables | {"kernel": slow}), logs)
    assert "delay 250 us: transfer takes 30.03 us" in case["wrong"]


# A send and its receive.
SENDS = {
    "process": TWO_RANKS["process"],
    "api_call": """
        process_id thread_id correlation_id domain name             start_ns end_ns
        1          5         1              driver cuLaunchKernelEx 1030     1040
        2          6         1              driver cuLaunchKernelEx 1030     1040
    """,
    "nccl_event": """
        process_id event_id group_id kind communicator rank ranks function size_bytes peer \
thread_id launch_start_ns launch_end_ns
        1 1 1 p2p 77 0 2 Send 30 1 5 1010 1045
        2 1 1 p2p 77 1 2 Recv 30 0 6 1010 1045
    """,
}


@pytest.mark.parametrize(
    ("begins", "ms", "wrong"),
    [
        ((5_000_000, 1_000_000), 4.1, []),
        ((5_000_000, 1_000_000), 4.5, ["1 of 1 waits, which differ by [-0.5] ms"]),
        ((5_000_000, 5_004_000), 4.0, ["0 of 1 waits, which differ by [] ms"]),
        (
            (1_000_000, 5_000_000),
            4.0,
            [
                "0 of 1 waits, which differ by [] ms",
                "who sends waits: [{'rank': 0, 'last_rank': 1, 'ms': 4.0}]",
            ],
        ),
    ],
)
def test_waits_for_sends(
    tmp_path: Path, begins: tuple[int, int], ms: float, wrong: list[str]
) -> None:
    from nccl_checks import sends

    kernel = "process_id device_id correlation_id start_ns end_ns name" + "".join(
        f"\n{place + 1} 0 1 {begin} 5010000 ncclDevKernel_SendRecv"
        for place, begin in enumerate(begins)
    )
    case = sends(write_tables(tmp_path / "run", **SENDS, kernel=kernel), [{"sends": [ms]}])
    assert case["wrong"] == wrong


GRAPH = {
    "process": "process_id state rank world_size host\n 1 finished 0 1 n",
    "kernel": f"""
        process_id device_id correlation_id start_ns end_ns graph_id name
        1          0         1              1060     2090   7        {NAME}
        1          0         2              3060     4090   7        {NAME}
    """,
    "nccl_event": """
        process_id event_id kind communicator rank ranks function size_bytes is_graph
        1 4  collective 77 0 2 AllReduce 400 true
    """,
}


@pytest.mark.parametrize(
    ("graph", "wrong"),
    [
        ([400, 1, 2], None),
        ([400, 2, 1], "of 2 captured operations"),
        ([400, 1, 3], "rank 0: 2 kernels, not 3"),
        ([404, 1, 2], "'in_graph': 0"),
    ],
)
def test_operations_in_graphs(tmp_path: Path, graph: list[int], wrong: str | None) -> None:
    from nccl_checks import graphs

    case = graphs(write_tables(tmp_path / "run", **GRAPH), [{"graph": graph}])
    assert wrong in case["wrong"][0] if wrong else case["wrong"] == []


@pytest.mark.parametrize(("median_ms", "is_wrong"), [(0.01003, False), (0.012, True)])
def test_bandwidths_that_differ(tmp_path: Path, median_ms: float, is_wrong: bool) -> None:
    from nccl_checks import bandwidth

    folder = write_tables(tmp_path / "run", **TWO_RANKS)
    case = bandwidth(folder, [{"large": [400, [9.0, median_ms, median_ms]]}] * 2)
    assert any("bus bandwidths differ" in each for each in case["wrong"]) == is_wrong
    assert case["bandwidth"]["row"]["bus_gbps"] == pytest.approx(400 / 10030)


@pytest.mark.parametrize(
    ("asked", "profiled", "who"),
    [
        ([["AllReduce", 8000, 1]], [["AllReduce", 8000, 1]], None),
        ([["AllReduce", 8000, 2]], [["AllReduce", 8000, 1]], "the program"),
        ([["AllReduce", 8000, 1]], [["AllReduce", 8004, 1]], "torch.profiler"),
        ([["AllReduce", 8000, 1]], [], "torch.profiler"),
    ],
)
def test_collectives_of_a_model(tmp_path: Path, asked: Any, profiled: Any, who: str | None) -> None:
    from nccl_checks import model

    events = TWO_RANKS["nccl_event"].replace("AllReduce 400", "AllReduce 8000")
    folder = write_tables(tmp_path / "run", **TWO_RANKS | {"nccl_event": events})
    case = model(folder, [{"asked": asked}] * 2, [{"asked": profiled}] * 2)
    assert len(case["wrong"]) == (2 if who else 0)
    assert all(f"{who} and NCCL differ" in each for each in case["wrong"])
