"""What ``--callbacks`` kept, by function."""

from __future__ import annotations

from support.trace import MakeTrace, assert_rows

TABLES = {
    "callback_event": """
        process_id domain      function             start_ns end_ns correlation_id result bytes
        1          driver      cuLaunchKernel       100      110    1              0      -
        1          driver      cuLaunchKernel       200      230    2              0      -
        1          driver      cuLaunchKernel       300      310    3              719    -
        2          driver      cuLaunchKernel       300      310    1              600    -
        1          runtime     cudaLaunchKernel     90       140    1              0      -
        1          runtime     cudaMemcpyAsync      400      -      4              0      64
        1          runtime     cudaMemcpyAsync      -        420    5              0      32
        1          synchronize CONTEXT_SYNCHRONIZED 500      -      -              -      -
    """,
    "kernel": """
        process_id device_id context_id stream_id correlation_id start_ns end_ns name
        1          0         1          7         1              1000     1100   gemm
        1          0         1          7         1              1100     1150   gemm
        1          0         1          7         2              1200     1300   gemm
        2          0         1          7         1              1000     1007   add
        1          0         1          7         9              1400     1500   unseen
    """,
}


def test_calls_times_errors_and_gpu_time(trace: MakeTrace) -> None:
    """Joined by process and correlation id; a runtime call has the work of the call inside it."""
    assert_rows(
        trace(**TABLES).query("callback_summary"),
        """
        domain      function             percent calls errors total_ns mean_ns max_ns
        driver      cuLaunchKernel       54.5455 4     1      60       15      30
        runtime     cudaLaunchKernel     45.4545 1     0      50       50      50
        runtime     cudaMemcpyAsync      0       2     0      0        -       -
        synchronize CONTEXT_SYNCHRONIZED 0       1     0      0        -       -
        """,
    )
    assert_rows(
        trace(**TABLES).query("callback_summary"),
        """
        function             bytes work gpu_ns
        cuLaunchKernel       -     4    257
        cudaLaunchKernel     -     2    150
        cudaMemcpyAsync      96    0    0
        CONTEXT_SYNCHRONIZED -     0    0
        """,
    )
