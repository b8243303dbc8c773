"""Queries about kernels: shapes, tails, drift, sequences."""

from __future__ import annotations

import re

import pytest
from support.trace import MakeTrace, assert_rows, kernels


def test_shapes_of_a_kernel_are_apart(trace: MakeTrace) -> None:
    opened = trace(
        kernel=kernels(
            "1 0 1 7 0   10 a 4 1 1 32 1 1 0 0 0 16 8 8 1",
            "1 0 1 7 20  50 a 4 1 1 32 1 1 0 0 0 16 8 8 2",
            "1 0 1 7 60 120 a 8 2 1 32 1 1 2 1 1 16 0 0 3",
            "1 0 1 7 130  - a 8 2 1 32 1 1 2 1 1 16 0 0 4",
        )
    )
    assert_rows(
        opened.query("kernel_config_summary"),
        """
        grid  block  cluster shared_bytes registers_per_thread percent calls total_ns mean_ns
        8x2x1 32x1x1 2x1x1   0            16                   60      1     60       60
        4x1x1 32x1x1 -       16           16                   40      2     40       20
        """,
    )


def test_the_tail_names_the_slowest_run_and_what_ran_before(trace: MakeTrace) -> None:
    rows = [
        f"1 0 1 7 {at * 1000} {at * 1000 + 10} a 1 1 1 32 1 1 0 0 0 8 0 0 {at}" for at in range(20)
    ]
    rows += [
        "1 0 1 7 50000 50001 b 1 1 1 32 1 1 0 0 0 8 0 0 50",
        "1 0 1 7 51000 51110 a 1 1 1 32 1 1 0 0 0 8 0 0 51",
        "1 0 1 7 52000 -     a 1 1 1 32 1 1 0 0 0 8 0 0 52",
    ]
    assert_rows(
        trace(kernel=kernels(*rows)).query("kernel_tail"),
        """
        name calls p50_ns max_ns lost_ns worst_start_ns worst_correlation_id previous_name
        a    21    10     110    100     51000          51                   b
        """,
    )


# Runs of a of 10 each, but for the three here; one of b and a copy before the slowest.
SLOW = {
    "kernel": kernels(
        *(
            f"1 0 1 7 {at * 1000} {at * 1000 + 10} a 1 1 1 32 1 1 0 0 0 8 0 0 {at}"
            for at in range(20)
        ),
        "1 0 1 7 50000 50001 b 1 1 1 32 1 1 0 0 0 8 0 0 50",
        "1 0 1 7 51000 51110 a 1 1 1 32 1 1 0 0 0 8 0 0 51",
        "1 0 1 8 52000 52090 a 1 1 1 32 1 1 0 0 0 8 0 0 52",
        "2 0 1 7 53000 53090 a 1 1 1 32 1 1 0 0 0 8 0 0 51",
        "1 0 1 7 54000 -     a 1 1 1 32 1 1 0 0 0 8 0 0 54",
    ),
    "memcpy": "process_id device_id context_id stream_id start_ns end_ns copy_kind\n"
    " 1 0 1 7 50900 51020 HtoD\n 1 0 1 9 50950 50960 DtoH",
    "kernel_name": "mangled short\n a alpha\n b beta",
    "device": "process_id device_id device_uuid\n 1 0 GPU-a\n 2 0 GPU-a",
    # The launch of 51 lies in train / step; that of the other process has the same id.
    "api_call": """
        process_id thread_id correlation_id domain  name             start_ns end_ns
        1          5         51             runtime cudaLaunchKernel 40000    40010
        1          5         51             driver  cuLaunchKernel   40002    40008
        1          5         52             runtime cudaLaunchKernel 45000    45010
        2          5         51             runtime cudaLaunchKernel 40000    40010
    """,
    "marker": """
        process_id thread_id marker_id event timestamp_ns name
        1          5         1         start 30000        train
        1          5         2         start 39000        step
        1          5         2         end   41000        -
        1          5         1         end   60000        -
    """,
    "environment": """
        process_id device_id timestamp_ns environment_kind sm_clock_mhz
        2          0         100          speed            1980
        1          0         51900        speed            1200
        1          0         51950        temperature      -
        1          0         52500        speed            1500
    """,
}


def test_what_was_around_the_slowest_runs(trace: MakeTrace) -> None:
    opened = trace(**SLOW)
    assert_rows(
        opened.query("kernel_worst", runs=3),
        """
        name  place duration_ns median_ns ratio gpu process_id stream_id correlation_id start_ns
        alpha 1     110         10        11    0   1          7         51             51000
        alpha 2     90          10        9     0   1          8         52             52000
        alpha 3     90          10        9     0   2          7         51             53000
        """,
    )
    assert_rows(
        opened.query("kernel_worst", runs=3),
        """
        previous_kind previous_name since_previous_ns range          sm_clock_mhz
        memcpy        HtoD          -20               "train / step" 1980
        -             -             -                 train          1200
        -             -             -                 -              1500
        """,
    )


def test_what_ran_before_may_have_begun_long_before(trace: MakeTrace) -> None:
    # The first run is after one of 9 ms, the second 5 ms after that ended.
    opened = trace(
        kernel=kernels(
            "1 0 1 7 1000000  10000000 long 1 1 1 32 1 1 0 0 0 8 0 0 1",
            "1 0 1 7 10000100 10000300 a    1 1 1 32 1 1 0 0 0 8 0 0 2",
            "1 0 1 7 15000000 15000100 a    1 1 1 32 1 1 0 0 0 8 0 0 3",
        )
    )
    assert_rows(
        opened.query("kernel_worst", named="a", min_calls=2),
        """
        place previous_name since_previous_ns
        1     long          100
        2     -             -
        """,
    )
    (row,) = (row for row in opened.query("kernel_tail", min_calls=2) if row["name"] == "a")
    assert (row["max_ns"], row["previous_name"]) == (200, "long")


@pytest.mark.parametrize("moved", [0, 200_000, 500_000, 900_000])
def test_what_ran_before_ended_in_the_millisecond_before(trace: MakeTrace, moved: int) -> None:
    # Wherever the times lie: the longest run of a is 1.1 ms after what came before, that of b 0.9.
    opened = trace(
        kernel="process_id device_id stream_id start_ns end_ns name grid_x\n"
        + "\n".join(
            f"1 0 7 {start + moved} {end + moved} {name} 1"
            for start, end, name in (
                (5_000_000, 5_000_100, "a"),
                (6_100_100, 6_100_300, "a"),
                (8_000_000, 8_000_100, "b"),
                (8_900_100, 8_900_300, "b"),
            )
        )
    )
    for query in ("kernel_worst", "kernel_tail"):
        before = {
            row["name"]: row["previous_name"]
            for row in opened.query(query, min_calls=2)
            if row.get("place", 1) == 1
        }
        assert before == {"a": None, "b": "b"}


def test_what_ran_before_is_of_the_same_device(trace: MakeTrace) -> None:
    # Where contexts are not known, the streams of two devices have the same numbers.
    opened = trace(
        kernel="""
            process_id device_id stream_id start_ns end_ns name
            1          0         7         100      200    a
            1          0         7         900      990    b
            1          1         7         500      600    c
        """
    )
    assert_rows(
        opened.query("kernel_worst", named="b", min_calls=1),
        "previous_name since_previous_ns\n a 700",
    )
    (tail,) = (row for row in opened.query("kernel_tail", min_calls=1) if row["name"] == "b")
    assert tail["previous_name"] == "a"


def test_the_slowest_runs_of_one_kernel(trace: MakeTrace) -> None:
    opened = trace(**SLOW)
    assert opened.query("kernel_worst").count() == 5
    assert opened.query("kernel_worst", named="alpha", runs=1).count() == 1
    assert opened.query("kernel_worst", named="a", runs=1).count() == 1
    assert opened.query("kernel_worst", named="beta").count() == 0
    assert_rows(
        opened.query("kernel_worst", named="beta", min_calls=1),
        """
        name place duration_ns previous_kind previous_name since_previous_ns
        beta 1     1           kernel        alpha         30990
        """,
    )


def test_executions_that_took_as_long_are_in_the_order_of_ranks(trace: MakeTrace) -> None:
    """Numbers of processes are drawn at random: which of them it is would be, too."""
    opened = trace(
        process="process_id host pid rank\n 1 a 30 -\n 2 b 20 1\n 3 c 10 2\n 4 a 20 -",
        kernel=kernels(
            *(f"{process} 0 1 7 100 190 a 1 1 1 32 1 1 0 0 0 8 0 0 1" for process in (1, 2, 3, 4)),
            "2 0 1 7 90 180 a 1 1 1 32 1 1 0 0 0 8 0 0 2",
            "3 0 1 7 100 190 a 1 1 1 32 1 1 0 0 0 8 0 0 9",
        ),
    )
    assert_rows(
        opened.query("kernel_worst", min_calls=1, runs=6),
        """
        place process_id start_ns correlation_id
        1     2          90       2
        2     2          100      1
        3     3          100      1
        4     3          100      9
        5     4          100      1
        6     1          100      1
        """,
    )


def test_the_clock_of_samples_comes_before_that_of_readings(trace: MakeTrace) -> None:
    # A sample ends before the second run begins, and that of another GPU is none.
    opened = trace(
        **SLOW,
        pm_sample="""
            device_uuid start_ns end_ns gpc_clock_hz
            GPU-a       50900    51900  1.0e9
            GPU-a       51900    52900  1.1e9
            GPU-a       52900    52990  1.2e9
            GPU-b       52000    54000  1.3e9
        """,
        pm_metric="device_uuid metric unit aggregation\n GPU-a gpc_clock_hz Hz mean",
    )
    assert [row["sm_clock_mhz"] for row in opened.query("kernel_worst", runs=3)] == [
        1000,
        1100,
        1500,
    ]


def test_a_kernel_that_slows_down(trace: MakeTrace) -> None:
    rows = [
        f"1 0 1 7 {at * 100} {at * 100 + (10 if at < 20 else 20)} a 1 1 1 32 1 1 0 0 0 8 0 0 {at}"
        for at in range(40)
    ]
    (row,) = trace(kernel=kernels(*rows)).query("kernel_pace")
    assert (row["calls"], row["period_ns"], row["jitter_ns"]) == (40, 100, pytest.approx(0))
    assert (row["before_ns"], row["after_ns"], row["change_start_ns"]) == (10, 20, 1900)
    assert row["drift_pct"] > 50
    assert row["change_strength"] > 3
    assert row["warm_up_ratio"] == pytest.approx(10 / 15)


def test_a_kernel_that_ran_once_has_no_pace(trace: MakeTrace) -> None:
    (row,) = trace(kernel=kernels("1 0 1 7 100 110 a 1 1 1 32 1 1 0 0 0 8 0 0 1")).query(
        "_kernel_trend"
    )
    assert (row["calls"], row["period_ns"], row["drift_pct"]) == (1, None, None)


def test_categories_are_of_names(trace: MakeTrace) -> None:
    names = [
        "ncclDevKernel_AllReduce_Sum",
        "flash_fwd_kernel",
        "sm90_xmma_gemm_f16",
        "mystery",
        "layer_norm_kernel",
        "elementwise_kernel_with_lambda",
    ]
    rows = [
        f"1 0 1 7 {at} {at + 10} {name} 1 1 1 32 1 1 0 0 0 8 0 0 1" for at, name in enumerate(names)
    ]
    found = {
        row["longest_name"]: row["category"]
        for row in trace(kernel=kernels(*rows)).query("kernel_category")
    }
    assert list(map(found.get, names)) == [
        "communication",
        "attention",
        "gemm",
        "other",
        "normalization",
        "elementwise",
    ]


# Of CUTLASS and of cuDNN, the name of the function alone says nothing.
@pytest.mark.parametrize(
    ("short", "demangled", "category"),
    [
        ("Kernel", "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64>", "gemm"),
        ("device_kernel", "void cutlass::device_kernel<flash::FlashAttnFwdSm90>", "attention"),
        ("Kernel2", "void cutlass::Kernel2<cutlass_80_tensorop_fprop_optimized>", "convolution"),
        ("volta_scudnn_128x64_relu", "volta_scudnn_128x64_relu", "convolution"),
        ("computeOffsetsKernel", "void cask__5x_cudnn::computeOffsetsKernel<false>", "convolution"),
        ("bn_bw_1C11_kernel_new", "void cudnn::bn_bw_1C11_kernel_new<float>", "normalization"),
    ],
)
def test_categories_of_libraries(
    trace: MakeTrace, short: str, demangled: str, category: str
) -> None:
    opened = trace(
        kernel=kernels("1 0 1 7 0 10 a 1 1 1 32 1 1 0 0 0 8 0 0 1"),
        kernel_name=f"mangled demangled short\n a '{demangled}' {short}",
    )
    # All functions of CUTLASS are called Kernel; what they do is in the angle brackets.
    name = re.sub(r".*<(flash::)?(\w+)>", r"\2", demangled) if "cutlass" in demangled else short
    assert_rows(opened.query("kernel_category"), f"category longest_name\n {category} {name}")


def test_sequences_are_within_a_stream(trace: MakeTrace) -> None:
    rows = []
    for at in range(0, 1000, 100):
        rows += [
            f"1 0 1 7 {at} {at + 10} a 1 1 1 32 1 1 0 0 0 8 0 0 1",
            f"1 0 1 8 {at + 5} {at + 15} x 1 1 1 32 1 1 0 0 0 8 0 0 1",
            f"1 0 1 7 {at + 20} {at + 40} b 1 1 1 32 1 1 0 0 0 8 0 0 1",
        ]
    assert_rows(
        trace(kernel=kernels(*rows)).query("kernel_sequences", length=2),
        """
        sequence count total_ns gap_ns mean_kernel_ns
        "a > b"  10    300      100    15
        """,
    )


def test_streams_of_two_gpus_are_two_where_contexts_are_not_known(trace: MakeTrace) -> None:
    rows = [
        f"1 {gpu} - 0 {at + 50 * gpu} {at + 50 * gpu + 10} {name} 1 1 1 32 1 1 0 0 0 8 0 0 1"
        for at in range(0, 1000, 100)
        for gpu, name in enumerate("ab")
    ]
    assert_rows(
        trace(kernel=kernels(*rows)).query("kernel_sequences", length=2, min_count=9),
        'sequence count gap_ns\n "a > a" 9 810\n "b > b" 9 810',
    )
