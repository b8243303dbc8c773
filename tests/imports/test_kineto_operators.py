"""What operators of PyTorch asked for, as far as a trace says it in numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from imports.conftest import Import, event, kineto, nsys
from support.trace import assert_rows

from cupti_etl.analysis.findings import none
from cupti_etl.analysis.report import build


def launch(at: float, correlation: int, external: int) -> list[dict[str, Any]]:
    ids: dict[str, Any] = {"correlation": correlation, "External id": external}
    return [
        event("cuda_runtime", "cudaLaunchKernel", at, 1, **ids),
        event("kernel", "k", at + 2, 10, 0, device=0, stream=7, **ids),
    ]


def test_a_call_may_have_the_number_of_its_operator(tmp_path: Path, imported: Import) -> None:
    # A call that no operator asked for has its own number for an operator's, as the last here.
    path = kineto(
        tmp_path / "a.json",
        event("cpu_op", "aten::a", 100, 50, **{"External id": 6}),
        *launch(110, 9, 6),
        event("user_annotation", "inside", 130, 19),
        *launch(131, 6, 6),
        event("cpu_op", "aten::b", 200, 50, **{"External id": 7}),
        *launch(210, 7, 7),
        *launch(220, 10, 10),
    )
    trace = imported(path)
    assert_rows(
        trace.query("operator_summary"),
        """
        name    self_gpu_ns launches
        aten::a 20000       2
        aten::b 10000       1
        inside  0           1
        """,
    )
    assert "ProfilerActivity" not in none(trace)


def test_operators_that_begin_in_one_microsecond_are_told_apart_by_their_numbers(
    tmp_path: Path, imported: Import
) -> None:
    path = kineto(
        tmp_path / "a.json",
        event("cpu_op", "aten::to", 100, 0, **{"External id": 5}),
        event("cpu_op", "aten::to", 100, 1, **{"External id": 6}),
        # One that does nothing but call the other.
        event("cpu_op", "aten::to", 200, 1, **{"External id": 7}),
        event("cpu_op", "aten::to", 200, 0, **{"External id": 8}),
    )
    assert_rows(imported(path).query("operator_summary"), "name calls host_ns\naten::to 3 2000")


def test_a_report_of_a_profile_of_the_host_alone_says_what_to_do(
    tmp_path: Path, imported: Import
) -> None:
    path = kineto(
        tmp_path / "host.json",
        event("python_function", "nn.Module: Linear_0", 10, 20),
        event("python_function", "nn.Module: Linear_1", 90, 70),
        event("cpu_op", "aten::a", 100, 50),
        event("cpu_op", "aten::b", 110, 30),
    )
    trace = imported(path)
    assert [row["name"] for row in trace.query("operator_summary")] == ["aten::b", "aten::a"]
    assert [row["path"] for row in trace.query("module_summary")] == ["Linear_1", "Linear_0"]
    said = none(trace)
    assert said.startswith("None: no finished GPU activity was recorded.")
    assert "ProfilerActivity.CUDA" in said
    assert "operator_summary" in said
    report = build(trace)
    # One reason for all that is about GPUs, and not what else such a trace lacks.
    titles = [
        title for why, some in report.empty.items() if "GPU activity" in why for title in some
    ]
    assert {"Why the GPUs were idle", "The longest gaps", "Time by NVTX range"} < set(titles)
    assert {"Is it launch bound?", "What determined the run time"} < set(titles)


def test_an_operator_may_have_other_words_for_what_is_a_number_of_kernels(
    tmp_path: Path, imported: Import
) -> None:
    """As those of Triton have in newer versions of PyTorch."""
    said = {"grid": "grid(100,)", "num_warps": 4}
    trace = imported(
        kineto(tmp_path / "t.json", event("cpu_op", "triton_poi_fused_add_0", 10, 5, **said))
    )
    (row,) = trace.sql("SELECT arguments FROM argument")
    assert json.loads(row["arguments"]) == said
    assert trace.sql("FROM import_skipped").count() == 0


def test_the_name_that_a_program_gave_a_kernel_of_a_graph_is_kept(
    tmp_path: Path, imported: Import
) -> None:
    """As mark_kernels of PyTorch does, beside other arguments or alone."""
    kernels = [event("kernel", "k", at, 5, 0, stream=7, correlation=at) for at in (10, 20, 30)]
    kernels[0]["args"]["name"] = 'layers.0."wq"'
    kernels[1]["args"] |= {"name": "gather", "layer": "0"}
    trace = imported(kineto(tmp_path / "t.json", *kernels))
    rows = trace.sql("SELECT correlation_id AS id, arguments FROM argument ORDER BY id")
    assert [(row["id"], json.loads(row["arguments"])) for row in rows] == [
        (10, {"name": 'layers.0."wq"'}),
        (20, {"layer": "0", "name": "gather"}),
    ]


def test_a_profile_of_another_accelerator_is_not_to_be_made_with_cuda(
    tmp_path: Path, imported: Import
) -> None:
    path = kineto(
        tmp_path / "mtia.json",
        event("cpu_op", "aten::a", 100, 50),
        event("mtia_runtime", "recordEvent", 110, 1, correlation=1),
        event("mtia_ccp_events", "pe_exe", 120, 10, 17, stream=112),
        {"ph": "s", "id": 5, "pid": 7, "tid": 7, "ts": 100, "cat": "async_npu", "name": "to_npu"},
    )
    assert none(imported(path)) == (
        "None: no finished GPU activity was recorded. What accelerators other than GPUs did is not"
        " read: async_npu, mtia_ccp_events, mtia_runtime. How long operators took on the host: cupti-etl query"
        " operator_summary TRACE"
    )


def test_a_profile_in_which_the_program_asked_for_no_gpu_work(
    tmp_path: Path, imported: Import
) -> None:
    call = event("cuda_runtime", "cudaGetDeviceCount", 112, 1, correlation=1)
    path = kineto(tmp_path / "a.json", event("cpu_op", "aten::a", 100, 50), call)
    assert none(imported(path)) == (
        "None: no finished GPU activity was recorded."
        " How long operators took on the host: cupti-etl query operator_summary TRACE"
    )


def test_a_report_of_ranges_alone_says_what_to_record(tmp_path: Path, imported: Import) -> None:
    ranges = "start end eventType text globalTid\n10 90 59 step 11:70"
    assert none(imported(nsys(tmp_path / "t.sqlite", NVTX_EVENTS=ranges))) == (
        "None: no finished GPU activity was recorded."
        " If the program used a GPU, record it with nsys profile --trace cuda,nvtx."
        " How long each range took on the host: cupti-etl query nvtx_range TRACE"
    )
