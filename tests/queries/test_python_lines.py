"""Which lines and functions of Python the GPU time comes from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command import etl
from support.trace import MakeTrace, assert_rows, write_tables

from cupti_etl.analysis.html import html
from cupti_etl.analysis.report import build

# main calls train, which calls torch's linear twice, and itself once more; a thread of autograd
# launches as well.  The GPU waits for 10 before 2 and 30 before 4.
TABLES = {
    "kernel": """
        process_id device_id context_id stream_id correlation_id start_ns end_ns name
        1          0         1          7         1              0        100    _Z4gemmv
        1          0         1          7         2              110      150    _Z4gemmv
        1          0         1          7         3              150      160    add
        1          0         1          7         4              190      200    back
        1          0         1          7         9              200      900    unseen
    """,
    "kernel_name": "mangled short\n _Z4gemmv gemm",
    "launch_stack": """
        process_id correlation_id stack_id state
        1          1              71       whole
        1          2              71       whole
        1          3              72       whole
        1          4              -        no_frames
        1          5              71       whole
    """,
    "python_stack": """
        process_id stack_id depth function   file                                  line first_line
        1          71       0     linear     /v/site-packages/torch/functional.py  9    5
        1          71       1     Net.train  /app/train.py                         12   10
        1          71       2     Net.train  /app/train.py                         14   10
        1          71       3     <module>   /app/main.py                          3    1
        1          72       0     Net.train  /app/train.py                         13   10
        1          72       1     <module>   /app/main.py                          3    1
    """,
}


def test_what_the_capture_itself_calls_is_no_line_of_the_program(trace: MakeTrace) -> None:
    opened = trace(
        kernel=TABLES["kernel"],
        launch_stack="process_id correlation_id stack_id state\n1 1 71 whole",
        python_stack="""
            process_id stack_id depth function   file                                 line
            1          71       0     linear     /v/site-packages/torch/functional.py 9
            1          71       1     __call__   /me/cupti_etl/inprocess/pytorch.py   166
            1          71       2     Net.train  /app/train.py                        14
        """,
    )
    assert_rows(
        opened.query("python_line"),
        """
        own_gpu_ns total_gpu_ns place
        100        100          train.py:14
        0          100          functional.py:9
        """,
    )
    assert_rows(
        opened.sql("FROM _stack_frame ORDER BY depth"), "depth function\n0 linear\n1 Net.train"
    )


@pytest.mark.slow
def test_lines(trace: MakeTrace) -> None:
    """Own work is the innermost own line's, and adds to all of it; totals are of each line once."""
    assert_rows(
        trace(**TABLES).query("python_line"),
        """
        own_gpu_ns self_gpu_ns total_gpu_ns launches idle_before_ns place
        140        0           140          2        10             train.py:12
        10         10          10           1        0              train.py:13
        10         0           10           1        30     "(thread of autograd or a library)"
        0          0           150          3        0              main.py:3
        0          0           140          2        0              train.py:14
        0          140         140          2        0              functional.py:9
        """,
    )
    rows = list(trace(**TABLES).query("python_line"))
    assert sum(row["percent"] for row in rows) == pytest.approx(100)


def test_functions_count_recursion_once(trace: MakeTrace) -> None:
    assert_rows(
        trace(**TABLES).query("python_function"),
        """
        total_gpu_ns own_gpu_ns self_gpu_ns launches function  place
        150          150        10          3        Net.train train.py:10
        150          0          0           3        <module>  main.py:1
        140          0          140         2        linear    functional.py:5
        10           10         0           1   "(thread of autograd or a library)" -
        """,
    )


def test_files_of_one_name_are_told_apart(trace: MakeTrace) -> None:
    opened = trace(
        kernel=TABLES["kernel"],
        launch_stack=TABLES["launch_stack"],
        python_stack="""
            process_id stack_id depth function file          line first_line
            1          71       0     f        /app/a/run.py 1    1
            1          72       0     f        /app/b/run.py 1    1
        """,
    )
    places = [row["place"] for row in opened.query("python_line")]
    assert places[:2] == ["a/run.py:1", "b/run.py:1"]


@pytest.mark.slow
def test_without_stacks_it_says_how_to_get_them(tmp_path: Path) -> None:
    folder = write_tables(tmp_path / "run", kernel=TABLES["kernel"])
    assert "capture with --python-stacks" in etl("query", "python_line", folder).stderr
    assert etl("export", folder, "--to", "folded", "-").stderr.splitlines() == [
        "cupti-etl: no Python stacks were kept (capture with --python-stacks, or with_stack=True of"
        " torch.profiler)",
        "  cupti-etl capture --python-stacks -- python train.py",
    ]


OUTER = "<module> (main.py:1);Net.train (train.py:10)"


@pytest.mark.slow
def test_flame_graph_as_text_and_for_speedscope(tmp_path: Path) -> None:
    folder = write_tables(tmp_path / "run", **TABLES)
    folded = etl("export", folder, "--to", "folded", "-").stdout
    assert folded.splitlines() == [
        f"{OUTER};Net.train (train.py:10);linear (functional.py:5);gemm 140",
        "(thread of autograd or a library);back 10",
        f"{OUTER};add 10",
    ]
    out = tmp_path / "gpu.speedscope.json"
    assert etl("export", folder, "--to", "speedscope", out).returncode == 0
    found = json.loads(out.read_text())
    (profile,) = found["profiles"]
    assert profile["weights"] == [140, 10, 10]
    assert profile["endValue"] == 160
    names = [frame["name"] for frame in found["shared"]["frames"]]
    stacks = [";".join(names[at] for at in sample) for sample in profile["samples"]]
    assert [f"{s} {w}" for s, w in zip(stacks, profile["weights"], strict=True)] == (
        folded.splitlines()
    )


@pytest.mark.slow
def test_flame_graph_in_the_report(trace: MakeTrace) -> None:
    page = html(build(trace(**TABLES)))
    assert '<svg class="flame"' in page
    assert "<title>gemm: 140 ns, 87.5 %</title>" in page
    assert "&lt;module&gt; (main.py:1): 150 ns, 93.8 %" in page


# Under emit_nvtx: two products on the program's thread, and their passes on that of autograd.
BACKWARD = {
    "kernel": """
        process_id device_id context_id stream_id correlation_id start_ns end_ns name
        1          0         1          7         1              100      130    mm
        1          0         1          7         2              200      250    mm
        1          0         1          7         3              300      320    mm_b
        1          0         1          7         4              400      410    mm_b
        1          0         1          7         5              500      507    other
    """,
    "api_call": """
        process_id thread_id correlation_id domain  name             start_ns end_ns
        1          5         1              runtime cudaLaunchKernel 12       14
        1          5         2              runtime cudaLaunchKernel 22       24
        1          6         3              runtime cudaLaunchKernel 42       44
        1          6         4              runtime cudaLaunchKernel 52       54
        1          6         5              runtime cudaLaunchKernel 62       64
    """,
    "marker": """
        process_id thread_id marker_id event timestamp_ns name
        1          5         1         start 10           "aten::mm, seq = 7, op_id = 1"
        1          5         1         end   15           -
        1          5         2         start 20           "aten::mm, seq = 8, op_id = 2"
        1          5         2         end   25           -
        1          6         3         start 40           "MmBackward0, seq = 8, op_id = 3"
        1          6         4         start 41           "aten::mm, op_id = 4"
        1          6         4         end   46           -
        1          6         3         end   47           -
        1          6         5         start 50           "MmBackward0, seq = 7, op_id = 5"
        1          6         5         end   57           -
        1          6         6         start 60           "aten::add_, op_id = 6"
        1          6         6         end   67           -
    """,
    "launch_stack": """
        process_id correlation_id stack_id state
        1          1              71       whole
        1          2              72       whole
        1          3              -        no_frames
        1          4              -        no_frames
        1          5              -        no_frames
    """,
    "python_stack": """
        process_id stack_id depth function file          line first_line
        1          71       0     forward  /app/model.py 8    5
        1          72       0     forward  /app/model.py 9    5
    """,
}


@pytest.mark.slow
def test_the_backward_pass_has_the_lines_of_the_forward_pass(trace: MakeTrace) -> None:
    assert_rows(
        trace(**BACKWARD).query("python_line"),
        """
        own_gpu_ns backward_gpu_ns self_gpu_ns total_gpu_ns launches place
        70         20              50          70           2        model.py:9
        40         10              30          40           2        model.py:8
        7          0               0           7            1   "(thread of autograd or a library)"
        """,
    )
    stacks = {row["stack"]: row["gpu_ns"] for row in trace(**BACKWARD).query("python_flame_graph")}
    assert stacks == {
        "forward (model.py:5);mm": 80,
        "forward (model.py:5);(backward);mm_b": 30,
        "(thread of autograd or a library);other": 7,
    }


# The same as capture --pytorch has it: numbers are payloads; gradients are added up apart.
OBSERVED = BACKWARD | {
    "marker": """
        process_id thread_id marker_id event domain           timestamp_ns name
        1          5         1         start pytorch.operator 10           aten::mm
        1          5         1         end   -                15           -
        1          5         2         start pytorch.operator 20           aten::mm
        1          5         2         end   -                25           -
        1          6         3         start pytorch.backward 40           MmBackward0
        1          6         4         start pytorch.operator 41           aten::mm
        1          6         4         end   -                46           -
        1          6         3         end   -                47           -
        1          6         5         start pytorch.backward 50           MmBackward0
        1          6         5         end   -                57           -
        1          6         6         start pytorch.operator 60           aten::add_
        1          6         6         end   -                67           -
    """,
    "marker_data": """
        process_id marker_id payload_kind payload
        1          1         uint64       7
        1          2         uint64       8
        1          3         uint64       8
        1          5         uint64       7
    """,
}


@pytest.mark.slow
def test_the_backward_pass_by_the_numbers_of_a_capture_with_pytorch(trace: MakeTrace) -> None:
    assert [*trace(**OBSERVED).query("python_line")] == [*trace(**BACKWARD).query("python_line")]


@pytest.mark.parametrize(
    "numbers",
    ["1 1 uint64 7\n1 2 uint64 8", "1 3 uint64 8\n1 5 uint64 7"],
    ids=["only forward", "only backward"],
)
def test_without_numbers_on_both_threads_no_line_is_claimed(trace: MakeTrace, numbers: str) -> None:
    head = OBSERVED["marker_data"].strip().splitlines()[0]
    rows = trace(**OBSERVED | {"marker_data": f"{head}\n{numbers}"}).query("python_line")
    assert {row["place"]: (row["own_gpu_ns"], row["backward_gpu_ns"]) for row in rows} == {
        "model.py:8": (30, 0),
        "model.py:9": (50, 0),
        "(thread of autograd or a library)": (37, 0),
    }


def test_a_finding_says_after_which_time_of_the_host_a_line_goes_on(trace: MakeTrace) -> None:
    """The GPU waits for 200 us before the second launch of train, and for 1 ms before the third."""
    opened = trace(
        device="process_id device_id\n1 0",
        api_call="""
            process_id thread_id correlation_id domain  start_ns end_ns  name
            1          5         1              runtime 0        10      cudaLaunchKernel
            1          5         2              runtime 300000   300010  cudaLaunchKernel
            1          5         3              runtime 1400000  1400010 cudaLaunchKernel
        """,
        kernel="""
            process_id device_id context_id stream_id correlation_id start_ns end_ns  name
            1          0         1          7         1              20       100000  k
            1          0         1          7         2              300020   400000  k
            1          0         1          7         3              1400020  1500000 k
        """,
        launch_stack="""
            process_id correlation_id stack_id state
            1          1              71       whole
            1          2              71       whole
            1          3              72       whole
        """,
        python_stack="""
            process_id stack_id depth function  file          line
            1          71       0     Net.train /app/train.py 12
            1          72       0     Net.train /app/train.py 14
        """,
    )
    (row,) = opened.query("finding_host").arrow().to_pylist()
    assert (row["culprit"], row["kernel"]) == ("above all before train.py:14 goes on", None)
