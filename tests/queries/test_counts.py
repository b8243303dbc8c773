"""What instructions counted, with --sass-metrics."""

from __future__ import annotations

from pathlib import Path

from support.sampled_code import with_code
from support.trace import MakeTrace, assert_rows

import cupti_etl

TABLES = {
    "kernel_name": """
        mangled demangled        short
        _Z4gemm gemm<int>(float) gemm
    """,
    "sass_metric": """
        process_id start_ns end_ns function cubin_crc pc_offset metric   value
        1          1000     2000   _Z4gemm  7         16        executed 50
        1          2000     3000   _Z4gemm  7         16        executed 30
        1          2000     3000   _Z4gemm  7         16        threads  960
        2          1000     3000   _Z4gemm  7         32        executed 10
        1          1000     2000   _Z3add   8         16        executed 10
    """,
}  # fmt: skip


def test_collections_and_processes_add_up(trace: MakeTrace) -> None:
    """Of 100 that were executed, gemm's first instruction has 50 + 30."""
    assert_rows(
        trace(**TABLES).query("instruction_count"),
        """
        name   pc_offset metric   value percent
        _Z3add 16        executed 10    10
        gemm   16        executed 80    80
        gemm   16        threads  960   100
        gemm   32        executed 10    10
        """,
    )


def test_what_has_no_line_has_a_row_a_function(trace: MakeTrace) -> None:
    assert_rows(
        trace(**TABLES).query("line_count"),
        """
        place                            metric   value percent instructions line
        "no line information in gemm"    executed 90    90      2            -
        "no line information in _Z3add"  executed 10    10      1            -
        "no line information in gemm"    threads  960   100     1            -
        """,
    )


# Counts of the code of places.cu, at instructions of which one was inlined from another line.
COUNTED = """
    process_id function cubin_crc pc_offset metric   value
    1          places   7         96        executed 6
    1          places   7         112       executed 2
    1          places   7         160       executed 8
    1          unknown  8         16        executed 4
"""


def test_instructions_have_their_text_and_their_line(tmp_path: Path) -> None:
    trace = cupti_etl.open(with_code(tmp_path / "run", {"sass_metric": COUNTED}))
    assert_rows(
        trace.query("instruction_count"),
        """
        name    pc_offset value instruction                      place
        places  96        6     "LDG.E R0, desc[UR4][R2.64]"     places.cu:9
        places  112       2     "LDG.E R7, desc[UR4][R2.64+0x4]" places.cu:9
        places  160       8     "FFMA R0, R0, R11, 1"            places.cu:4
        unknown 16        4     -                                -
        """,
    )
    assert_rows(
        trace.query("line_count"),
        """
        place                             value percent instructions line
        places.cu:4                       8     40      1            4
        places.cu:9                       8     40      2            9
        "no line information in unknown"  4     20      1            -
        """,
    )


def test_threads_that_part(trace: MakeTrace) -> None:
    """Of 30 instructions of warps, 10 were executed by 8 threads: 7.5 would not be needed."""
    threads = "smsp__sass_thread_inst_executed"
    opened = trace(
        sass_metric=f"""
            process_id function cubin_crc pc_offset metric                   value
            1          parting  7         16        smsp__sass_inst_executed 10
            1          parting  7         16        {threads}                80
            1          whole    7         16        smsp__sass_inst_executed 20
            1          whole    7         16        {threads}                640
            1          whole    7         32        smsp__sass_inst_executed 20
        """
    )
    assert_rows(
        opened.query("active_threads"),
        """
        lost_pct threads place                            executed lost instructions name
        25       8       'no line information in parting' 10       8    1            parting
        0        32      'no line information in whole'   20       0    1            whole
        """,
    )
