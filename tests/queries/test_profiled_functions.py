"""Python stacks of a trace of torch.profiler: functions are ranges in it, and no lines are told."""

from __future__ import annotations

from support.loops import launched, ranges
from support.trace import MakeTrace, assert_rows

SPANS = (
    ("python_function", "threading.py(973): _bootstrap", 0, 900),
    ("python_function", "train.py(40): main", 10, 800),
    ("user_annotation", "ProfilerStep#1", 20, 700),
    ("python_function", "nn.Module: Linear_0", 30, 300),
    ("python_function", "torch/nn/modules/linear.py(130): forward", 40, 200),
    ("python_function", "<built-in function linear>", 50, 150),
    ("cpu_op", "aten::linear", 60, 140),
    ("python_function", "train.py(12): loss", 400, 500),
)


def test_a_call_is_of_the_functions_around_it(trace: MakeTrace) -> None:
    opened = trace(marker=ranges(*SPANS), **launched([70, 80, 450, 750, 950]))
    assert_rows(
        opened.query("python_function"),
        """
        function                     place            total_gpu_ns own_gpu_ns self_gpu_ns launches
        main                         train.py:40      12           9          3           4
        _bootstrap                   threading.py:973 12           0          0           4
        forward                      linear.py:130    6            0          6           2
        loss                         train.py:12      3            3          3           1
        "(in no function of Python)" -                3            3          0           1
        """,
    )
    assert_rows(
        opened.query("python_flame_graph"),
        """
        gpu_ns stack
        3 "(in no function of Python);k5"
        3 "_bootstrap (threading.py:973);main (train.py:40);forward (linear.py:130);k0"
        3 "_bootstrap (threading.py:973);main (train.py:40);forward (linear.py:130);k3"
        3 "_bootstrap (threading.py:973);main (train.py:40);k1"
        3 "_bootstrap (threading.py:973);main (train.py:40);loss (train.py:12);k2"
        """,
    )


def test_no_line_is_made_up(trace: MakeTrace) -> None:
    opened = trace(process="process_id\n1", marker=ranges(*SPANS), **launched([70]))
    for asked in (opened, opened.scope(process=1)):
        assert asked.query("python_line").count() == 0


def test_stacks_that_were_kept_are_those_of_their_process(trace: MakeTrace) -> None:
    opened = trace(
        marker=ranges(*SPANS),
        launch_stack="process_id correlation_id stack_id state\n1 70 9 whole",
        python_stack="""
            process_id stack_id depth function file          line first_line
            1          9        0     step     /app/train.py 33   30
        """,
        **launched([70, 80]),
    )
    assert_rows(
        opened.query("python_function"),
        "function place       total_gpu_ns launches\n step train.py:30 3          1",
    )


def test_a_script_of_a_capture_may_be_called_as_a_package_is(trace: MakeTrace) -> None:
    opened = trace(
        launch_stack="process_id correlation_id stack_id state\n1 70 9 whole",
        python_stack="""
            process_id stack_id depth function file             line first_line
            1          9        0     run      queue.py         33   30
            1          9        1     main     torch/bench.py   3    1
        """,
        **launched([70]),
    )
    assert_rows(
        opened.query("python_function"),
        """
        function place          own_gpu_ns
        run      queue.py:30 3
        main     bench.py:1  0
        """,
    )
    assert opened.sql("FROM _stack_frame WHERE is_own").count() == 2
