"""The checks of NCCL on a GPU see what is wrong."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from support.trace import write_trace

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

    case = compare(write_trace(tmp_path / "run", **TABLES), LOG)
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
    assert wrong in "\n".join(compare(write_trace(tmp_path / "run", **tables), LOG)["wrong"])


def test_losses_are_wrong(tmp_path: Path) -> None:
    from nccl_one import compare

    loss = {"loss": "process_id cause detail\n 1 ring_full full"}
    case = compare(write_trace(tmp_path / "run", **TABLES, **loss), copy.deepcopy(LOG))
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


def test_two_ranks_as_they_were_logged(tmp_path: Path) -> None:
    from nccl import asked_and_told, delays

    folder = write_trace(tmp_path / "run", **TWO_RANKS)
    case = asked_and_told(folder, [{"asked": [["AllReduce", 400, 1]]}] * 2)
    assert (case["wrong"], case["matches"]) == ([], {"nccl": 2})
    case = delays(folder, [{}, {"late": [[400, 250]]}])
    (found,) = case["delays"]
    assert case["wrong"] == []
    assert (found["n"], found["call_us"], found["kernel_us"], found["wait_us"]) == (
        1,
        250,
        250,
        250,
    )


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
    from nccl import asked_and_told

    tables = TWO_RANKS | {table: TWO_RANKS[table].replace(old, new)}
    folder = write_trace(tmp_path / "run", **tables)
    case = asked_and_told(folder, [{"asked": [["AllReduce", 400, asked]]}] * 2)
    assert wrong in "\n".join(case["wrong"])


def test_channels_beyond_their_kernels(tmp_path: Path) -> None:
    from nccl import channels

    logs = [{"asked": [["AllReduce", 400, 1]]}] * 2
    case = channels(write_trace(tmp_path / "none", **TWO_RANKS), logs)
    assert any("of 2 collectives, channels" in each for each in case["wrong"])
    told = """
        process_id event_id parent_id group_id kind communicator rank ranks sequence function \
size_bytes thread_id launch_start_ns launch_end_ns channel gpu_start gpu_end
        1 4  -  3  collective 77 0 2 0 AllReduce 400 5 1020   1045   - -  -
        2 14 -  13 collective 77 1 2 0 AllReduce 400 6 251020 251045 - -  -
        1 5  4  -  channel    77 0 2 - -         -   5 -      -      0 10 260000
        2 15 14 -  channel    77 1 2 - -         -   6 -      -      0 20 %d
    """
    for end, wrong in ((10000, []), (60020, ["channels end 49.97 us after their kernels"])):
        folder = write_trace(tmp_path / str(end), **TWO_RANKS | {"nccl_event": told % end})
        assert channels(folder, logs)["wrong"] == wrong


def test_a_delay_that_is_not_found_again(tmp_path: Path) -> None:
    from nccl import delays

    folder = write_trace(tmp_path / "run", **TWO_RANKS)
    assert len(delays(folder, [{}, {"late": [[400, 50]]}])["wrong"]) == 2
