"""Collective operations over ranks with clocks that differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.notes import notes
from cupti_etl.api import Trace
from cupti_etl.queries.catalog import library

NAME = "ncclDevKernel_AllReduce_Sum_f32"


def test_bandwidth_is_of_the_rank_that_waited_least(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"""
            process_id device_id correlation_id start_ns end_ns name
            1          0         1              100      200    {NAME}
            2          0         1              150      200    {NAME}
            1          0         2              120      170    gemm
        """,
        api_call="""
            process_id thread_id correlation_id domain  name             start_ns end_ns
            1          5         1              runtime cudaLaunchKernel 50       60
        """,
        marker="""
            process_id thread_id marker_id event timestamp_ns name
            1          5         1         start 40           ncclAllReduce
            1          5         1         end   70           -
        """,
        marker_data="process_id marker_id payload_kind payload\n 1 1 uint64 1000",
        process="process_id rank world_size host\n 1 0 2 n\n 2 1 2 n",
    )
    assert_rows(
        opened.query("collective_bandwidth"),
        """
        collective bytes ranks operations median_ns total_ns exposed_ns waiting_ns \
algorithm_gbps bus_gbps
        AllReduce  1000  2     1          50        150      100        50         \
20             20
        """,
    )


def test_the_rank_that_is_always_late(trace: MakeTrace) -> None:
    # Rank 2 comes 50 later than the others; the clock of rank 1 is 1000000 ahead.
    rows = []
    for at in range(20):
        for rank, late, clock in ((0, 0, 0), (1, at % 3, 1000000), (2, 50, 0)):
            begin = 10000 + at * 1000 + at * at * 37 % 400 + clock
            rows.append(f"{rank} 0 {begin + late} {begin + 100} {NAME}")
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n" + "\n".join(rows),
        process="process_id rank\n 0 0\n 1 1\n 2 2",
    )
    found = {row["rank"]: row for row in opened.query("rank_stragglers")}
    assert [found[rank]["last"] for rank in range(3)] == [0, 0, 20]
    assert [found[rank]["is_persistent"] for rank in range(3)] == [False, False, True]
    assert found[2]["mean_late_ns"] == pytest.approx(50)
    assert found[1]["mean_late_ns"] == pytest.approx(0.95)
    assert found[1]["clock_offset_ns"] - found[0]["clock_offset_ns"] == pytest.approx(1000000)
    assert found[2]["waiting_caused_ns"] == pytest.approx(20 * 50 + 20 * 50 - 19)
    assert found[2]["own_ns"] > found[0]["own_ns"]


def test_of_ranks_that_come_at_once_none_is_waited_for(trace: MakeTrace) -> None:
    # As clocks of whole microseconds often say: both at 100, then rank 1 at 350 and rank 0 at 300.
    opened = trace(
        kernel=f"""
            process_id device_id start_ns end_ns name
            1          0         100      200    {NAME}
            2          0         100      200    {NAME}
            1          0         300      400    {NAME}
            2          0         350      400    {NAME}
        """,
        process="process_id rank world_size host\n 1 0 2 n\n 2 1 2 n",
    )
    assert_rows(
        opened.query("collective_wait"),
        """
        rank operations wait_ns last caused_ns
        1    2          0       1    50
        0    2          50      0    0
        """,
    )


def test_own_time_is_between_operations(trace: MakeTrace) -> None:
    # Of three operations that end at the same times there are two times between: 90 and 190.
    rows = "\n".join(
        f"{rank} 0 {at + 10 * rank} {at + 30} {NAME}" for rank in (0, 1) for at in (0, 120, 340)
    )
    opened = trace(
        kernel="process_id device_id start_ns end_ns name\n" + rows,
        process="process_id rank host\n 0 0 n\n 1 1 n",
    )
    assert_rows(
        opened.sql("SELECT rank, own_ns, score FROM rank_stragglers ORDER BY rank"),
        """
        rank own_ns score
        0    140    1
        1    150    0.933333
        """,
    )


def test_one_rank_alone_is_late_for_nobody_and_has_a_bandwidth(trace: MakeTrace) -> None:
    opened = trace(
        kernel=f"process_id device_id start_ns end_ns name\n 1 0 10 20 {NAME}",
        process="process_id rank\n 1 0",
    )
    assert opened.query("rank_stragglers").count() == 0
    assert_rows(
        opened.query("collective_bandwidth"), "operations unmatched reason median_ns\n 1 0 - 10"
    )


def test_broadcasts_that_end_apart_are_matched_by_their_order(trace: MakeTrace) -> None:
    # The root has sent the third when another rank has the first: its end is the nearest.
    root = [(100, 120), (130, 150), (160, 180)]
    other = [(110, 178), (200, 220), (230, 250)]
    query = "SELECT rank, operation, matched_by FROM _collective_match ORDER BY rank, start_ns"

    def opened(*ranks: list[tuple[int, int]]) -> Trace:
        return trace(
            kernel=COLUMNS
            + "\n".join(
                f"{rank} 0 {start} {end} ncclDevKernel_Broadcast_RING_LL"
                for rank, times in enumerate(ranks)
                for start, end in times
            ),
            process="process_id rank host\n 0 0 n\n 1 1 n",
        )

    assert_rows(
        opened(root, other).sql(query),
        """
        rank operation matched_by
        0    1         order
        0    2         order
        0    3         order
        1    1         order
        1    2         order
        1    3         order
        """,
    )
    # Of ranks that have not as many, the order says nothing.
    matched = [row["matched_by"] for row in opened(root, other[:2]).sql(query)]
    assert matched == [None, None, "clock", "clock", None]


def recorded(rank: int, numbers: Iterable[int], clock: int, pace: int = 37) -> str:
    """Operations of a rank: number n takes 100 + n at the fastest rank, and 30 more at the others.

    Ends lie up to 3 apart, steps are as uneven as ``pace`` makes them.
    """
    ends = {n: n * 1000 + n * n * pace % 400 + n * (rank + 1) % 4 + clock for n in numbers}
    return "\n".join(
        f"{rank} 0 {end - 100 - n - 30 * (n % 2 != rank)} {end} {NAME}" for n, end in ends.items()
    )


COLUMNS = "process_id device_id start_ns end_ns name\n"


@pytest.mark.parametrize("apart", [0, 1, 7])
@pytest.mark.parametrize("late", [0, 1], ids=["first rank", "second rank"])
def test_ranks_that_begin_apart(trace: MakeTrace, apart: int, late: int) -> None:
    # Each rank ends as much before the other as it has begun, so that both have as many.
    numbers = [range(24), range(24)]
    numbers[late] = range(apart, 24 + apart)
    opened = trace(
        kernel=COLUMNS + recorded(0, numbers[0], 10**9) + "\n" + recorded(1, numbers[1], 10**12),
        process="process_id rank host\n 0 0 n\n 1 1 m",
    )
    (clock,) = opened.sql("FROM rank_clock WHERE rank = 1")
    assert clock["ahead_ns"] == pytest.approx(10**12 - 10**9, abs=3)
    both = range(apart, 24)
    (row,) = opened.query("collective_bandwidth")
    assert (row["operations"], row["unmatched"]) == (len(both), 2 * apart)
    assert row["median_ns"] == 100 + (both[0] + both[-1]) / 2
    assert row["waiting_ns"] == 30 * len(both)
    assert row["reason"] == ("no other rank has it" if apart else None)
    assert {row["operations"] for row in opened.query("rank_stragglers")} == {len(both)}


def test_operations_that_one_rank_lost(trace: MakeTrace) -> None:
    kept = [n for n in range(24) if n not in (5, 11, 12)]
    opened = trace(
        kernel=COLUMNS + recorded(0, kept, 10**9) + "\n" + recorded(1, range(1, 24), 0),
        process="process_id rank\n 0 0\n 1 1",
    )
    (row,) = opened.query("collective_bandwidth")
    assert (row["operations"], row["unmatched"], row["waiting_ns"]) == (20, 4, 20 * 30)


def test_at_an_even_pace_nobody_can_tell_which_is_which(trace: MakeTrace) -> None:
    rows = COLUMNS + recorded(0, range(24), 10**9, 0) + "\n" + recorded(1, range(7, 24), 0, 0)
    opened = trace(kernel=rows, process="process_id rank host\n 0 0 n\n 1 1 m")
    assert_rows(
        opened.sql("SELECT rank, ahead_ns, reason FROM rank_clock"),
        """
        rank ahead_ns reason
        0    0        -
        1    -        "several differences of the clocks agree about as well"
        """,
    )
    (row,) = opened.query("collective_bandwidth")
    assert (row["operations"], row["unmatched"], row["median_ns"]) == (0, 41, None)
    assert row["reason"] == "several differences of the clocks agree about as well"
    assert row["total_ns"] > 0
    assert opened.query("rank_stragglers").count() == 0


@pytest.mark.parametrize("host", ["n", "-"])
def test_clocks_that_agree_need_no_uneven_pace(trace: MakeTrace, host: str) -> None:
    rows = COLUMNS + recorded(0, range(24), 0, 0) + "\n" + recorded(1, range(2, 24), 0, 0)
    opened = trace(kernel=rows, process=f"process_id rank host\n 0 0 {host}\n 1 1 {host}")
    (row,) = opened.query("collective_bandwidth")
    assert (row["operations"], row["unmatched"], row["waiting_ns"]) == (22, 2, 22 * 30)


def test_three_operations_tell_nothing(trace: MakeTrace) -> None:
    opened = trace(
        kernel=COLUMNS + recorded(0, range(3), 10**9) + "\n" + recorded(1, range(3), 0),
        process="process_id rank\n 0 0\n 1 1",
    )
    (row,) = opened.query("collective_bandwidth")
    assert (row["operations"], row["unmatched"]) == (0, 6)
    assert row["reason"] == "too few operations agree on one difference of the clocks"


def test_what_pytorch_numbers_needs_no_clock(trace: MakeTrace) -> None:
    # Rank 1 misses number 6, and its clock tells nothing; number 8 is two kernels.
    said = """'{"Collective name": "allreduce", "Process Group Name": "%s", "Seq": %d}'"""
    opened = trace(
        kernel=COLUMNS.replace("device_id", "device_id correlation_id")
        + f"""
            0 0 5 100  150  {NAME}
            0 0 6 200  250  {NAME}
            0 0 7 300  350  {NAME}
            0 0 8 400  450  {NAME}
            0 0 9 500  580  {NAME}
            1 0 5 9100 9120 {NAME}
            1 0 7 9300 9370 {NAME}
            1 0 8 9400 9430 {NAME}
            1 0 9 9500 9560 {NAME}
        """,
        argument="process_id correlation_id arguments\n"
        + "\n".join(
            f"{process} {n} {said % ('tp', min(n, 8))}" for process in (0, 1) for n in range(5, 10)
        ),
        process="process_id rank\n 0 0\n 1 1",
    )
    assert_rows(
        opened.sql(
            "SELECT operation, rank, end_ns - start_ns AS ns, reason FROM _collective_match"
            " ORDER BY operation, rank"
        ),
        """
        operation rank ns reason
        1         0    50 -
        1         1    20 -
        2         0    50 "no other rank has it"
        3         0    50 -
        3         1    70 -
        4         0    50 -
        4         1    30 -
        5         0    80 -
        5         1    60 -
        """,
    )


@pytest.mark.slow
def test_ranks_that_are_not_in_the_trace_are_said(trace: MakeTrace) -> None:
    told = "SELECT subject, value, detail FROM run_summary WHERE subject = 'ranks'"
    some = trace(process="process_id pid rank world_size\n 1 11 0 4\n 2 12 3 4")
    assert_rows(some.sql(told), "subject value detail\n ranks 2 'of 4; not in the trace: 1, 2'")
    whole = trace(process="process_id pid rank world_size\n 1 11 0 2\n 2 12 1 2\n 3 13 - -")
    assert whole.sql(told).count() == 0
    assert trace(process="process_id pid\n 1 11").sql(told).count() == 0
    huge = trace(process="process_id pid rank world_size\n 1 11 3 2147483647")
    (row,) = huge.sql(told)
    assert row["detail"] == "of 2147483647; not in the trace: 0, 1, 2, 4, 5, 6, 7, 8 ..."


PROCESSES = "process_id pid rank world_size slurm_job_id state start_ns end_ns\n"


@pytest.mark.parametrize(
    ("process", "capture", "said"),
    [
        ("1 11 0 4 - finished 5 90\n 2 12 3 4 - finished 7 80", "0 100", "2 are", ),
        ("1 11 0 4 - finished 5 90", "0 100", "1 is"),
        # A capture runs, and ranks may still begin.
        ("1 11 0 4 - tracing 5 -", "0 -", None),
        # That of one host was killed, and so has no end; another one has.
        ("1 11 0 4 - finished 5 90\n 2 12 3 4 - tracing 7 -", "0 -\n 1 100", "2 are"),
        # PyTorch writes a file for each rank.
        ("1 11 0 4 - imported 5 90", "0 100", None),
        # A job after another, and one that began again with fewer.
        ("1 11 0 1 7 finished 5 9\n 2 12 0 1 8 finished 5 9", "0 100", None),
        ("1 1 0 2 - killed 5 9\n 2 2 1 2 - killed 5 9\n 3 3 0 1 - finished 5 9", "0 100", None),
    ],
)  # fmt: skip
def test_ranks_that_never_wrote_are_a_loss(
    trace: MakeTrace, process: str, capture: str, said: str | None
) -> None:
    opened = trace(
        process=PROCESSES + process,
        capture="start_ns end_ns\n" + capture,
        kernel="process_id start_ns end_ns\n 1 10 20",
    )
    rows = list(opened.sql("FROM _loss_cause WHERE cause = 'rank_missing'"))
    assert len(rows) == (said is not None)
    if said:
        (row,) = rows
        assert (row["records"], row["lost"], row["start_ns"]) == (None, None, 5)
        assert row["detail"].startswith(f"of 4 ranks of the job, {said} in the trace; not there: 1")
        assert len(notes := list(answered(opened, "kernel_summary"))) == 1
        assert "the capture has losses (rank_missing ?" in notes[0]
    # What is there is asked as ever.
    assert opened.query("kernel_summary").count() == 1


def answered(opened: Trace, name: str) -> Iterator[str]:
    return notes(opened, library()[name], {}, is_empty=False)


@pytest.mark.parametrize(("apart_s", "is_told"), [(420, True), (0.01, False)])
def test_clocks_of_hosts_that_are_far_apart_are_told(
    trace: MakeTrace, apart_s: float, is_told: bool
) -> None:
    begin = 10**12
    rows = recorded(0, range(24), begin) + "\n" + recorded(1, range(24), begin + int(apart_s * 1e9))
    opened = trace(
        kernel=COLUMNS + rows,
        process="process_id rank world_size host\n 0 0 2 n\n 1 1 2 m",
    )
    for name in ("rank_stragglers", "run_summary"):
        told = [line for line in answered(opened, name) if "clock" in line]
        assert len(told) == (is_told and name == "rank_stragglers")
        if told:
            assert told[0] == (
                "the clock of rank 1 on m is 420 s ahead of that of rank 0 on n, as their"
                " collectives tell; queries about ranks take that out, and times in tables of"
                " different hosts cannot be compared."
            )


def test_an_exchange_with_all_has_the_kind_that_its_range_says(trace: MakeTrace) -> None:
    # NCCL sends and receives for it: the kernel's name tells that alone.  Neither process has a
    # rank; that of GPU 1 comes 300 late.
    kernel = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t"
    steps = range(3)
    opened = trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(
            f"{p} {p} {at + 1} {at * 5000 + 2000 + 300 * p} {at * 5000 + 3000} {kernel}"
            for at in steps
            for p in (0, 1)
        ),
        api_call="process_id thread_id correlation_id domain name start_ns end_ns\n"
        + "\n".join(
            f"{p} 5 {at + 1} runtime cudaLaunchKernel {at * 5000 + 50} {at * 5000 + 60}"
            for at in steps
            for p in (0, 1)
        ),
        marker="process_id thread_id marker_id event timestamp_ns name domain\n"
        + "\n".join(
            f"{p} 5 {at + 1} start {at * 5000 + 40} nccl:all_to_all user_annotation\n"
            f"{p} 5 {at + 1} end {at * 5000 + 70} - user_annotation"
            for at in steps
            for p in (0, 1)
        ),
        process="process_id pid host\n 0 10 n\n 1 11 n",
        device="process_id device_id device_uuid\n 0 0 GPU-0\n 1 1 GPU-1",
    )
    assert_rows(
        opened.query("collective_wait"),
        """
        rank gpu operations wait_ns transfer_ns last caused_ns
        -    1   3          0       2100        3    900
        -    0   3          900     2100        0    0
        """,
    )
    assert_rows(opened.sql("SELECT DISTINCT collective FROM collective"), "collective\n AllToAll")
