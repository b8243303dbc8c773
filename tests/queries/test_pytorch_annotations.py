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


def test_an_annotation_may_outlast_the_operator_in_which_it_began(trace: MakeTrace) -> None:
    """As that of a collective of Gloo does, which ends when the collective has."""
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain          name
            1          5         1         start 0            user_annotation ProfilerStep#1
            1          5         2         start 90           cpu_op          c10d::allreduce_
            1          5         3         start 100          user_annotation gloo:all_reduce
            1          5         2         end   130          cpu_op          -
            1          5         4         start 200          cpu_op          aten::mm
            1          5         4         end   300          cpu_op          -
            1          5         5         start 550          cpu_op          aten::add
            1          5         3         end   600          user_annotation -
            1          5         5         end   650          cpu_op          -
            1          5         1         end   1000         user_annotation -
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 210      220
            1          5         2              runtime cudaLaunchKernel 400      410
            1          5         3              runtime cudaLaunchKernel 620      630
            1          5         4              runtime cudaLaunchKernel 700      710
        """,
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              2000     2001   gemm
            1          0         2              2010     2020   copy
            1          0         3              2100     2200   add
            1          0         4              3000     4000   fill
        """,
    )
    # Of 1000 the step has 560 in which others ran, some at once, and a call of 10.
    assert_rows(
        opened.query("operator_summary"),
        """
        name             self_gpu_ns self_launches launches self_host_ns host_ns
        ProfilerStep*    1000        1             4        430          1000
        aten::add        100         1             1        90           100
        gloo:all_reduce  10          1             2        390          500
        aten::mm         1           1             1        90           100
        c10d::allreduce_ 0           0             0        40           40
        """,
    )
    assert_rows(
        opened.sql("""
            SELECT inner_one.name AS name, around.name AS around
            FROM _operator AS inner_one
            JOIN _operator AS around ON around.range_id = inner_one.parent_range_id
            ORDER BY inner_one.start_ns
        """),
        """
        name             around
        c10d::allreduce_ ProfilerStep*
        gloo:all_reduce  ProfilerStep*
        aten::mm         gloo:all_reduce
        aten::add        ProfilerStep*
        """,
    )
