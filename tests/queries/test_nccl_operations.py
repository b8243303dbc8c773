"""Collective operations of which NCCL tells: kernels, ranks, waiting, sends and receives."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

NAME = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
PROCESS = "process_id rank world_size host\n 1 0 2 n\n 2 1 2 n"
CALL = "cuLaunchKernelEx"
# Two ranks, two operations each; the second rank calls 30 and 50 later, and ends with the first.
# Their kernels do not overlap in the second one, so that clocks alone would not match them.
KERNEL = f"""
    process_id device_id correlation_id start_ns end_ns name
    1          0         1              1100     1200   {NAME}
    1          0         2              2100     2140   {NAME}
    2          0         1              1130     1200   {NAME}
    2          0         2              2150     2190   {NAME}
"""
API_CALL = f"""
    process_id thread_id correlation_id domain name   start_ns end_ns
    1          5         1              driver {CALL} 1020     1030
    1          5         2              driver {CALL} 2020     2030
    2          6         1              driver {CALL} 1050     1060
    2          6         2              driver {CALL} 2070     2080
"""
NCCL_EVENT = """
    process_id event_id group_id kind communicator rank ranks sequence function datatype \
size_bytes algorithm protocol thread_id call_start_ns launch_start_ns launch_end_ns
    1 4  3  collective 77 0 2 0 AllReduce ncclFloat32 1000 RING LL     5 1000 1010 1040
    1 8  7  collective 77 0 2 1 AllReduce ncclFloat32 2000 TREE SIMPLE 5 2000 2010 2040
    2 14 13 collective 77 1 2 0 AllReduce ncclFloat32 1000 RING LL     6 1030 1040 1070
    2 18 17 collective 77 1 2 1 AllReduce ncclFloat32 2000 TREE SIMPLE 6 2050 2060 2090
"""
TABLES = {"kernel": KERNEL, "api_call": API_CALL, "nccl_event": NCCL_EVENT, "process": PROCESS}


def test_each_kernel_has_its_operation(trace: MakeTrace) -> None:
    opened = trace(**TABLES)
    assert_rows(
        opened.sql("FROM _nccl_kernel ORDER BY process_id, event_id"),
        """
        process_id event_id correlation_id sequence start_ns end_ns
        1          4        1              0        1100     1200
        1          8        2              1        2100     2140
        2          14       1              0        1130     1200
        2          18       2              1        2150     2190
        """,
    )
    assert_rows(
        opened.sql("FROM collective ORDER BY process_id, start_ns"),
        """
        communicator nccl_sequence bytes element_type group_size algorithm protocol call_start_ns
        77           0             1000  Float        2          RING      LL       1000
        77           1             2000  Float        2          TREE      SIMPLE   2000
        77           0             1000  Float        2          RING      LL       1030
        77           1             2000  Float        2          TREE      SIMPLE   2050
        """,
    )


@pytest.mark.slow
def test_ranks_are_matched_by_number(trace: MakeTrace) -> None:
    opened = trace(**TABLES)
    query = "SELECT process_id, operation, matched_by, reason FROM _collective_match ORDER BY ALL"
    assert_rows(
        opened.sql(query),
        """
        process_id operation matched_by reason
        1          1         nccl       -
        1          2         nccl       -
        2          1         nccl       -
        2          2         nccl       -
        """,
    )
    # Without what NCCL says, clocks match the first operation alone.
    opened = trace(**TABLES | {"nccl_event": ""})
    assert_rows(
        opened.sql(query),
        """
        process_id operation matched_by reason
        1          1         clock      -
        1          2         -          'no other rank has it'
        2          1         clock      -
        2          3         -          'no other rank has it'
        """,
    )


def test_a_rank_to_which_nccl_did_not_tell_belongs_to_the_others(trace: MakeTrace) -> None:
    # PyTorch's numbers take the third rank to the two that NCCL's numbers match.
    said = """'{"Collective name": "allreduce", "Process Group Name": "0", "Seq": %d}'"""
    argument = "process_id correlation_id arguments\n" + "\n".join(
        f"{process} {number} {said % (number + 40)}" for process in (1, 2, 3) for number in (1, 2)
    )
    opened = trace(
        **TABLES
        | {
            "kernel": KERNEL + f"3 0 1 1000 1190 {NAME}\n 3 0 2 2000 2100 {NAME}",
            "process": PROCESS + "\n 3 2 3 n",
            "argument": argument,
        }
    )
    assert_rows(
        opened.sql(
            "SELECT operation, process_id, matched_by FROM _collective_match ORDER BY ALL",
        ),
        """
        operation process_id matched_by
        1         1          nccl
        1         2          nccl
        1         3          pytorch
        2         1          nccl
        2         2          nccl
        2         3          pytorch
        """,
    )


def test_what_is_waiting_and_what_is_transfer(trace: MakeTrace) -> None:
    opened = trace(**TABLES)
    assert_rows(
        opened.sql("FROM _collective_wait ORDER BY operation, rank"),
        """
        operation rank late_ns call_late_ns wait_ns transfer_ns is_last caused_ns matched_by
        1         0    0       0            30      70          false   0         nccl
        1         1    30      30           0       70          true    30        nccl
        2         0    0       0            40      0           false   0         nccl
        2         1    50      50           0       40          true    40        nccl
        """,
    )
    assert_rows(
        opened.query("collective_wait"),
        """
        rank operations total_ns wait_ns wait_pct transfer_ns median_late_ns median_call_late_ns \
last last_pct caused_ns matched_by
        1    2          110      0       0        110         40             40                  \
2    100      70        nccl
        0    2          140      70      50       70          0              0                   \
0    0        0         nccl
        """,
    )


def test_the_clock_of_another_host_is_found_by_the_numbers(trace: MakeTrace) -> None:
    # The second host's clock is 1000000 ahead: too few operations for rank_clock to know that.
    shifted = {
        "kernel": f"""
            process_id device_id correlation_id start_ns end_ns  name
            1          0         1              1100     1200    {NAME}
            2          0         1              1001130  1001200 {NAME}
        """,
        "api_call": f"""
            process_id thread_id correlation_id domain name   start_ns end_ns
            1          5         1              driver {CALL} 1020     1030
            2          6         1              driver {CALL} 1001050  1001060
        """,
        "nccl_event": """
            process_id event_id group_id kind communicator rank ranks sequence function \
thread_id call_start_ns launch_start_ns launch_end_ns
            1 4  3  collective 77 0 2 0 AllReduce 5 1000    1010    1040
            2 14 13 collective 77 1 2 0 AllReduce 6 1001030 1001040 1001070
        """,
        "process": "process_id rank world_size host\n 1 0 2 n\n 2 1 2 m",
    }
    assert_rows(
        trace(**shifted).sql("FROM _collective_wait ORDER BY rank"),
        """
        rank late_ns call_late_ns wait_ns transfer_ns
        0    0       0            30      70
        1    30      30           0       70
        """,
    )


def test_bandwidth_by_algorithm(trace: MakeTrace) -> None:
    opened = trace(**TABLES)
    assert_rows(
        opened.sql("FROM collective_bandwidth ORDER BY bytes"),
        """
        collective bytes algorithm protocol ranks operations median_ns algorithm_gbps bus_gbps
        AllReduce  1000  RING      LL       2     1          70        14.2857        14.2857
        AllReduce  2000  TREE      SIMPLE   2     1          40        50             50
        """,
    )


@pytest.mark.parametrize(
    ("names", "hosts", "found"),
    [
        (("NVIDIA H100 80GB HBM3",) * 2, "n n", ("NVLink", 450, 100 * 14.2857 / 450)),
        (("NVIDIA B200", "NVIDIA A100-SXM4-80GB"), "n n", ("NVLink", 300, 100 * 14.2857 / 300)),
        (("NVIDIA H100 80GB HBM3",) * 2, "n m", (None, None, None)),
        (("NVIDIA H100 PCIe",) * 2, "n n", (None, None, None)),
        (("NVIDIA H100 80GB HBM3", "NVIDIA X1"), "n n", (None, None, None)),
        # 16 lanes of 16 billion transfers of a bit, of which 128 in 130 are data.
        (("NVIDIA L4",) * 2, "n n", ("PCIe", 31.508, 100 * 14.2857 / 31.508)),
    ],
)
def test_bandwidth_beside_what_the_link_carries(
    trace: MakeTrace, names: tuple[str, str], hosts: str, found: tuple[object, ...]
) -> None:
    first, second = hosts.split()
    opened = trace(
        **TABLES
        | {
            "process": f"process_id rank world_size host\n 1 0 2 {first}\n 2 1 2 {second}",
            "device": "process_id device_id device_uuid name\n"
            f"1 0 GPU-a '{names[0]}'\n 2 0 GPU-b '{names[1]}'",
            "pcie": """
                type device_uuid generation link_rate_gtps link_width
                gpu  GPU-a       4          16             16
                gpu  GPU-b       4          16             16
            """,
        }
    )
    (row,) = opened.sql("FROM collective_bandwidth WHERE bytes = 1000")
    assert (row["link"], row["link_gbps"], row["link_pct"]) == (
        found[0],
        found[1] and pytest.approx(found[1], rel=1e-3),
        found[2] and pytest.approx(found[2], rel=1e-3),
    )


def operations(late_ns: int, host: str, count: int = 12) -> dict[str, str]:
    """Operations of two ranks, of which the second begins so much later, or earlier."""
    rows = [
        f"{rank} 0 {n} {10000 * n + late_ns * (rank == 1)} {10000 * n + 900} {NAME}"
        for n in range(count)
        for rank in (0, 1)
    ]
    said = """'{"Collective name": "allreduce", "Process Group Name": "0", "Seq": %d}'"""
    return {
        "kernel": "process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(rows),
        "argument": "process_id correlation_id arguments\n"
        + "\n".join(f"{rank} {n} {said % n}" for n in range(count) for rank in (0, 1)),
        "process": f"process_id rank world_size host\n 0 0 2 n\n 1 1 2 {host}",
    }


@pytest.mark.parametrize(
    ("late_ns", "host", "count", "clock_ns", "is_straggler"),
    [
        (300, "n", 12, 0, True),
        (300, "n", 9, 0, False),
        # Of another host: by cause and effect alone, the clock can be 1500 ns wrong, and 22 more
        # at the ends of 110 us of which it is not known how it drifts.
        (300, "m", 12, 1522, False),
    ],
)
def test_how_sure_it_is_who_is_late(
    trace: MakeTrace, late_ns: int, host: str, count: int, clock_ns: int, is_straggler: bool
) -> None:
    opened = trace(**operations(late_ns, host, count))
    rows = {row["rank"]: row for row in opened.query("collective_wait")}
    assert rows[0]["is_straggler"] is False
    assert (rows[1]["is_straggler"], rows[1]["clock_ns"]) == (is_straggler, clock_ns)
    assert (rows[1]["last"], rows[1]["median_margin_ns"]) == (count, late_ns)
    # All of n are 0.5 n above one half, in units of 0.5 sqrt(n).
    assert rows[1]["sigma"] == pytest.approx(count**0.5)


def test_the_first_rank_is_late_only_if_the_clock_of_the_other_host_says_so(
    trace: MakeTrace,
) -> None:
    opened = trace(**operations(-300, "m", 12))
    rows = {row["rank"]: row for row in opened.query("collective_wait")}
    assert (rows[0]["last"], rows[0]["median_margin_ns"]) == (12, 300)
    assert rows[0]["clock_ns"] == rows[1]["clock_ns"] > 300
    assert rows[0]["is_straggler"] is False


def test_one_kernel_of_several_operations(trace: MakeTrace) -> None:
    # A group of two gathers of 100 bytes a rank, and one of a send with two receives.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1100     1200   ncclDevKernel_AllGather_RING_LL
            1          0         2              2100     2200   ncclDevKernel_SendRecv
        """,
        api_call=f"""
            process_id thread_id correlation_id domain name   start_ns end_ns
            1          5         1              driver {CALL} 1020     1030
            1          5         2              driver {CALL} 2020     2030
        """,
        nccl_event="""
            process_id event_id group_id kind communicator rank ranks sequence function datatype \
size_bytes peer algorithm thread_id launch_start_ns launch_end_ns
            1 4 3 collective 77 0 4 6 AllGather ncclInt8 100 - RING 5 1010 1040
            1 5 3 collective 77 0 4 7 AllGather ncclInt8 100 - TREE 5 1010 1040
            1 8 7 p2p        77 0 4 - Send ncclFloat16 30 1 - 5 2010 2040
            1 9 7 p2p        77 0 4 - Recv ncclFloat16 20 2 - 5 2010 2040
            1 10 7 p2p       77 0 4 - Recv ncclFloat16 40 3 - 5 2010 2040
        """,
        process="process_id rank world_size\n 1 0 4",
    )
    assert_rows(
        opened.sql("FROM _nccl_operation ORDER BY correlation_id"),
        """
        function  operations sequence bytes element_type algorithm
        AllGather 2          6        800   -            -
        SendRecv  3          -        60    Half         -
        """,
    )
    assert_rows(
        opened.sql("SELECT collective, bytes FROM collective ORDER BY start_ns"),
        "collective bytes\n AllGather 800\n SendRecv 60",
    )


def test_a_send_and_its_receive(trace: MakeTrace) -> None:
    # The second pair does not fit: the sizes differ.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              1100     1200   ncclDevKernel_SendRecv
            1          0         2              2100     2200   ncclDevKernel_SendRecv
            2          0         1              1150     1210   ncclDevKernel_SendRecv
            2          0         2              2100     2200   ncclDevKernel_SendRecv
        """,
        api_call=API_CALL,
        nccl_event="""
            process_id event_id group_id kind communicator rank ranks function datatype \
size_bytes peer thread_id launch_start_ns launch_end_ns
            1 4  3  p2p 77 0 2 Send ncclFloat16 30 1 5 1010 1040
            1 8  7  p2p 77 0 2 Send ncclFloat16 50 1 5 2010 2040
            2 14 13 p2p 77 1 2 Recv ncclFloat16 30 0 6 1040 1070
            2 18 17 p2p 77 1 2 Recv ncclFloat16 60 0 6 2060 2090
        """,
        process=PROCESS,
    )
    assert_rows(
        opened.sql("FROM nccl_p2p"),
        """
        communicator from_rank to_rank number size_bytes start_ns end_ns receive_late_ns both_ns
        77           0         1       0      30         1100     1200   50              50
        """,
    )


@pytest.mark.parametrize("end", ["-", "2140"])
def test_where_a_program_hangs(trace: MakeTrace, end: str) -> None:
    """The second operation of the first rank has no end; the second rank did not call it."""
    kernel = f"""
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              1100     1200   {NAME}
        1          0         2              2100     {end}  {NAME}
        2          0         1              1130     1200   {NAME}
    """
    told = "\n".join(NCCL_EVENT.rstrip().splitlines()[:-1])
    opened = trace(**TABLES | {"kernel": kernel, "nccl_event": told})
    rows = [*opened.query("nccl_unfinished")]
    said = ("rank", "communicator", "function", "sequence", "ranks", "ranks_that_called")
    hanging = [(0, 77, "AllReduce", 1, 2, 1)] if end == "-" else []
    assert [tuple(row[name] for name in said) for row in rows] == hanging


def test_channels_on_the_clock_of_kernels(trace: MakeTrace) -> None:
    told = """
        process_id event_id parent_id group_id kind communicator rank ranks function thread_id \
launch_start_ns launch_end_ns channel gpu_start gpu_end
        1 4 - 3 collective 77 0 2 AllReduce 5 1010 1040 - -      -
        1 5 4 - channel    77 0 2 -         5 -    -    0 900070 900165
        1 6 4 - channel    77 0 2 -         5 -    -    1 900072 -
    """
    assert_rows(
        trace(**TABLES | {"nccl_event": told}).sql("FROM _nccl_channel ORDER BY channel"),
        """
        event_id correlation_id function  channel start_ns end_ns
        4        1              AllReduce 0       1100     1195
        4        1              AllReduce 1       1102     -
        """,
    )
