"""What an nsys export says of losses, and what it lacks without a word."""

from __future__ import annotations

from pathlib import Path

import pytest
from imports.conftest import Import, nsys
from support.trace import assert_rows

from cupti_etl.imports.run import import_traces

KERNEL = "start end deviceId globalPid\n100 300 0 11:0"


@pytest.mark.parametrize(
    "said",
    ["Not all CUDA events might have been collected.", "Some CUPTI events might be missing."],
)
def test_what_nsys_says_of_losses(tmp_path: Path, imported: Import, said: str) -> None:
    # Of OpenGL nothing is imported.
    file = nsys(
        tmp_path / "t.sqlite",
        CUPTI_ACTIVITY_KIND_KERNEL=KERNEL,
        DIAGNOSTIC_EVENT=f"text\n'Some OpenGL events might be missing.'\n'{said}'",
    )
    assert_rows(
        imported(file).sql("FROM loss"), f"cause records detail\ncupti_dropped - 'nsys: {said}'"
    )


@pytest.mark.parametrize("kernels", [0, 1])
def test_nsys_did_not_see_what_called_cuda(tmp_path: Path, imported: Import, kernels: int) -> None:
    # It says so of a process without CUDA, too, such as a shell that starts the others.
    said = "CUDA profiling might have not been started correctly."
    file = nsys(
        tmp_path / "t.sqlite",
        NVTX_EVENTS="start end eventType globalTid text\n10 20 59 11:70 step",
        DIAGNOSTIC_EVENT=f"text\n'No CUDA events collected. Does the process use CUDA?'\n'{said}'",
        **({"CUPTI_ACTIVITY_KIND_KERNEL": KERNEL} if kernels else {}),
    )
    lost = imported(file).sql("FROM loss").arrow().to_pylist()
    assert [row["detail"] for row in lost] == ([] if kernels else [f"nsys: {said}"])


def test_names_in_ranges_of_nvtx_are_told(tmp_path: Path) -> None:
    """NvtxThread and NvtxCategory of ENUM_NSYS_EVENT_TYPE: nsys has threads' names apart, too."""
    file = nsys(
        tmp_path / "t.sqlite",
        NVTX_EVENTS="""
            start end eventType globalTid text
            10    20  59        11:70     step
            11    -   39        11:70     loader
            12    -   33        11:70     input
        """,
    )
    summary = import_traces([file], tmp_path / "trace", 1)
    assert [(row["category"], row["what"], row["events"]) for row in summary.skipped] == [
        ("redundant", "names of threads in NVTX_EVENTS", 1),
        ("unsupported", "names of categories in NVTX_EVENTS", 1),
    ]
