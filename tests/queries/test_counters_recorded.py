"""What was counted on an H100 (tests/data/counters_h100): kernels whose work is known.

`scripts/gpu_range_metrics.sh --rounds application` ran a program of ten kernels once for each group
of metrics.  `cute` is of 60,000 launches of the kernel of tests/data/cubins/cute_add.cubin.gz,
captured with --pc-sampling.
"""

from __future__ import annotations

from pathlib import Path

from support.recorded import recorded_rows, recorded_trace
from support.trace import assert_rows

import cupti_etl
from cupti_etl.api import Trace

BYTES, INSTRUCTIONS = "l1tex__t_bytes.sum", "smsp__inst_executed.sum"


def opened(folder: Path, name: str) -> Trace:
    return cupti_etl.open(recorded_trace(folder / name, f"counters_h100/{name}"))


def test_three_runs_have_all_metrics_of_each_launch(tmp_path: Path) -> None:
    run = opened(tmp_path, "runs")
    assert_rows(
        run.sql("SELECT run, is_same, first_launches, launches FROM replay_check ORDER BY run"),
        "run is_same first_launches launches\n 2 true 20 20\n 3 true 20 20",
    )
    # Ten kernels, two launches each, thirteen metrics; the ratio of a kernel is of one execution.
    rows = list(run.query("replay_counter"))
    assert len(rows) == 10 * 2 * 13
    assert {row["run"] for row in rows} == {1, 2, 3}
    of_copy = {row["metric"]: row["value"] for row in rows if row["name"] == "counted_copy"}
    # It reads 64 MiB and writes as much.
    assert of_copy[BYTES] == 2 * (64 << 20)
    assert of_copy[INSTRUCTIONS] == 3784704
    assert {row["missing"] for row in rows if row["value"] is None} == {
        "it needs several passes, and one execution has one"
    }
    assert {row["metric"] for row in rows if row["value"] is None} == {
        "lts__t_sector_hit_rate.pct",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    }


def test_a_range_is_the_sum_of_its_kernels(tmp_path: Path) -> None:
    launches = opened(tmp_path, "runs").query("replay_counter")
    totals: dict[str, float] = {}
    for row in launches:
        if row["nth"] == 1 and row["value"] is not None:
            totals[row["metric"]] = totals.get(row["metric"], 0) + row["value"]
    ranges = opened(tmp_path, "ranges").query("range_counter")
    for row in ranges:
        assert (row["range"], row["ranges"], row["launches"]) == ("round", 2, 10)
        assert row["same_launches"]
        assert row["least"] == row["most"] == totals[row["metric"]]
    assert ranges.count() == 10


def test_a_run_that_launched_more_is_told(tmp_path: Path) -> None:
    run = opened(tmp_path, "differing")
    assert_rows(
        run.sql("SELECT run, is_same, first_launches, launches, first_difference, found"
                " FROM replay_check ORDER BY run"),
        """run is_same first_launches launches first_difference found
           2 false 3 4 4 '_Z13counted_smallPf 1x1x1 32x1x1'
           3 false 3 5 4 '_Z13counted_smallPf 1x1x1 32x1x1'""",
    )  # fmt: skip
    missing = {row["missing"] for row in run.query("replay_counter") if row["value"] is None}
    assert missing == {
        "run 2 measured it 2 times, and run 1 1 times",
        "run 3 measured it 3 times, and run 1 1 times",
    }


def test_instructions_add_to_what_the_range_profiler_counts(tmp_path: Path) -> None:
    counted = recorded_rows("counters_h100/sass", "sass_metric")
    executed = sum(row["value"] for row in counted if row["metric"] == "smsp__sass_inst_executed")
    (whole,) = {
        row["most"]
        for row in opened(tmp_path, "ranges").query("range_counter")
        if row["metric"] == INSTRUCTIONS
    }
    assert executed == whole == 229150664
    hottest = next(iter(opened(tmp_path, "sass").query("line_count")))
    assert (hottest["place"], hottest["value"]) == ("counted.cu:50", 67584000)


def test_lines_of_cute_of_which_a_gpu_took_samples(tmp_path: Path) -> None:
    trace = opened(tmp_path, "cute")
    assert_rows(
        trace.sql("SELECT place, samples, split_part(reasons, ',', 1) AS reason FROM source_line"),
        """
        place          samples reason
        cute_add.py:23 7974    "drain 90 %"
        cute_add.py:13 6309    "long_scoreboard 94 %"
        cute_add.py:19 4128    "imc_miss 54 %"
        cute_add.py:20 3329    "wait 23 %"
        cute_add.py:16 917     "mio_throttle 56 %"
        cute_add.py:18 34      "selected 91 %"
        """,
    )
    assert sum(row["samples"] for row in trace.query("source_line")) == 22691
