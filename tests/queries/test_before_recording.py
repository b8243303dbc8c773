"""What GPUs may have done before a trace began, which is not in it."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.findings import about, find


@pytest.mark.parametrize("source", ["import of kineto", "capture"])
def test_what_waits_first_on_a_stream_may_wait_for_work_from_before_the_recording(
    trace: MakeTrace, source: str
) -> None:
    """Servers are profiled while they run: a batch from before is on the stream, and unseen."""
    opened = trace(
        capture=f'capture_id source\n 1 "{source}"',
        kernel="""
            process_id device_id stream_id start_ns end_ns name correlation_id
            1          0         2         0        1000   a    1
            1          0         3         93000    94000  b    2
            1          0         3         134000   135000 c    3
        """,
        api_call="""
            process_id thread_id domain  name             correlation_id start_ns end_ns
            1          5         runtime cudaLaunchKernel 1              0        10
            1          5         runtime cudaLaunchKernel 2              2000     3000
            1          5         runtime cudaLaunchKernel 3              4000     5000
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 1000         enumerate(DataLoader)#0
            1          5         1         end   80000        -
        """,
    )
    unknown = 90000 if source == "import of kineto" else 0
    assert_rows(
        opened.query("gap_attribution"),
        f"""
        gap_ns launching_ns outside_ns queued_ns         unknown_ns
        92000  1000         1000       {90000 - unknown} {unknown}
        40000  0            0          40000             0
        """,
    )
    found = opened.query("finding_queued")
    assert_rows(found, f"saved_ns\n{130000 - unknown}")
    of_input = opened.query("idle_summary").refined("WHERE cause = 'input'")
    assert_rows(of_input, "idle_ns\n1000")
    is_said = "for 67 % it is not known whether it worked" in about(opened, find(opened))
    assert is_said is (source == "import of kineto")
