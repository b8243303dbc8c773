"""In which range the host was outside CUDA: in the one with most of that time, or none is named."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

KERNELS = """
    process_id device_id correlation_id start_ns end_ns name
    1          0         1              20       500    k
    1          0         2              150500   150600 k
"""
CALLS = """
    process_id thread_id correlation_id domain  start_ns end_ns name
    1          5         1              runtime 0        10     cudaLaunchKernel
    1          5         2              runtime 150390   150400 cudaLaunchKernel
"""


def ranges(*spans: tuple[str, int, int]) -> str:
    rows = [
        f"1 5 {number} start {start} {name}\n1 5 {number} end {end} -"
        for number, (name, start, end) in enumerate(spans)
    ]
    return "process_id thread_id marker_id event timestamp_ns name\n" + "\n".join(rows)


@pytest.mark.parametrize(
    ("spans", "culprit"),
    [
        ((("inner", 74_000, 77_000),), "above all before"),
        ((("outer", 10_000, 140_000), ("inner", 74_000, 77_000)), "most of it in outer"),
    ],
)
def test_a_short_gap_is_not_of_what_the_host_did_in_its_middle(
    trace: MakeTrace, spans: tuple[tuple[str, int, int], ...], culprit: str
) -> None:
    opened = trace(kernel=KERNELS, api_call=CALLS, marker=ranges(*spans))
    assert_rows(opened.query("finding_host"), f'culprit\n"{culprit}"')


def test_a_range_in_which_the_host_was_in_cuda_has_none_of_its_other_time(
    trace: MakeTrace,
) -> None:
    """Of 150 us, 110 are of an allocation, and 35 of what was done before it."""
    opened = trace(
        kernel=KERNELS,
        api_call=CALLS + "    1 5 3 runtime 36000 146000 cudaMalloc\n",
        marker=ranges(("read", 500, 36_000), ("allocate", 36_000, 147_000)),
    )
    assert_rows(opened.query("finding_host"), 'saved_ns culprit\n39890 "most of it in read"')
