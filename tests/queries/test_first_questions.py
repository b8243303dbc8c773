"""What people ask first: why is it idle, what did each step do, which layer, which module."""

from __future__ import annotations

import re

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.render.table import View
from cupti_etl.render.text import drawn

# Two steps; from 70 to 120 nothing runs, while the host loads the next batch and launches.
STEPS = {
    "marker": """
        process_id thread_id marker_id event timestamp_ns domain          name
        1          5         1         start 0            user_annotation ProfilerStep#4
        1          5         1         end   100          user_annotation -
        1          5         2         start 75           user_annotation "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        1          5         2         end   105          user_annotation -
        1          5         3         start 107          user_annotation ProfilerStep#5
        1          5         3         end   200          user_annotation -
        1          8         4         start 0            -               "load batch"
        1          8         4         end   300          -               -
    """,  # noqa: E501
    "api_call": """
        process_id thread_id correlation_id domain  name                  start_ns end_ns
        1          5         1              runtime cudaLaunchKernel      10       12
        1          5         2              runtime cudaMemcpyAsync       13       14
        1          5         9              runtime cudaStreamSynchronize 80       85
        1          5         3              runtime cudaLaunchKernel      110      112
        1          5         4              runtime cudaGraphLaunch       115      117
    """,
    "kernel": """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              20       60     a
        1          0         3              120      150    a
        1          0         4              150      160    b
        1          0         4              160      170    ncclDevKernel_AllReduce
    """,
    "memcpy": """
        process_id device_id correlation_id start_ns end_ns copy_kind
        1          0         2              55       70     HtoD
    """,
}


def test_causes_add_to_the_idle_time_and_input_is_told_from_the_rest(trace: MakeTrace) -> None:
    opened = trace(**STEPS)
    # Outside CUDA from 70 to 110, but for the wait; of this, 75 to 105 is the loader's. What a
    # thread that launches nothing loads is none.
    rows = [(row["cause"], row["idle_ns"]) for row in opened.query("idle_summary")]
    assert rows == [("input", 25), ("host", 10), ("queued", 8), ("waiting", 5), ("launching", 2)]
    (whole,) = opened.query("busy_breakdown")
    assert whole["idle_ns"] == sum(ns for _, ns in rows)


@pytest.mark.parametrize(
    ("name", "is_input"),
    [
        ("next batch", True),
        ("loader.py(8): get_batch", True),
        ("get_batch (train.py:8)", True),
        ("training.py(8): get_batch_on_this_rank", True),
        # What these get is at hand.
        ("modeling_utils.py(8): get_input_embeddings", False),
        ("parallel_state.py(8): get_data_parallel_rank", False),
        ("utils.py(8): get_batch_size", False),
    ],
)
def test_input_is_known_by_the_whole_name(trace: MakeTrace, name: str, is_input: bool) -> None:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    opened = trace(**{**STEPS, "marker": STEPS["marker"].replace(loader, name)})
    causes = {row["cause"] for row in opened.query("idle_summary")}
    assert ("input" in causes) == is_input


def test_without_calls_causes_are_unknown(trace: MakeTrace) -> None:
    opened = trace(kernel=STEPS["kernel"])
    assert_rows(opened.query("idle_summary"), "cause idle_ns idle_pct gaps\nunknown 60 100 1")


@pytest.mark.slow
def test_a_step_says_what_it_launched_and_waited_for(trace: MakeTrace) -> None:
    opened = trace(**STEPS)
    assert_rows(
        opened.query("step_summary"),
        """
        step name           duration_ns launches kernels copies busy_ns compute_ns exposed_communication_ns exposed_copy_ns idle_ns
        0    ProfilerStep#4 100         2        1       1      50      40         0                        10              50
        1    ProfilerStep#5 50          2        3       0      50      40         10                       0               0
        """,  # noqa: E501
    )
    assert_rows(
        opened.query("step_summary"),
        """
        idle_input_ns idle_host_ns idle_launching_ns idle_waiting_ns idle_queued_ns idle_edge_ns
        25            10           2                 5               8              0
        0             0            0                 0               0              0
        """,
    )


@pytest.mark.slow
def test_causes_of_idle_time_are_shown_before_what_says_less(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines, _ = drawn(trace(**STEPS).query("step_summary"), View(), terminal=True)
    (heading,) = (line for line in lines if "duration" in line)
    words = re.sub(r"\x1b\[\d+m", "", heading).split()
    # The second halves of idle_host, idle_queued and so on.
    assert words[-4:] == ["host", "queued", "launching", "input"]


def test_a_call_counts_once_where_its_first_work_began(trace: MakeTrace) -> None:
    # The first is a driver's call inside one of the runtime, with one number; the second a graph
    # of which a kernel runs in the next step; and a kernel has no call.
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 0            ProfilerStep#1
            1          5         1         end   100          -
            1          5         2         start 100          ProfilerStep#2
            1          5         2         end   200          -
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 10       20
            1          5         1              driver  cuLaunchKernel   12       18
            1          5         2              runtime cudaGraphLaunch  40       50
            1          5         3              runtime cudaLaunchKernel 110      115
            1          5         4              runtime cudaLaunchKernel 180      185
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              30       40     a
            1          0         2              60       70     b
            1          0         2              130      140    c
            1          0         3              120      125    a
            1          0         9              150      160    d
            1          0         4              190      195    a
        """,
    )
    assert_rows(
        opened.query("step_summary"),
        "step launches kernels copies\n 0 2 2 0\n 1 2 4 0",
    )


def test_layers_of_a_kind_are_compared(trace: MakeTrace) -> None:
    opened = trace(
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        + "\n".join(
            f'1 5 {n} start {n * 10} "{name}"\n1 5 {n} end {n * 10 + 9} -'
            for n, name in enumerate(("layer 0", "layer 1", "layer 2", "loss"))
        ),
        api_call="process_id thread_id correlation_id domain name start_ns end_ns\n"
        + "\n".join(f"1 5 {n} runtime cudaLaunchKernel {n * 10} {n * 10 + 1}" for n in range(4)),
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {n} {n * 100} {n * 100 + ns} a" for n, ns in enumerate((20, 20, 50, 10))),
    )
    assert_rows(
        opened.query("nvtx_layer"),
        """
        layer     kin       percent runs gpu_ns ratio
        "layer 2" "layer *" 50      1    50     2.5
        "layer 0" "layer *" 20      1    20     1
        "layer 1" "layer *" 20      1    20     1
        """,
    )


def test_a_layer_that_is_a_part_of_itself_counts_once(trace: MakeTrace) -> None:
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 0            'nn.Module: GraphModule_0'
            1          5         2         start 10           'nn.Module: GraphModule_0'
            1          5         2         end   30           -
            1          5         3         start 40           'nn.Module: GraphModule_0'
            1          5         3         end   50           -
            1          5         1         end   50           -
            1          5         4         start 50           'nn.Module: GraphModule_0'
            1          5         4         end   60           -
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 15       20
            1          5         2              runtime cudaLaunchKernel 32       34
            1          5         3              runtime cudaLaunchKernel 52       54
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      120    a
            1          0         2              120      170    a
            1          0         3              170      200    a
        """,
    )
    assert_rows(
        opened.query("nvtx_layer"),
        "layer         percent runs gpu_ns host_ns\n GraphModule_0 100     2    100    60",
    )


def test_numbers_in_the_names_of_copies_models_and_functions_are_of_no_layer(
    trace: MakeTrace,
) -> None:
    layers = ("transformer.h.3", "h2", "layer1.conv2", "conv2d_1", "down.resnets.0")
    others = ("Memory Copy H2D", "memcpy_h2d", "resnet50_inference", "conv2d", "op: 'conv3d'")
    others += ("all_reduce grad [layers.2.ffn.w2.weight]",)
    names = layers + others
    opened = trace(
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        + "\n".join(
            f'1 5 {n} start {n * 10} "{name}"\n1 5 {n} end {n * 10 + 9} -'
            for n, name in enumerate(names)
        ),
        api_call="process_id thread_id correlation_id domain name start_ns end_ns\n"
        + "\n".join(
            f"1 5 {n} runtime cudaLaunchKernel {n * 10} {n * 10 + 1}" for n in range(len(names))
        ),
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {n} {n * 100} {n * 100 + 20 - n} a" for n in range(len(names))),
    )
    assert [row["layer"] for row in opened.query("nvtx_layer")] == list(layers)


def test_modules_have_their_own_work_that_of_those_inside_and_the_backward_pass(
    trace: MakeTrace,
) -> None:
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain          name
            1          5         1         start 0            python_function "nn.Module: Net_0"
            1          5         1         end   60           python_function -
            1          5         2         start 1            python_function "torch/nn/modules/module.py(1): _call_impl"
            1          5         2         end   55           python_function -
            1          5         3         start 2            python_function "nn.Module: Linear_0"
            1          5         3         end   52           python_function -
            1          5         4         start 10           cpu_op          aten::addmm
            1          5         4         end   30           cpu_op          -
            1          5         5         start 56           cpu_op          aten::sum
            1          5         5         end   59           cpu_op          -
            1          6         6         start 100          cpu_op          "autograd::engine::evaluate_function: AddmmBackward0"
            1          6         6         end   160          cpu_op          -
        """,  # noqa: E501
        argument="""
            process_id marker_id arguments
            1          4         '{"Sequence number": 7}'
            1          6         '{"Sequence number": 7, "Fwd thread id": 1}'
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 15       20
            1          5         2              runtime cudaLaunchKernel 57       58
            1          6         3              runtime cudaLaunchKernel 115      117
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              200      250    gemm
            1          0         2              260      270    reduce
            1          0         3              300      340    gemm
        """,
    )
    assert_rows(
        opened.query("module_summary"),
        """
        path               percent calls activities gpu_ns self_gpu_ns backward_gpu_ns host_ns self_host_ns
        Net_0              60      1     2          60     10          40              60      10
        "Net_0 / Linear_0" 50      1     1          50     50          40              50      50
        """,  # noqa: E501
    )
