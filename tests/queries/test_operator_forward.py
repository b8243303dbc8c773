"""Of which operator of the forward pass a backward pass of PyTorch is."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

# Which operator each backward pass is of, by the times when they began.
LINKS = """
    SELECT pass.start_ns AS pass, forward.start_ns AS forward
    FROM _operator_forward AS link
    JOIN _operator AS pass USING (range_id)
    LEFT JOIN _operator AS forward ON forward.range_id = link.forward_range_id
    ORDER BY pass
"""


def test_of_operators_with_one_number_the_pass_is_of_that_on_its_thread(trace: MakeTrace) -> None:
    """A checkpoint runs mul again [120,125) on autograd's thread, which counts for itself."""
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain name
            1          5         1         start 10           cpu_op aten::mul
            1          5         1         end   20           cpu_op -
            1          5         2         start 30           cpu_op aten::add
            1          5         2         end   40           cpu_op -
            1          6         3         start 100          cpu_op AddBackward0
            1          6         3         end   110          cpu_op -
            1          6         4         start 120          cpu_op aten::mul
            1          6         4         end   125          cpu_op -
            1          6         5         start 130          cpu_op MulBackward0
            1          6         5         end   140          cpu_op -
        """,
        argument="""
            process_id marker_id arguments
            1          1         '{"Sequence number": 7, "Fwd thread id": 0}'
            1          2         '{"Sequence number": 8, "Fwd thread id": 0}'
            1          3         '{"Sequence number": 8, "Fwd thread id": 1}'
            1          4         '{"Sequence number": 7, "Fwd thread id": 0}'
            1          5         '{"Sequence number": 7, "Fwd thread id": 1}'
        """,
    )
    assert_rows(opened.sql(LINKS), "pass forward\n100 30\n130 10")


def test_a_pass_of_a_thread_that_was_not_recorded_is_of_no_other(trace: MakeTrace) -> None:
    """DataParallel runs forward on threads of its own, which the profiler does not see."""
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain name
            1          5         1         start 10           cpu_op aten::mul
            1          5         1         end   20           cpu_op -
            1          5         2         start 30           cpu_op aten::add
            1          5         2         end   40           cpu_op -
            1          6         3         start 100          cpu_op AddBackward0
            1          6         3         end   110          cpu_op -
            1          6         4         start 130          cpu_op MulBackward0
            1          6         4         end   140          cpu_op -
            1          7         5         start 150          cpu_op ReluBackward0
            1          7         5         end   160          cpu_op -
        """,
        argument="""
            process_id marker_id arguments
            1          1         '{"Sequence number": 0, "Fwd thread id": 0}'
            1          2         '{"Sequence number": 1, "Fwd thread id": 0}'
            1          3         '{"Sequence number": 1, "Fwd thread id": 1}'
            1          4         '{"Sequence number": 0, "Fwd thread id": 1}'
            1          5         '{"Sequence number": 0, "Fwd thread id": 10}'
        """,
    )
    assert_rows(opened.sql(LINKS), "pass forward\n100 30\n130 10\n150 -")


def test_what_begins_after_a_pass_has_not_made_it(trace: MakeTrace) -> None:
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain           name
            1          5         1         start 10           pytorch.operator aten::mul
            1          5         1         end   20           pytorch.operator -
            1          6         2         start 100          pytorch.backward MulBackward0
            1          6         2         end   110          pytorch.backward -
            1          6         3         start 120          pytorch.operator aten::add
            1          6         3         end   125          pytorch.operator -
        """,
        marker_data="""
            process_id marker_id payload_kind payload
            1          1         int64        7
            1          2         int64        7
            1          3         int64        7
        """,
    )
    assert_rows(opened.sql(LINKS), "pass forward\n100 10")
