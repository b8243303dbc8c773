"""Work on GPUs whose calls are not in the trace, which operators and ranges lack."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.notes import notes
from cupti_etl.analysis.report import build
from cupti_etl.queries.catalog import library


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "end", "said"),
    [("0ns", "200us", "60 %"), ("60us", "200us", "33 %"), ("60us", "125us", None)],
)
def test_work_without_calls_is_said_to_be_missing(
    trace: MakeTrace, begin: str, end: str, said: str | None
) -> None:
    # The first was launched before the trace began, at 20 us; the third has the id of no call.
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              20000    40000  k
            1          0         2              120000   140000 k
            1          0         -              150000   160000 k
        """,
        api_call="""
            process_id thread_id domain  name             correlation_id start_ns end_ns
            1          5         runtime cudaLaunchKernel 2              115000   118000
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name domain
            1          5         9         start 110000       step -
            1          5         9         end   170000       -    -
        """,
    )
    with opened.scope(from_=begin, to=end) as part:
        told = {
            name: [
                each.split(" of the work")[0]
                for each in notes(part, library()[name], {}, is_empty=False)
                if "before the trace began" in each
            ]
            for name in ("nvtx_range", "nvtx_projection", "kernel_summary")
        }
        expected = [said] if said else []
        assert told == {"nvtx_range": expected, "nvtx_projection": expected, "kernel_summary": []}
        assert [each.split(" of the work")[0] for each in build(part).warnings] == expected


@pytest.mark.slow
@pytest.mark.parametrize(("until", "said"), [(1700, "70 %"), (1010, None)])
def test_graphs_as_a_whole_are_said_to_hide_their_kernels(
    trace: MakeTrace, until: int, said: str | None
) -> None:
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n 1 0 0 300 k",
        graph_trace=f"process_id device_id start_ns end_ns graph_id\n 1 0 1000 {until} 4",
    )
    expected = [said] if said else []
    for told in (
        notes(opened, library()["kernel_summary"], {}, is_empty=False),
        build(opened).warnings,
    ):
        assert [each.split(" of the work")[0] for each in told if "graphs" in each] == expected


def test_how_many_launches_a_step_had_is_not_known_without_calls(trace: MakeTrace) -> None:
    rows = [
        f"1 0 {100 * n + at} {100 * n + at + 9} {name}"
        for n in range(8)
        for at, name in ((0, "a"), (20, "b"), (40, "c"))
    ]
    opened = trace(kernel="\n".join(["process_id device_id start_ns end_ns name", *rows]))
    assert_rows(
        opened.sql("SELECT DISTINCT launches, kernels, copies FROM step_summary WHERE step < 6"),
        "launches kernels copies\n - 3 0",
    )


def test_what_was_launched_outside_of_a_part_is_a_share_of_all_work(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    k
            1          0         2              200      300    k
            1          0         9              300      500    k
        """,
        api_call="""
            process_id thread_id domain  name             correlation_id start_ns end_ns
            1          5         runtime cudaLaunchKernel 1              10       20
            1          5         runtime cudaLaunchKernel 2              90       95
        """,
    )
    with opened.scope(from_="50ns") as part:
        assert [row["percent"] for row in part.query("_launched_outside")] == [25]
        assert [row["percent"] for row in part.query("_work_without_call")] == [50]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("api", "kind", "said"),
    [
        ("cudaGraphLaunch", "", ["60 %: graphs of CUDA or HIP, which launched 60 %, run without"]),
        ("cuLaunchKernel", "", ["60 %"]),
        # An annotation says no more of a graph, but of what is launched one by one it does.
        (
            "cudaGraphLaunch",
            "user_annotation",
            ["60 %: graphs of CUDA or HIP, which launched 60 %, run without"],
        ),
        ("cuLaunchKernel", "user_annotation", []),
        ("cudaGraphLaunch", "cpu_op", []),
    ],
)
def test_work_that_no_operator_asked_for_is_said_to_be_missing(
    trace: MakeTrace, api: str, kind: str, said: list[str]
) -> None:
    around = f"""
            1          5         2         start 50           {kind} around
            1          5         2         end   80           {kind} -
    """
    opened = trace(
        kernel="""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      140    k
            1          0         2              200      240    k
            1          0         2              240      260    k
        """,
        api_call=f"""
            process_id thread_id domain  name             correlation_id start_ns end_ns
            1          5         runtime cudaLaunchKernel 1              20       30
            1          5         runtime {api}            2              60       70
        """,
        marker=f"""
            process_id thread_id marker_id event timestamp_ns domain name
            1          5         1         start 10           cpu_op aten::mm
            1          5         1         end   40           cpu_op -
            {around if kind else ""}
        """,
    )
    shares = {row["name"]: row["percent"] for row in opened.query("operator_summary")}
    assert shares == {"aten::mm": 40} | ({"around": 60} if kind else {})
    told = {
        name: [
            each.replace(" of the work on GPUs was asked for by no operator", "")
            for each in notes(opened, library()[name], {}, is_empty=False)
        ]
        for name in ("operator_summary", "api_summary")
    }
    assert [each.split(" operators;")[0] for each in told["operator_summary"]] == [
        each if ":" in each else each + "." for each in said
    ]
    assert told["api_summary"] == []
    warned = list(build(opened).warnings)
    assert ["asked for by no operator" in each for each in warned] == [True] * len(said)


def test_of_a_gpu_whose_gaps_have_no_known_call_it_is_not_said_what_it_waited_for(
    trace: MakeTrace,
) -> None:
    # GPU 1 worked for a process whose calls were not recorded; GPU 0 misses one call in ten.
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns correlation_id name
            1          0         1000     1900   1              a
            1          0         1910     2000   -              a
            2          1         1000     1100   -              a
            2          1         1900     2000   -              a
        """,
        api_call="""
            process_id name             correlation_id start_ns end_ns
            1          cudaLaunchKernel 1              900      950
        """,
        device="process_id device_id device_uuid\n 1 0 A\n 2 1 B",
    )
    assert_rows(
        opened.query("launch_bound"),
        """
        gpu verdict            saved_ns idle_ns span_ns
        0   "not launch bound" 0        10      1000
        1   "cannot tell"      0        800     1000
        """,
    )
    assert_rows(opened.sql("SELECT DISTINCT gpu FROM critical_path"), "gpu\n 0")
