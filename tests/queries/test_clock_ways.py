"""Ranks that are in no group with the first one: their clocks are known by way of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.api import Trace

# Two shards, and the two copies of each: ranks 0 and 3 have no group in common.
SHARDS = (("shard 0", (0, 1)), ("shard 1", (2, 3)))
MESH = (*SHARDS, ("copy 0", (0, 2)), ("copy 1", (1, 3)))
NOBODY: Mapping[int, int] = {}
AHEAD = (0, 10_000_000, -70_000_000, 500_000_000)


def recorded(
    trace: MakeTrace,
    groups: Sequence[tuple[str, tuple[int, int]]],
    hosts: str,
    rounds: int = 12,
    late: Mapping[int, int] = NOBODY,
    early: Mapping[int, int] = NOBODY,
    is_numbered: bool = False,
    ppm: tuple[float, ...] = (0,) * len(AHEAD),
    every_ns: int = 1000,
) -> Trace:
    """Each group reduces once a round, at an uneven pace; ranks begin 100 before the end.

    Some begin late, or early in three of four rounds. The clock of a host is ahead by AHEAD of its
    first rank, and gains ppm.
    """
    kernels, arguments, calls = [], [], [0] * len(hosts)
    for n in range(rounds):
        for turn, (group, ranks) in enumerate(groups):
            end = every_ns * (16 * n + 2 * turn + 1) + (n * n * 37 + turn * 11) % every_ns
            for rank in ranks:
                clock = hosts.index(hosts[rank])
                start = end - 100 + late.get(rank, 0) - early.get(rank, 0) * (n % 4 > 0)
                read = [AHEAD[clock] + round(at * (1 + ppm[clock] / 1e6)) for at in (start, end)]
                calls[rank] += 1
                kernels.append(
                    f"{rank + 1} 0 {calls[rank]} {read[0] + 10**12} {read[1] + 10**12}"
                    " ncclDevKernel_AllReduce_Sum_f32"
                )
                seq = f', "Seq": {16 * n + turn}' if is_numbered else ""
                arguments.append(
                    f'{rank + 1} {calls[rank]} \'{{"Collective name": "allreduce",'
                    f' "Process Group Name": "{group}", "Group size": {len(ranks)}{seq}}}\''
                )
    return trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(kernels),
        argument="process_id correlation_id arguments\n" + "\n".join(arguments),
        process="process_id rank host\n"
        + "\n".join(f"{rank + 1} {rank} {host}" for rank, host in enumerate(hosts)),
    )


@pytest.mark.parametrize("is_numbered", [True, False])
def test_a_rank_without_a_group_with_the_first_one(trace: MakeTrace, is_numbered: bool) -> None:
    # Rank 1 always begins 50 late: 0 and 3 wait for it.
    opened = recorded(trace, MESH, "abcd", late={1: 50}, is_numbered=is_numbered)
    by, how = ("pytorch", "pytorch") if is_numbered else ("clock", "order")
    # An interval is as wide as the shortest operations of both: 100 and 50. Those of 1 and 3 are
    # 6 us later than those of 0 and 1, in which a clock may drift by 2.
    assert_rows(
        opened.sql("FROM rank_clock ORDER BY rank"),
        f"""
        rank ahead_ns  ahead_low_ns ahead_high_ns agreeing known_by compared_rank reason
        0    0         0            0             -        host     -             -
        1    10000000  9999950      10000100      12       {by}     0             -
        2    -70000000 -70000100    -69999900     12       {by}     0             -
        3    500000000 499999848    500000152     12       {by}     1             -
        """,
    )
    assert_rows(
        opened.sql("FROM collective_wait ORDER BY rank"),
        f"""
        rank operations wait_ns caused_ns last matched_by
        0    24         600     0         0    {how}
        1    24         0       1200      24   {how}
        2    24         0       0         0    {how}
        3    24         600     0         0    {how}
        """,
    )
    assert_rows(opened.query("collective_bandwidth"), "operations unmatched waiting_ns\n 48 0 1200")


def test_processes_of_one_host_have_one_clock_wherever_it_is(trace: MakeTrace) -> None:
    # Rank 3 is compared with none: rank 2 is on its host.
    opened = recorded(trace, MESH, "aabb")
    assert_rows(
        opened.sql("FROM rank_clock ORDER BY rank"),
        """
        rank ahead_ns  ahead_low_ns ahead_high_ns drift_ppm agreeing known_by      compared_rank
        0    0         0            0             0         -        host          -
        1    0         0            0             0         -        host          0
        2    -70000000 -70000100    -69999900     -         12       clock         0
        3    -70000000 -70000100    -69999900     -         -        "clock, host" 2
        """,
    )
    assert_rows(opened.query("collective_bandwidth"), "operations unmatched\n 48 0")


def test_groups_that_nothing_connects_are_matched_each_by_their_own_clocks(
    trace: MakeTrace,
) -> None:
    opened = recorded(trace, SHARDS, "abcd", late={0: 30, 3: 50})
    few = '"too few operations agree on one difference of the clocks"'
    assert_rows(
        opened.sql("FROM rank_clock ORDER BY rank"),
        f"""
        rank ahead_ns known_by compared_rank reason
        0    0        host     -             -
        1    10000000 clock    0             -
        2    -        -        0             {few}
        3    -        -        2             {few}
        """,
    )
    # Clocks differ by 170 or 150 at most in the middle, and half of 180 us later by 36 more.
    assert_rows(
        opened.sql("FROM collective_wait ORDER BY rank"),
        """
        rank operations wait_ns caused_ns last clock_ns is_straggler
        0    12         0       360       12   206      false
        1    12         360     0         0    206      false
        2    12         600     0         0    186      false
        3    12         0       600       12   186      false
        """,
    )
    assert_rows(opened.query("collective_bandwidth"), "operations unmatched reason\n 24 0 -")


def test_operations_of_other_groups_do_not_crowd_out_those_in_common(trace: MakeTrace) -> None:
    # Of 180 operations of rank 0, 12 are with rank 2.
    opened = recorded(trace, (*SHARDS * 14, *MESH[2:]), "abcd")
    assert_rows(
        opened.sql("FROM rank_clock WHERE rank = 2"),
        "ahead_ns agreeing known_by\n -70000000 12 clock",
    )


def test_offsets_drifts_and_their_intervals_add_up_along_the_way(trace: MakeTrace) -> None:
    # In sixteen seconds, 40 ppm are 640 us.
    ppm = (0, 40, -30, 100)
    chain = (("one", (0, 1)), ("two", (1, 2)), ("three", (2, 3)))
    opened = recorded(
        trace, chain, "abcd", rounds=10, is_numbered=True, ppm=ppm, every_ns=100_000_000
    )
    rows = list(opened.sql("FROM rank_clock ORDER BY rank"))
    assert [row["compared_rank"] for row in rows] == [None, 0, 1, 2]
    for row in rows[1:]:
        ahead, gains = AHEAD[row["rank"]], ppm[row["rank"]]
        since = (row["at_ns"] - 10**12 - ahead) / (1 + gains / 1e6)
        truth = row["at_ns"] - 10**12 - since
        assert row["ahead_low_ns"] <= truth <= row["ahead_high_ns"]
        assert row["ahead_ns"] == pytest.approx(truth, abs=2 * row["rank"])
        # Each comparison adds the 200 of its operations, and what its drift may be until the next.
        assert 200 <= (row["ahead_high_ns"] - row["ahead_low_ns"]) / row["rank"] < 210
        drift = gains / (1 + gains / 1e6)
        assert row["drift_low_ppm"] <= drift <= row["drift_high_ppm"]
        assert row["drift_ppm"] == pytest.approx(drift, abs=0.01)
        assert row["drift_high_ppm"] - row["drift_low_ppm"] < 0.1 * row["rank"]


def test_a_straggler_needs_to_be_later_than_clocks_of_its_group_may_differ(
    trace: MakeTrace,
) -> None:
    # Rank 3 is 300 later than any. Its clock may differ by 200 from that of rank 2, in whose group
    # it has most operations, and that one by 200 from that of rank 0.
    early = {0: 300, 1: 300, 2: 300}
    opened = recorded(trace, (*SHARDS, *MESH), "abcd", 16, early=early, is_numbered=True)
    assert_rows(
        opened.sql("FROM collective_wait ORDER BY rank"),
        """
        rank operations wait_ns caused_ns last median_margin_ns clock_ns is_straggler
        0    48         0       0         0    -                249      false
        1    48         3600    0         0    -                453      false
        2    48         7200    0         0    -                251      false
        3    48         0       10800     36   300              453      true
        """,
    )


def test_on_one_host_clocks_do_not_differ_however_little_is_known_of_theirs(
    trace: MakeTrace,
) -> None:
    # Rank 3 has operations with rank 2 alone, on a host whose clock is known by rank 2's.
    opened = recorded(trace, MESH[:3], "aabb", late={3: 50})
    assert_rows(
        opened.sql("FROM collective_wait ORDER BY rank"),
        """
        rank operations last clock_ns is_straggler
        0    24         0    236      false
        1    12         0    0        false
        2    24         0    236      false
        3    12         12   0        true
        """,
    )
