"""Runs of which only parts were recorded: what was between, what it cost, and the whole."""

from __future__ import annotations

import itertools
import random

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.api import Trace

DEVICE = "process_id device_id device_uuid name\n 1 0 GPU-a H100"
PROCESS = "process_id pid start_ns end_ns\n 1 7 0 100000"


def test_a_gap_in_which_nothing_was_recorded_is_none(trace: MakeTrace) -> None:
    run = trace(
        device=DEVICE,
        process=PROCESS,
        # The first gap is idle time; in the second, records were off; the third is idle time.
        kernel="""process_id device_id start_ns end_ns name
                  1 0 100 200 a
                  1 0 250 300 a
                  1 0 900 950 a
                  1 0 970 1000 a""",
        capture_window="""process_id start_ns end_ns opened_by closed_by
                          1  50 310 process collector
                          1 880 1100 collector process""",
    )
    assert_rows(
        run.sql("SELECT start_ns, gap_ns FROM _gpu_gap ORDER BY start_ns"),
        "start_ns gap_ns\n 200 50\n 950 20",
    )
    assert_rows(
        run.sql("FROM _gpu_span ORDER BY start_ns"), "gpu start_ns end_ns\n 0 100 300\n 0 900 1000"
    )
    (busy,) = run.query("gpu_busy")
    assert (busy["span_ns"], busy["busy_ns"], busy["gaps"]) == (300, 230, 2)
    (parts,) = run.query("busy_breakdown")
    assert (parts["idle_ns"], parts["span_ns"]) == (70, 300)


@pytest.mark.parametrize("seed", range(5))
def test_gaps_are_what_the_parts_leave_of_the_busy_time(trace: MakeTrace, seed: int) -> None:
    """Also where work begins within a time in which, as was said, none was recorded."""
    luck = random.Random(seed)
    kernels = [(begin := luck.randrange(200), begin + luck.randrange(12)) for _ in range(30)]
    edges = sorted(luck.sample(range(-9, 210), 8))
    run = trace(
        device=DEVICE,
        process=PROCESS,
        kernel="process_id device_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {begin} {end} a" for begin, end in kernels),
        capture_window="process_id start_ns end_ns\n"
        + "\n".join(f"1 {begin} {end}" for begin, end in zip(edges[::2], edges[1::2], strict=True)),
    )
    busy: list[list[int]] = []
    for begin, end in sorted(kernels):
        if busy and begin <= busy[-1][1]:
            busy[-1][1] = max(busy[-1][1], end)
        else:
            busy.append([begin, end])
    parts = [busy[0][:]]
    off = list(itertools.pairwise(edges))[1::2]
    for (_, until), (begin, end) in itertools.pairwise(busy):
        if any(since < begin and on > until for since, on in off):
            parts.append([begin, end])
        parts[-1][1] = end
    assert_rows(
        run.sql("SELECT start_ns, end_ns FROM _gpu_span ORDER BY start_ns"),
        "start_ns end_ns\n" + "\n".join(f"{begin} {end}" for begin, end in parts),
    )
    with run.scope(from_="40ns", to="150ns") as some:
        assert some.sql("FROM _gpu_idle").count() == 1
        for part in (run, some):
            assert list(part.sql("SELECT gpu, idle_ns, span_ns FROM _gpu_idle")) == list(
                part.sql("SELECT gpu, idle_ns, span_ns FROM busy_breakdown")
            )


def test_time_without_records_is_neither_of_the_host_nor_idle(trace: MakeTrace) -> None:
    # Two windows with two steps each. Each kernel is launched when the one before is done.
    starts = (100, 200, 9100, 9200)
    run = trace(
        device=DEVICE,
        process=PROCESS,
        kernel="process_id device_id stream_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 7 {at} {at + 40} {at + 90} a" for at in starts),
        api_call="process_id thread_id correlation_id start_ns end_ns domain name\n"
        + "\n".join(f"1 7 {at} {at + 20} {at + 30} runtime cudaLaunchKernel" for at in starts),
        marker="process_id thread_id marker_id timestamp_ns event name\n"
        + "\n".join(
            f"1 7 {at} {at + 10} start step_{at}\n1 7 {at} {at + 95} end -" for at in starts
        ),
        capture_window="""process_id start_ns end_ns opened_by closed_by
                          1 50 310 collector collector
                          1 9050 9310 collector collector""",
    )
    assert_rows(
        run.query("step_breakdown"),
        """
        step start_ns duration_ns host_duration_ns compute_ns idle_ns
        0    140      100         100              50         50
        1    240      50          85               50         0
        2    9140     100         100              50         50
        3    9240     50          85               50         0
        """,
    )
    assert_rows(
        run.query("critical_path"),
        """
        class         total_ns percent slack_ns
        host          180      60      0
        compute       100      33.3333 100
        communication 0        0       0
        copy          0        0       0
        idle          20       6.66667 0
        """,
    )
    assert_rows(
        run.query("utilization_timeline", bucket_ns=4000),
        """
        start_ns busy_pct compute_ns idle_ns
        140      66.6667  100        50
        4140     -        0          0
        8140     66.6667  100        50
        """,
    )
    assert_rows(run.query("stream_gaps", min_ns=0), "start_ns gap_ns\n 190 50\n 9190 50")


def test_of_another_process_on_the_gpu(trace: MakeTrace) -> None:
    """What it did while its records were off is not known, so the GPU may have been busy."""
    run = trace(
        device=f"{DEVICE}\n 2 0 GPU-a H100",
        process=f"{PROCESS}\n 2 8 0 100000",
        kernel="""process_id device_id start_ns end_ns name
                  1 0 100 200 a
                  1 0 500 600 a
                  2 0 700 800 a""",
        capture_window="""process_id start_ns end_ns opened_by closed_by
                          1 0 100000 process process
                          2 0 300 process collector
                          2 400 100000 collector process""",
    )
    assert_rows(run.sql("SELECT start_ns, gap_ns FROM _gpu_gap"), "start_ns gap_ns\n 600 100")


def played(
    trace: MakeTrace, windows: int, seed: int = 0, noise: int = 0
) -> tuple[Trace, dict[str, int]]:
    """A program of kernels a (one in three) and b, which take twice as long while recorded.

    Kernels begin 10 ns apart, 20 while they are recorded, and up to ``noise`` ns more; a window is
    40 launches, the time until the next one is 160.  Returns the trace, and how often each kernel
    ran.
    """
    chosen = random.Random(seed)
    kernels, stretches, ran = [], [], {"a": 0, "b": 0}
    at, grid = 1000, 1
    for window in range(windows):
        begin = at
        for _ in range(40):
            name = "a" if chosen.random() < 1 / 3 else "b"
            ran[name] += 1
            kernels.append(f"1 0 {at} {at + 5} {name} {grid} -")
            at, grid = at + 20 + chosen.randint(0, noise), grid + 1
        # Switching on takes 4 ns, in which kernels are recorded already.
        stretches.append(f"1 {begin} {at} 4")
        for _ in range(160 * (window + 1 < windows)):
            ran["a" if chosen.random() < 1 / 3 else "b"] += 1
            at, grid = at + 10 + chosen.randint(0, noise), grid + 1
    run = trace(
        device=DEVICE,
        process=f"process_id pid start_ns end_ns\n 1 7 0 {at}",
        capture="budget_pct\n 5",
        kernel="\n".join(
            ["process_id device_id start_ns end_ns name grid_id graph_node_id", *kernels]
        ),
        capture_window="\n".join(["process_id start_ns end_ns switch_on_ns", *stretches]),
    )
    return run, ran


def test_the_price_of_recording(trace: MakeTrace) -> None:
    run, _ = played(trace, 12)
    (price,) = run.query("capture_price")
    # From the last launch of a window to the first of the next: 20 ns and 160 times 10.
    assert price["price_pct"] == pytest.approx(100 * (20 / (1620 / 161) - 1))
    assert price["price_error_pct"] == pytest.approx(0, abs=1e-6)
    assert (price["windows"], price["pairs"]) == (12, 10)
    assert (price["recorded_launches"], price["launches"]) == (12 * 40, 11 * 200 + 40)
    assert price["recorded_ns"] == 12 * 800
    assert (price["budget_pct"], price["reason"]) == (5, None)
    assert price["span_ns"] == 12 * 800 + 11 * 1600
    share = price["recorded_ns"] / price["span_ns"]
    longer = price["price_pct"] / 100
    assert price["lost_pct"] == pytest.approx(100 * share * longer / (1 + longer))


@pytest.mark.parametrize("seed", range(3))
def test_its_error(trace: MakeTrace, seed: int) -> None:
    """A launch takes 35 ns in windows on average, and 25 between them."""
    run, _ = played(trace, 40, seed, noise=30)
    (price,) = run.query("capture_price")
    assert abs(price["price_pct"] - 100 * (35 / 25 - 1)) < 3 * price["price_error_pct"]
    assert 0.1 < price["price_error_pct"] < 3
    assert price["pairs"] == 38


def test_with_one_window_there_is_no_price(trace: MakeTrace) -> None:
    run, _ = played(trace, 1)
    (price,) = run.query("capture_price")
    assert price["price_pct"] is None
    assert price["reason"] == "too few windows: with one alone, there is no time without"


def test_kernels_of_graphs_say_nothing_of_the_price(trace: MakeTrace) -> None:
    run = trace(
        process=PROCESS,
        kernel="process_id device_id start_ns end_ns name grid_id graph_node_id\n"
        + "\n".join(f"1 0 {n * 100 + 10} {n * 100 + 20} a 5 3" for n in range(12)),
        capture_window="process_id start_ns end_ns switch_on_ns\n"
        + "\n".join(f"1 {n * 100} {n * 100 + 50} 0" for n in range(12)),
    )
    (price,) = run.query("capture_price")
    assert price["price_pct"] is None
    assert price["reason"] == "too few launches outside of CUDA graphs in windows and between them"


@pytest.mark.slow
def test_the_whole_run_lies_in_the_interval(trace: MakeTrace) -> None:
    held = 0
    for seed in range(20):
        run, ran = played(trace, 15, seed)
        for row in run.query("kernel_estimate"):
            assert row["basis"] == "launches"
            truth = ran[row["name"]]
            held += row["calls_low"] <= truth <= row["calls_high"]
            # They take as long as in the windows, each 5 ns.
            assert row["total_ns"] == pytest.approx(5 * row["calls"])
    # 95 of 100; of both kernels of a program together, as what is not a is b.
    assert held >= 34


def test_a_run_that_was_recorded_whole_is_as_it_is(trace: MakeTrace) -> None:
    run, _ = played(trace, 1)
    for row in run.query("kernel_estimate"):
        assert row["calls"] == row["calls_low"] == row["calls_high"] == row["recorded_calls"]
        assert (row["basis"], row["reason"]) == ("everything", None)


@pytest.mark.parametrize(
    ("opened_by", "closed_by"), [("collector", "process"), ("process", "range")]
)
def test_one_window_of_a_longer_run_says_nothing_of_the_rest(
    trace: MakeTrace, opened_by: str, closed_by: str
) -> None:
    run = trace(
        process=PROCESS,
        kernel="process_id device_id start_ns end_ns name grid_id\n 1 0 110 120 a 1",
        capture_window="process_id start_ns end_ns opened_by closed_by"
        f"\n 1 100 200 {opened_by} {closed_by}",
    )
    (row,) = run.query("kernel_estimate")
    assert (row["calls"], row["recorded_calls"]) == (None, 1)
    assert row["reason"] == "fewer than ten windows"


def test_windows_that_were_not_noted_one_by_one(trace: MakeTrace) -> None:
    run = trace(
        process=PROCESS,
        kernel="process_id device_id start_ns end_ns name grid_id\n 1 0 110 120 a 1",
        capture_window="process_id start_ns end_ns windows\n 1 100 200 1\n 1 300 9000 40",
    )
    (price,) = run.query("capture_price")
    assert price["recorded_ns"] is price["recorded_pct"] is price["lost_pct"] is None
    (row,) = run.query("kernel_estimate")
    assert row["calls"] is None
    assert row["reason"] == "windows that were too many to be noted one by one"


def test_few_windows_give_no_interval(trace: MakeTrace) -> None:
    run, _ = played(trace, 9)
    for row in run.query("kernel_estimate"):
        assert row["calls"] is row["calls_low"] is row["total_ns"] is None
        assert row["reason"] == "fewer than ten windows"


def test_without_launches_it_goes_by_time(trace: MakeTrace) -> None:
    run = trace(
        process="process_id pid start_ns end_ns\n 1 7 0 2000",
        kernel="process_id device_id start_ns end_ns name grid_id graph_node_id\n"
        + "\n".join(f"1 0 {n * 100 + 10} {n * 100 + 20} a 5 3" for n in range(20)),
        capture_window="process_id start_ns end_ns switch_on_ns\n"
        + "\n".join(f"1 {n * 100} {n * 100 + 50} 0" for n in range(20)),
    )
    (row,) = run.query("kernel_estimate")
    # Twenty in half of the time.
    assert (row["basis"], row["calls"]) == ("time", 40)
    assert row["calls_low"] == pytest.approx(40, abs=1e-6)
