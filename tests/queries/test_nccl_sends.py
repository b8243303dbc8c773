"""Sends and receives of NCCL: those to and from all ranks."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

# A rank of three sends 10 bytes to each, itself too, and receives 20 from each.
TO_ALL = """
    process_id event_id group_id kind communicator rank ranks function size_bytes peer thread_id \
launch_start_ns launch_end_ns
    1 4 3 p2p 77 0 3 Send 10 0 5 1010 1040
    1 5 3 p2p 77 0 3 Send 10 1 5 1010 1040
    1 6 3 p2p 77 0 3 Send 10 2 5 1010 1040
    1 7 3 p2p 77 0 3 Recv 20 0 5 1010 1040
    1 8 3 p2p 77 0 3 Recv 20 1 5 1010 1040
    1 9 3 p2p 77 0 3 Recv 20 2 5 1010 1040
"""
# PyTorch neither sends nor receives what is empty.
ALL_BUT_ONE = "\n".join(TO_ALL.rstrip().splitlines()[:-1])


@pytest.mark.parametrize(
    ("nccl_event", "operator", "collective", "size"),
    [
        (TO_ALL, "aten::add", "AllToAll", 60),
        (ALL_BUT_ONE, "aten::add", "SendRecv", 40),
        (ALL_BUT_ONE, "c10d::alltoall_base_,sizes=[[5,2]]", "AllToAll", 40),
        (ALL_BUT_ONE, "c10d::send", "SendRecv", 40),
    ],
)
def test_to_all_and_from_all(
    trace: MakeTrace, nccl_event: str, operator: str, collective: str, size: int
) -> None:
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1100     1200   ncclDevKernel_SendRecv
        """,
        api_call="""
            process_id thread_id correlation_id domain name             start_ns end_ns
            1          5         1              driver cuLaunchKernelEx 1020     1030
        """,
        nccl_event=nccl_event,
        marker=f"""
            process_id thread_id marker_id event timestamp_ns name       domain
            1          5         1         start 1000         {operator} pytorch.operator
            1          5         1         end   1050         -          pytorch.operator
        """,
        process="process_id rank world_size\n 1 0 3",
    )
    assert_rows(
        opened.sql("SELECT collective, bytes FROM collective"),
        f"collective bytes\n {collective} {size}",
    )
