"""Work that CUDA graphs replay has the lines and the ranges of its capture."""

from __future__ import annotations

from typing import Any

import pytest
from support.trace import MakeTrace, assert_rows

# Lines 8 and 9 of model.py are captured as nodes 11 and 12, which instantiating makes 21 and 22;
# train.py:3 replays them twice.  Node 29 was captured before anything was recorded.
TABLES: dict[str, Any] = {
    "kernel": """
        process_id device_id context_id stream_id correlation_id graph_node_id start_ns end_ns name
        1          0         1          7         5              21            500      530    a
        1          0         1          7         5              22            530      580    b
        1          0         1          7         5              29            580      581    c
        1          0         1          7         6              21            600      631    a
        1          0         1          7         6              22            631      680    b
        1          0         1          7         6              29            680      681    c
        1          0         1          7         7              -             700      707    a
    """,
    "api_call": """
        process_id thread_id correlation_id domain  name             start_ns end_ns
        1          5         1              runtime cudaLaunchKernel 10       14
        1          5         2              runtime cudaLaunchKernel 20       24
        1          5         5              runtime cudaGraphLaunch  400      404
        1          5         6              runtime cudaGraphLaunch  410      414
        1          5         7              runtime cudaLaunchKernel 690      694
    """,
    "launch_stack": """
        process_id correlation_id stack_id state
        1          1              71       whole
        1          2              72       whole
        1          5              73       whole
        1          6              73       whole
        1          7              71       whole
    """,
    "graph_node": """
        process_id graph_node_id source_graph_node_id kind   at_ns thread_id stack_id state
        1          11            -                    kernel 12    5         71       whole
        1          12            -                    kernel 22    5         72       whole
        1          21            11                   kernel 32    5         -        -
        1          22            12                   kernel 33    5         -        -
        2          29            -                    kernel 34    5         72       whole
    """,
    "python_stack": """
        process_id stack_id depth function file           line first_line
        1          71       0     forward  /app/model.py  8    5
        1          72       0     forward  /app/model.py  9    5
        1          73       0     step     /app/train.py  3    1
    """,
}


@pytest.mark.slow
def test_replays_have_the_lines_of_the_capture(trace: MakeTrace) -> None:
    """Own times add to all, idle time is of the replay, what was not seen is of it, too."""
    rows = trace(**TABLES).query("python_line")
    assert_rows(
        rows,
        """
        own_gpu_ns graph_gpu_ns backward_gpu_ns launches idle_before_ns place
        99         99           0               2        0              model.py:9
        68         61           0               3        19             model.py:8
        2          0            0               2        19             train.py:3
        """,
    )
    assert sum(row["percent"] for row in rows) == pytest.approx(100)
    stacks = {row["stack"]: row["gpu_ns"] for row in trace(**TABLES).query("python_flame_graph")}
    assert stacks == {
        "forward (model.py:5);(graph);a": 61,
        "forward (model.py:5);(graph);b": 99,
        "forward (model.py:5);a": 7,
        "step (train.py:1);c": 2,
    }


def test_of_a_graph_of_unknown_origin_no_kernel_has_all_the_time(trace: MakeTrace) -> None:
    tables = {name: text for name, text in TABLES.items() if name != "graph_node"}
    stacks = {row["stack"]: row["gpu_ns"] for row in trace(**tables).query("python_flame_graph")}
    assert stacks == {"forward (model.py:5);a": 7, "step (train.py:1);a and 2 more": 162}


def test_kernels_that_are_all_called_kernel_have_the_names_of_their_operators(
    trace: MakeTrace,
) -> None:
    names = """
        mangled demangled                                  short
        a       'void cutlass::Kernel2<cutlass_gemm>(int)' Kernel2
    """
    tables = {name: text for name, text in TABLES.items() if name != "graph_node"}
    stacks = trace(**tables, kernel_name=names).query("python_flame_graph")
    assert [row["stack"].split(";")[-1] for row in stacks] == [
        "cutlass_gemm and 2 more",
        "cutlass_gemm",
    ]


def test_a_clone_of_a_clone(trace: MakeTrace) -> None:
    """CUPTI tells of a clone as of a new node, too, whose line is not that of the capture."""
    nodes = """
        process_id graph_node_id source_graph_node_id kind   at_ns thread_id stack_id state
        1          2             -                    kernel 12    5         71       whole
        1          5             -                    kernel 22    5         73       whole
        1          5             2                    kernel 22    5         -        -
        1          9             5                    kernel 32    5         -        -
        1          21            9                    kernel 42    5         -        -
        1          22            22                   kernel 42    5         -        -
    """
    rows = trace(**TABLES | {"graph_node": nodes}).sql(
        "FROM _graph_node_stack ORDER BY graph_node_id"
    )
    assert_rows(
        rows,
        """
        graph_node_id from_ns made_graph_node_id made_ns stack_id
        2             0       2                  12      71
        5             0       2                  12      71
        9             0       2                  12      71
        21            0       2                  12      71
        """,
    )


def test_an_update_is_of_the_launches_after_it(trace: MakeTrace) -> None:
    """The host is ahead of the GPU: the first replay still waits when the graph is updated."""
    nodes = TABLES["graph_node"] + "1 13 - kernel 405 5 74 whole\n 1 21 13 kernel 407 5 - -\n"
    stacks = TABLES["python_stack"] + "1 74 0 forward /app/model.py 10 5\n"
    rows = trace(**TABLES | {"graph_node": nodes, "python_stack": stacks}).query("python_line")
    assert {row["place"]: row["graph_gpu_ns"] for row in rows} == {
        "model.py:8": 30,
        "model.py:10": 31,
        "model.py:9": 99,
        "train.py:3": 0,
    }


def test_an_update_of_what_was_captured_before(trace: MakeTrace) -> None:
    """What the node did before it was updated is not known from the update."""
    nodes = """
        process_id graph_node_id source_graph_node_id kind   at_ns thread_id stack_id state
        1          13            -                    kernel 405   5         71       whole
        1          21            11                   kernel 32    5         -        -
        1          21            13                   kernel 407   5         -        -
    """
    rows = trace(**TABLES | {"graph_node": nodes}).query("python_line")
    assert {row["place"]: (row["own_gpu_ns"], row["graph_gpu_ns"]) for row in rows} == {
        "model.py:8": (38, 31),
        "train.py:3": (131, 0),
    }


# A whole step is captured under emit_nvtx: the node of the backward pass is made on a thread of
# autograd.
BACKWARD = """
    process_id thread_id marker_id event timestamp_ns name
    1          5         1         start 9            "aten::mm, seq = 7, op_id = 1"
    1          5         1         end   15           -
    1          6         3         start 20           "MmBackward0, seq = 7, op_id = 3"
    1          6         4         start 21           "aten::mm, op_id = 4"
    1          6         4         end   26           -
    1          6         3         end   27           -
"""


def test_the_backward_pass_in_a_graph(trace: MakeTrace) -> None:
    nodes = """
        process_id graph_node_id source_graph_node_id kind   at_ns thread_id stack_id state
        1          11            -                    kernel 12    5         71       whole
        1          12            -                    kernel 22    6         -        no_frames
        1          13            -                    kernel 29    6         -        no_frames
        1          21            11                   kernel 32    5         -        -
        1          22            12                   kernel 33    5         -        -
        1          29            13                   kernel 34    5         -        -
    """
    assert_rows(
        trace(**TABLES | {"graph_node": nodes, "marker": BACKWARD}).query("python_line"),
        """
        own_gpu_ns graph_gpu_ns backward_gpu_ns place
        167        160          99              model.py:8
        2          2            0               "(thread of autograd or a library)"
        0          0            0               train.py:3
        """,
    )


def test_ranges_of_the_capture(trace: MakeTrace) -> None:
    """What is around a node when it is made, not around the launch of its graph."""
    ranges = """
        process_id thread_id marker_id event timestamp_ns name
        1          5         1         start 9            layer
        1          5         2         start 11           "aten::mm, seq = 7, op_id = 1"
        1          5         2         end   15           -
        1          5         1         end   16           -
        1          5         3         start 390          replay
        1          5         3         end   420          -
    """
    rows = trace(**TABLES | {"marker": ranges}).query("graph_range")
    assert_rows(
        rows,
        """
        gpu_ns nodes activities path
        99     1     2          -
        61     1     2          "layer / aten::mm"
        """,
    )
    assert sum(row["percent"] for row in rows) == pytest.approx(100)


@pytest.mark.slow
def test_without_a_capture_it_says_how_to_get_one(trace: MakeTrace) -> None:
    opened = trace(**{name: rows for name, rows in TABLES.items() if name != "graph_node"})
    assert not [*opened.query("graph_range")]
    own = {row["place"]: row["own_gpu_ns"] for row in opened.query("python_line")}
    assert own == {"train.py:3": 162, "model.py:8": 7}
