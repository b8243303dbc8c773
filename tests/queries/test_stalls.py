"""What PC sampling says of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sampled_code import STALLED, with_code
from support.trace import MakeTrace, assert_rows

import cupti_etl
from cupti_etl.queries.catalog import library

TABLES = {
    "kernel_name": """
        mangled demangled        short
        _Z4gemm gemm<int>(float) gemm
        _Z3add  add(float)       add
    """,
    "kernel": """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              1000     1300   _Z4gemm
        1          0         2              1300     1600   _Z4gemm
        1          0         3              1600     1800   _Z3add
        1          0         4              1800     2000   unsampled
    """,
    "pc_sample": """
        process_id start_ns function cubin_crc pc_offset samples not_issued_samples stall_reason
        1          1000     _Z4gemm  7         16        50      15                 ~barrier
        1          1500     _Z4gemm  7         16        30      5                  ~barrier
        1          1500     _Z4gemm  7         32        20      0                  ~selected
        1          1500     _Z3add   7         16        5       0                  ~wait
    """.replace("~", STALLED),
}  # fmt: skip


def test_reasons_of_each_kernel_beside_its_time(trace: MakeTrace) -> None:
    """Of 1000 ns of kernels, gemm had 600; 80 of its 100 samples waited at a barrier."""
    assert_rows(
        trace(**TABLES).query("kernel_stall"),
        """
        name kernel_pct total_ns reason   percent not_issued_pct samples kernel_samples
        gemm 60         600      barrier  80      20             80      100
        gemm 60         600      selected 20      0              20      100
        add  20         200      wait     100     0              5       5
        """,
    )


# Samples of the code of places.cu, at instructions of three functions of which two are inlined.
SAMPLED = {
    "kernel_name": """
        mangled demangled short
        places  places    places
        library library<> library
    """,
    "pc_sample": """
        process_id function cubin_crc pc_offset samples not_issued_samples stall_reason
        1          places   7         0x60      6       0                  ~long_scoreboard
        1          places   7         0x70      2       0                  ~selected
        1          places   7         0xa0      8       8                  ~long_scoreboard
        1          places   7         0xc0      3       0                  ~drain
        1          library  8         0x10      1       0                  ~wait
    """.replace("~", STALLED),
}  # fmt: skip


@pytest.mark.slow
def test_lines_of_source_where_code_was_inlined(tmp_path: Path) -> None:
    trace = cupti_etl.open(with_code(tmp_path / "run", SAMPLED))
    assert_rows(
        trace.query("source_line"),
        """
        place percent samples not_issued instructions functions name reasons
        places.cu:4  40 8 8 1 1 places "long_scoreboard 100 %"
        places.cu:9  40 8 0 2 1 places "long_scoreboard 75 %, selected 25 %"
        places.cu:16 15 3 0 1 1 places "drain 100 %"
        "no line information in library" 5 1 0 1 1 library "wait 100 %"
        """,
    )
    assert_rows(
        trace.query("line_stall"),
        """
        place        line_pct reason          percent samples not_issued line_samples line
        places.cu:4  40       long_scoreboard 100     8       8          8            4
        places.cu:9  40       long_scoreboard 75      6       0          8            9
        places.cu:9  40       selected        25      2       0          8            9
        places.cu:16 15       drain           100     3       0          3            16
        "no line information in library" 5 wait 100   1       0          1            -
        """,
    )
    assert_rows(
        trace.query("instruction_stall"),
        """
        percent samples not_issued instruction             place        pc_offset reasons
        40      8       8  "FFMA R0, R0, R11, 1"           places.cu:4  160 "long_scoreboard 100 %"
        30      6       0  "LDG.E R0, desc[UR4][R2.64]"    places.cu:9  96  "long_scoreboard 100 %"
        15      3       0  "STG.E desc[UR4][R4.64], R7"    places.cu:16 192 "drain 100 %"
        10      2       0  "LDG.E R7, desc[UR4][R2.64+0x4]" places.cu:9 112 "selected 100 %"
        5       1       0  -             "no line information in library" 16  "wait 100 %"
        """,
    )
    assert_rows(
        trace.sql("FROM sass WHERE pc_offset IN (96, 160, 208) ORDER BY pc_offset"),
        """
        pc_offset instruction                  line inlined_at
        96        "LDG.E R0, desc[UR4][R2.64]" 9    /src/places.cu:16
        160       "FFMA R0, R0, R11, 1"        4    "/src/places.cu:9, /src/places.cu:16"
        208       EXIT                         17   -
        """,
    )


CUTE_KERNEL = (
    "kernel_cutlass_add_kernel_tensorptrf32gmemalign16o10241_tensorptrf32gmemalign16o10241_0"
)


def test_lines_of_a_kernel_of_cute(tmp_path: Path) -> None:
    sampled = {
        "kernel_name": f"""
            mangled       demangled     short
            {CUTE_KERNEL} {CUTE_KERNEL} kernel_cutlass_add_kernel
        """,
        "pc_sample": f"""
            process_id function      cubin_crc pc_offset samples not_issued_samples stall_reason
            1          {CUTE_KERNEL} 7         0x60      6       6                  ~long_scoreboard
            1          {CUTE_KERNEL} 7         0xa0      3       0                  ~wait
            1          {CUTE_KERNEL} 7         0xc0      1       0                  ~selected
        """.replace("~", STALLED),
    }
    folder = with_code(tmp_path / "run", sampled, "cute_add")
    trace = cupti_etl.open(folder)
    assert_rows(
        trace.query("source_line"),
        """
        place          percent samples name                      reasons
        cute_add.py:19 60      6       kernel_cutlass_add_kernel "long_scoreboard 100 %"
        cute_add.py:13 30      3       kernel_cutlass_add_kernel "wait 100 %"
        cute_add.py:20 10      1       kernel_cutlass_add_kernel "selected 100 %"
        """,
    )


def test_code_of_which_a_piece_is_lost_is_not_disassembled(tmp_path: Path) -> None:
    trace = cupti_etl.open(with_code(tmp_path / "run", SAMPLED, lost=1))
    assert [*trace.query("sass")] == []
    assert [*trace.query("source_line")] == []


def test_without_a_disassembler_there_are_no_lines_and_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cupti_etl.sass.rows.find_nvdisasm", lambda: None)
    trace = cupti_etl.open(with_code(tmp_path / "run", SAMPLED))
    assert [*trace.query("source_line")] == []
    (reason,) = [text for name, text in library()["source_line"].requires if name == "sass"]
    assert 'pip install "cupti-etl[sass]"' in reason
