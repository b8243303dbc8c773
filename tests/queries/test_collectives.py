"""What the arguments of PyTorch and NCCL say of a collective operation."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

SAID = """\
'{"Collective name": "%s", "dtype": "%s", "In msg nelems": %d, "Out msg nelems": %d, \
"Group size": %d, "Process Group Name": "%s"}'"""


def test_what_pytorch_says_of_a_collective(trace: MakeTrace) -> None:
    # The first kernel carries the arguments itself; of the others the range around the call does,
    # whose payload is the number of an operator, and no size.
    gather = SAID % ("_allgather_base", "BFloat16", 50, 100, 2, "tp")
    spread = SAID % ("all_to_allv", "Float", 10, 10, 4, "ep")
    again = SAID % ("_allgather_base", "Half", 5, 10, 2, "dp")
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    ncclDevKernel_AllGather_RING_LL
            1          0         2              300      400    ncclDevKernel_SendRecv
            1          0         3              500      600    ncclDevKernel_AllGather_RING_LL
            1          0         4              700      800    ncclDevKernel_AllGather_RING_LL
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 50       60
            1          5         2              runtime cudaLaunchKernel 150      160
            1          5         3              runtime cudaLaunchKernel 250      260
            1          5         4              runtime cudaLaunchKernel 350      360
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name               domain
            1          5         1         start 40           record_param_comms cpu_op
            1          5         1         end   70           -                  cpu_op
            1          5         2         start 140          record_param_comms cpu_op
            1          5         3         start 145          nccl:all_to_all    user_annotation
            1          5         3         end   165          -                  user_annotation
            1          5         2         end   170          -                  cpu_op
            1          5         4         start 240          record_param_comms cpu_op
            1          5         4         end   270          -                  cpu_op
            1          5         5         start 345          nccl:_all_gather   user_annotation
            1          5         5         end   365          -                  user_annotation
        """,
        marker_data="process_id marker_id payload_kind payload\n 1 3 int64 777\n 1 5 int64 778",
        argument=f"""
            process_id marker_id correlation_id arguments
            1          -         1              {gather}
            1          1         -              {spread}
            1          2         -              {spread}
            1          4         -              {again}
        """,
        process="process_id rank world_size\n 1 0 8",
    )
    assert_rows(
        opened.sql("FROM collective ORDER BY start_ns"),
        """
        collective number bytes elements element_type group_size process_group
        AllGather  0      200   100      BFloat16     2          tp
        AllToAll   0      40    10       Float        4          ep
        AllGather  0      20    10       Half         2          dp
        AllGather  0      -     -        -            -          -
        """,
    )
    assert_rows(
        opened.sql("FROM collective_bandwidth ORDER BY bytes NULLS LAST"),
        """
        collective bytes element_type ranks algorithm_gbps bus_gbps
        AllGather  20    Half         2     0.2            0.1
        AllToAll   40    Float        4     0.4            0.3
        AllGather  200   BFloat16     2     2              1
        AllGather  -     -            8     -              -
        """,
    )


def test_nccl_gives_the_part_of_one_rank(trace: MakeTrace) -> None:
    size = """'{"NCCL communicator ID": 7, "Message size [bytes]": 100}'"""
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    ncclDevKernel_AllGather_RING_LL
            1          0         2              300      400    ncclDevKernel_AllReduce_Sum_f32
            1          0         3              500      600    ncclDevKernel_AllReduce_Sum_f32
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 50       60
            1          5         2              runtime cudaLaunchKernel 150      160
            1          5         3              runtime cudaLaunchKernel 250      260
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name          domain
            1          5         1         start 40           ncclAllGather NCCL
            1          5         1         end   70           -             NCCL
            1          5         2         start 140          ncclAllReduce NCCL
            1          5         2         end   170          -             NCCL
            1          5         3         start 240          ncclAllReduce NCCL
            1          5         3         end   270          -             NCCL
        """,
        argument=f"""
            process_id marker_id arguments
            1          1         {size}
            1          2         {size}
            1          3         "Message size [bytes]: no JSON"
        """,
        process="process_id rank world_size\n 1 0 8",
    )
    assert_rows(
        opened.sql("FROM collective ORDER BY start_ns"), "bytes number\n 800 0\n 100 0\n - 1"
    )


def test_the_arguments_say_which_collective_it_was(trace: MakeTrace) -> None:
    # RCCL has one kernel for all; only the last has a name of its own, and no arguments.
    said = [SAID % (what, "BFloat16", 50, 100, 8, "tp") for what in ("allreduce", "_reduce_oop")]
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    ncclDevKernel_Generic_1(Args)
            1          0         2              300      400    ncclDevKernel_Generic_1(Args)
            1          0         3              500      600    ncclDevKernel_Generic_1(Args)
            1          0         4              700      800    two_shot_all_reduce_kernel
        """,
        argument=f"process_id correlation_id arguments\n 1 1 {said[0]}\n 1 2 {said[1]}",
        process="process_id rank world_size\n 1 0 16",
    )
    assert_rows(
        opened.sql("FROM collective ORDER BY start_ns"),
        """
        collective number bytes group_size
        AllReduce  0      200   8
        Reduce     0      200   8
        other      0      -     -
        AllReduce  0      -     -
        """,
    )
    assert_rows(
        opened.sql("FROM collective_bandwidth WHERE bytes IS NOT NULL ORDER BY collective"),
        """
        collective ranks algorithm_gbps bus_gbps
        AllReduce  8     2              3.5
        Reduce     8     2              2
        """,
    )


def test_kernels_of_unknown_names_that_arguments_call_collectives(trace: MakeTrace) -> None:
    # Number 2 is told by the operator around its call, whose number is its payload; of the graph
    # launched by call 4 the arguments are of one kernel, nobody knows which; once in three times
    # the name of a copy is not enough.
    said = SAID % ("allreduce", "Float", 100, 100, 2, "tp")
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    exchange
            1          0         2              300      400    exchange2
            1          0         4              500      600    node
            1          0         4              600      700    node2
            1          0         5              700      800    direct
            1          0         6              800      900    direct
            1          0         7              900      1000   direct
            1          0         8              100      150    gemm
        """,
        external_correlation="process_id correlation_id external_id\n 1 2 77",
        marker_data="process_id marker_id payload_kind payload\n 1 9 int64 77",
        argument=f"""
            process_id marker_id correlation_id arguments
            1          -         1              {said}
            1          9         -              {said}
            1          -         4              {said}
            1          -         5              {said}
        """,
        process="process_id rank\n 1 0",
    )
    assert_rows(
        opened.sql("FROM kernel_rule ORDER BY mangled"),
        """
        mangled   category      rule
        direct    other         -
        exchange  communication arguments
        exchange2 communication arguments
        gemm      gemm          gemm
        node      other         -
        node2     other         -
        """,
    )
    assert_rows(
        opened.sql("FROM collective ORDER BY start_ns"),
        "name collective bytes\n exchange AllReduce 400\n exchange2 AllReduce 400",
    )
    (row,) = opened.query("busy_breakdown")
    assert (row["compute_ns"], row["exposed_communication_ns"]) == (550, 150)


@pytest.mark.parametrize(
    ("name", "demangled"),
    [
        (
            "_ZN4some2ep9internode7combineILb0ELi8EEEvP4int4",
            "'void some::ep::internode::combine<false, 8>(int4*)'",
        ),
        ("'void some::ep::intranode::dispatch<8>(int4*)'", "-"),
        ("EpDispatchIntraNodeKernel_bf16", "-"),
    ],
)
def test_what_routes_tokens_between_experts_goes_from_all_to_all(
    trace: MakeTrace, name: str, demangled: str
) -> None:
    opened = trace(
        kernel=f"process_id device_id start_ns end_ns name\n 1 0 10 20 {name}",
        kernel_name=f"mangled demangled short\n {name} {demangled} -",
    )
    assert [row["collective"] for row in opened.query("collective")] == ["AllToAll"]


@pytest.mark.parametrize(
    ("elements", "ranks", "kind"), [(-1, 2, "Float"), (4, 0, "Float"), (4, -8, "Float")]
)
def test_sizes_below_zero_are_not_known(
    trace: MakeTrace, elements: int, ranks: int, kind: str
) -> None:
    said = SAID % ("allreduce", kind, elements, elements, ranks, "tp")
    opened = trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        " 1 0 1 10 20 ncclAllReduce",
        argument=f"process_id correlation_id arguments\n 1 1 {said}",
        process="process_id rank\n 1 0",
    )
    (row,) = opened.query("collective")
    assert row["bytes"] == (16 if elements > 0 else None)
    assert row["group_size"] == (ranks if ranks > 0 else None)


def test_what_a_gpu_communicates_most_is_summed_over_sizes_and_of_that_gpu(
    trace: MakeTrace,
) -> None:
    # Types and sizes have rows of their own in collective_bandwidth.
    opened = trace(
        kernel="""process_id device_id start_ns end_ns name
                  1 0 0   30  ncclDevKernel_AllReduce_Sum_f32
                  1 0 100 130 ncclDevKernel_AllReduce_Sum_f16
                  1 0 200 240 ncclDevKernel_AllGather
                  1 1 300 390 ncclDevKernel_Broadcast"""
    )
    assert_rows(
        opened.sql("SELECT saved_ns, culprit FROM finding_communication ORDER BY saved_ns"),
        'saved_ns culprit\n 90 "above all Broadcast"\n 100 "above all AllReduce"',
    )
