"""Queries of hardware metrics on traces of a few lines."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from support.trace import MakeTrace, assert_rows

import cupti_etl
from cupti_etl.analysis.report import build

# Four samples of 1000 ns; a kernel fills two, a copy one, and one is idle.
KERNEL = """
    process_id device_id correlation_id start_ns end_ns name grid_x grid_y grid_z block_x block_y block_z
    1          0         1              0        2000   k    8      1      1      64      1       1
"""  # noqa: E501
MEMCPY = """
    process_id device_id correlation_id start_ns end_ns copy_kind bytes
    1          0         2              2000     3000   HtoD      4000
"""
DEVICE = """
    process_id device_id device_uuid multiprocessors core_clock_khz global_memory_bandwidth_kbps \
compute_capability_major compute_capability_minor
    1          0         GPU-a       100             1000000        2000000000                  9 0
"""
PROCESS = "process_id host\n 1 n"
NAMES = ("sm_active_pct", "sm_issue_pct", "tensor_active_pct", "dram_read_pct", "dram_write_pct")


def trace_of(trace: MakeTrace, levels: dict[str, list[Any]], **more: str) -> Any:
    """One sample a value of each metric; names that end in bytes are counts."""
    rows = zip(*levels.values(), strict=True)
    sampled = f"device_uuid start_ns end_ns {' '.join(map(shlex.quote, levels))}\n" + "\n".join(
        f"GPU-a {at * 1000} {at * 1000 + 1000} {' '.join(map(str, row))}"
        for at, row in enumerate(rows)
    )
    about = "metric device_uuid unit aggregation peak interval_ns\n" + "\n".join(
        f"{name} GPU-a bytes sum 50000000000 1000"
        if name.endswith("bytes")
        else f"{name} GPU-a % mean - 1000"
        for name in levels
    )
    given = {"device": DEVICE, "process": PROCESS, "kernel": KERNEL, "memcpy": MEMCPY}
    return trace(**{**given, "pm_sample": sampled, "pm_metric": about, **more})


def levels(*of_kernel: float) -> dict[str, list[Any]]:
    return {name: [level, level, 0, 0] for name, level in zip(NAMES, of_kernel, strict=True)}


def test_clocks_do_not_add_up_and_ratios_are_taken_from_what_is_held(trace: MakeTrace) -> None:
    """k fills two samples, then a copy and the kernel b share two."""
    about = (
        "metric device_uuid unit aggregation\n gpc_clock_hz GPU-a Hz mean\n l2_hit_pct GPU-a % mean"
    )
    run = trace_of(
        trace,
        {"gpc_clock_hz": [1900, 1800, 2000, 2000, 1], "l2_hit_pct": [40, 60, 90, 90, 1]},
        pm_metric=about,
        kernel=KERNEL + "    1 0 3 2000 4000 b 8 1 1 64 1 1\n",
        memcpy=MEMCPY.replace("3000", "3500"),
    )  # fmt: skip
    assert_rows(
        run.sql("FROM kernel_metrics(min_weight := 1) ORDER BY metric, name"),
        """
        name metric       value method reason
        b    gpc_clock_hz 2000  mean   -
        k    gpc_clock_hz 1850  mean   -
        b    l2_hit_pct   -     -      "a ratio cannot be taken apart, and others run beside it"
        k    l2_hit_pct   50    held   -
        """,
    )
    assert_rows(
        run.sql("FROM kernel_metrics() WHERE metric = 'l2_hit_pct' AND name = 'k'"),
        """
        value reason
        -     "a ratio cannot be taken apart, and too few samples hold it alone"
        """,
    )
    assert_rows(
        run.sql("FROM kernel_run_metric() ORDER BY metric, name"),
        """
        name metric       value gpu_value reason
        b    gpc_clock_hz 2000  2000      -
        k    gpc_clock_hz 1850  1850      -
        b    l2_hit_pct   -     90        "others ran beside it"
        k    l2_hit_pct   -     50        "a ratio of less than ten samples"
        """,
    )


def test_a_kernel_has_the_level_that_its_samples_have(trace: MakeTrace) -> None:
    run = trace_of(trace, {"dram_read_pct": [40, 60, 5, 1], "pcie_rx_bytes": [0, 200, 4000, 0]})
    assert_rows(
        run.sql("FROM kernel_metrics(min_weight := 1)"),
        """
        name metric        unit  value stderr method coverage_pct alone_pct runs samples own_mean
        k    dram_read_pct %     50    -      alone  100          100       1    2       50
        k    pcie_rx_bytes bytes 200   -      alone  100          100       1    2       200
        """,
    )
    assert_rows(
        run.sql("FROM kernel_metrics(min_coverage_pct := 101)"),
        """
        metric        value reason
        dram_read_pct -     "too little of its time is under samples"
        pcie_rx_bytes -     "too little of its time is under samples"
        """,
    )
    assert_rows(
        run.query("kernel_metrics"),
        """
        metric        value method reason
        dram_read_pct -     -      "too few samples hold it"
        pcie_rx_bytes -     -      "too few samples hold it"
        """,
    )


# Long enough for kernel_metrics' own thresholds.
LONG = KERNEL.replace(" 2000 ", " 20000 ")


@pytest.mark.parametrize(
    ("of_kernel", "words", "busiest"),
    [
        ((90, 80, 5, 10, 10), "compute", "compute"),
        ((90, 30, 75, 10, 10), "tensor", "tensor"),
        # Reads and writes add up.
        ((90, 30, 5, 40, 35), "dram", "dram"),
        ((90, 30, 5, 20, 5), "latency", "compute"),
        ((20, 10, 0, 5, 4), "launch", "compute"),
        # Of equal ones the first of tensor, compute, dram and link.
        ((90, 75, 75, 40, 35), "tensor", "tensor"),
        ((90, 75, 5, 40, 35), "compute", "compute"),
    ],
)
def test_a_bottleneck_is_the_busiest_part(
    trace: MakeTrace, of_kernel: tuple[float, ...], words: str, busiest: str
) -> None:
    sampled = {name: [level] * 20 for name, level in zip(NAMES, of_kernel, strict=True)}
    run = trace_of(trace, sampled, kernel=LONG, memcpy="")
    (row,) = run.query("kernel_bottleneck")
    if (row["class"], row["busiest"]) == ("dram", "dram"):
        assert row["busiest_pct"] == pytest.approx(75)
    assert (row["class"], row["busiest"], row["reason"]) == (words, busiest, None)
    assert [row["class"] for row in run.query("kernel_bottleneck", busy_pct=1000)] != [busiest]


@pytest.mark.parametrize(
    ("sampled", "words"),
    [
        ("sm_active_pct", "no metric of any part has a value: see kernel_metrics"),
        ("sm_issue_pct", "device memory is not known: sample dram_read_pct and dram_write_pct,"),
        ("dram_pct", "neither compute nor tensor is known: sample sm_issue_pct"),
    ],
)
def test_a_bottleneck_is_not_guessed(trace: MakeTrace, sampled: str, words: str) -> None:
    run = trace_of(trace, {sampled: [20] * 20}, kernel=LONG, memcpy="")
    (row,) = run.query("kernel_bottleneck")
    assert row["class"] is None
    assert row["reason"].startswith(words)


def test_reads_alone_are_not_the_traffic_of_device_memory(trace: MakeTrace) -> None:
    half = {"sm_active_pct": [90] * 20, "sm_issue_pct": [30] * 20, "dram_read_pct": [20] * 20}
    (row,) = trace_of(trace, half, kernel=LONG, memcpy="").query("kernel_bottleneck")
    assert (row["class"], row["dram_pct"]) == (None, None)
    assert row["reason"].startswith("device memory is not known")


def test_a_link_can_hold_a_kernel_up(trace: MakeTrace) -> None:
    # 45 bytes a nanosecond of 50.
    run = trace_of(trace, {"pcie_rx_bytes": [45000] * 20}, kernel=LONG, memcpy="")
    (row,) = run.query("kernel_bottleneck")
    assert (row["class"], row["busiest_pct"]) == ("link", pytest.approx(90))


ROOFLINE = {
    "tensor_active_pct": [50] * 20,
    "dram_read_pct": [20] * 20,
    "dram_write_pct": [5] * 20,
}


def test_a_roofline_of_known_peaks(trace: MakeTrace) -> None:
    run = trace_of(trace, ROOFLINE, kernel=LONG, memcpy="")
    # 2000 bytes/ns; 100 SMs x 1 GHz x 4096 operations = 409,600 a ns.
    assert_rows(
        run.sql(
            "SELECT *, round(bytes, -3)::BIGINT AS b, round(flops, -3)::BIGINT AS f"
            " FROM kernel_roofline"
        ),
        """
        name b        f          pipe   intensity achieved_gbps peak_gbps peak_gflops bound reason
        k    10000000 4096000000 tensor 409.6     500           2000      409600      tensor -
        """,
    )


@pytest.mark.parametrize(
    ("l2_sector_pct", "sent", "bound", "roof", "l2_peak"),
    [
        pytest.param(40, 20000, "tensor", 409600, 8000, id="below-the-peak-of-the-pipe"),
        # 3200 bytes a nanosecond of 4000, at 64 operations a byte.
        pytest.param(80, 20000, "l2", 256000, 4000, id="l2"),
        # 45 bytes a nanosecond of 50.
        pytest.param(80, 45000, "nvlink", 204800 / 45 * 50, 4000, id="nvlink"),
    ],
)
def test_roofs_of_l2_and_nvlink(
    trace: MakeTrace, l2_sector_pct: int, sent: int, bound: str, roof: float, l2_peak: float
) -> None:
    sampled = {
        **ROOFLINE,
        "l2_sector_pct": [l2_sector_pct] * 20,
        "nvlink_rx_bytes": [10000] * 20,
        "nvlink_tx_bytes": [sent] * 20,
        "l2_sectors": [100000] * 20,
    }
    about = "metric device_uuid unit aggregation peak\n" + "\n".join(
        f"{name} GPU-a bytes sum 50000000000"
        if name.endswith("bytes")
        else f"{name} GPU-a 1 sum -"
        if name == "l2_sectors"
        else f"{name} GPU-a % mean -"
        for name in sampled
    )
    run = trace_of(trace, sampled, kernel=LONG, memcpy="", pm_metric=about)
    (row,) = run.query("kernel_roofline")
    assert row["bound"] == bound
    assert row["roof_gflops"] == pytest.approx(roof)
    assert row["roof_pct"] == pytest.approx(100 * 204800 / roof)
    assert row["l2_bytes"] == pytest.approx(3200 * 20000)
    assert (row["l2_gbps"], row["l2_intensity"]) == (pytest.approx(3200), pytest.approx(64))
    assert row["l2_peak_gbps"] == pytest.approx(l2_peak)
    assert row["l2_roof_gflops"] == pytest.approx(min(409600, 64 * l2_peak))
    assert row["nvlink_bytes"] == pytest.approx(sent * 20)
    assert row["nvlink_gbps"] == pytest.approx(sent / 1000)
    assert row["nvlink_peak_gbps"] == pytest.approx(50)


def test_a_roof_that_was_not_sampled_is_null(trace: MakeTrace) -> None:
    sampled = {**ROOFLINE, "nvlink_rx_bytes": [10000] * 20, "l2_sector_pct": [40] * 20}
    (row,) = trace_of(trace, sampled, kernel=LONG, memcpy="").query("kernel_roofline")
    assert {
        row[f"{part}_{of}"] for part in ("l2", "nvlink") for of in ("bytes", "roof_gflops")
    } == {None}
    assert (row["bound"], row["roof_gflops"]) == ("tensor", 409600)


def test_without_a_peak_there_is_no_roofline(trace: MakeTrace) -> None:
    no_peak = DEVICE.replace(" 2000000000 ", " - ")
    run = trace_of(trace, ROOFLINE, kernel=LONG, memcpy="", device=no_peak)
    (row,) = run.query("kernel_roofline")
    assert (row["bytes"], row["intensity"], row["reason"]) == (
        None, None, "the peak bandwidth of the device is not known",
    )  # fmt: skip


def test_links_and_what_explains_their_traffic(trace: MakeTrace) -> None:
    run = trace_of(trace, {"pcie_rx_bytes": [0, 1000, 5000, 2000], "dram_read_pct": [50, 50, 0, 0]})
    assert_rows(
        run.query("link_utilization"),
        """
        link      bytes   mean_gbps mean_pct busiest_pct counted_bytes copy_bytes unexplained_bytes
        dram_read 2e+06   500       25       50          0             0          2e+06
        pcie_rx   8000    2         4        10          4000          5000       4000
        """,
    )


def test_a_timeline_does_not_fill_what_is_missing(trace: MakeTrace) -> None:
    more = "device_uuid start_ns end_ns dram_read_pct pcie_rx_bytes\n"
    more += " GPU-a 0 1000 10 100\n GPU-a 1000 2000 30 300\n GPU-a 5500 6500 50 -"
    run = trace_of(trace, {"dram_read_pct": [1], "pcie_rx_bytes": [1]}, pm_sample=more)
    assert_rows(
        run.sql("FROM pm_timeline(bucket_ns := 1500)"),
        """
        metric        start_ns end_ns value   min_value max_value sampled_ns missing_ns
        dram_read_pct 0        1500   16.6667 10        30        1500       0
        dram_read_pct 1500     3000   30      30        30        500        1000
        dram_read_pct 3000     4500   -       -         -         0          1500
        dram_read_pct 4500     6000   50      50        50        500        1000
        dram_read_pct 6000     6500   50      50        50        500        0
        pcie_rx_bytes 0        1500   250     100       300       1500       0
        pcie_rx_bytes 1500     3000   150     300       300       500        1000
        pcie_rx_bytes 3000     4500   -       -         -         0          1500
        pcie_rx_bytes 4500     6000   -       -         -         0          1500
        pcie_rx_bytes 6000     6500   -       -         -         0          500
        """,
    )


@pytest.mark.slow
def test_the_report_has_metrics_where_there_are_samples(trace: MakeTrace) -> None:
    with_samples = str(build(trace_of(trace, levels(90, 80, 5, 10, 10))))
    assert "## What the hardware counters say" in with_samples
    assert "## What holds the kernels up" in with_samples


@pytest.mark.slow
def test_the_report_is_silent_about_metrics_without_samples(trace: MakeTrace) -> None:
    assert "counters" not in str(build(trace(kernel=KERNEL)))


@pytest.mark.slow
def test_both_forms_of_a_trace_and_any_metric(tmp_path: Path, trace: MakeTrace) -> None:
    from cupti_etl.render.duckdb_file import export_duckdb

    run = trace_of(trace, {"my metric.sum": [1, 2, 3, 4], 'od"d': [1, 1, 1, 1]}, pm_metric=(
        "metric device_uuid unit aggregation\n"
        ' "my metric.sum" GPU-a 1 sum\n \'od"d\' GPU-a % mean'
    ))  # fmt: skip
    ask = "FROM kernel_metrics(min_weight := 1)"
    expected = [("my metric.sum", 3.0), ('od"d', 1.0)]
    assert [(row["metric"], round(row["value"], 6)) for row in run.sql(ask)] == expected
    export_duckdb(run, tmp_path / "run.duckdb")
    with cupti_etl.open(tmp_path / "run.duckdb") as file:
        assert [(row["metric"], round(row["value"], 6)) for row in file.sql(ask)] == expected
