"""What ranges of record_function have of the operators around them."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows


def test_annotations_have_what_the_operator_around_them_asked_for_in_them(trace: MakeTrace) -> None:
    tables = {
        "marker": """
            process_id thread_id marker_id event timestamp_ns domain          name
            1          5         1         start 0            cpu_op          Compiled
            1          5         2         start 10           user_annotation graph
            1          5         3         start 20           cpu_op          aten::mm
            1          5         3         end   30           cpu_op          -
            1          5         2         end   60           user_annotation -
            1          5         1         end   100          cpu_op          -
        """,
        "api_call": """
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 25       26
            1          5         2              runtime cudaGraphLaunch  40       50
            1          5         3              runtime cudaLaunchKernel 80       81
        """,
        "kernel": """
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              200      205    gemm
            1          0         2              300      310    one
            1          0         2              310      330    two
            1          0         3              400      410    three
        """,
    }
    expected = """
        name     kind       self_gpu_ns gpu_ns self_launches launches kernels
        Compiled operator   40          45     2             3        4
        aten::mm operator   5           5      1             1        1
        graph    annotation 0           35     0             2        3
    """
    assert_rows(trace(**tables).query("operator_summary"), expected)
    numbers = {
        "marker_data": """
            process_id marker_id payload_kind payload
            1          1         int64        7
            1          3         int64        8
        """,
        "external_correlation": """
            process_id correlation_id external_kind external_id
            1          1              unknown       8
            1          2              unknown       7
            1          3              unknown       7
        """,
    }
    assert_rows(trace(**tables, **numbers).query("operator_summary"), expected)
