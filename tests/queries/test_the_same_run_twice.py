"""What a run could save is not more because several GPUs did the same at the same time."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.findings import find
from cupti_etl.api import Trace
from cupti_etl.queries.catalog import library
from cupti_etl.queries.query import Query

_KERNELS = range(40)


def _rows(head: str, rows: Iterable[str], processes: Iterable[int]) -> str:
    """Rows of these processes, each with its number in the place of ``P``."""
    lines = list(rows)
    each = (line.replace("P", str(number)) for number in processes for line in lines)
    return "\n".join([head, *each])


def run(trace: MakeTrace, *processes: int) -> Trace:
    """Kernels of few blocks, some of which are slow, after small copies and compilations."""
    return trace(
        kernel=_rows(
            "process_id device_id context_id stream_id correlation_id start_ns end_ns name grid_x"
            " grid_y grid_z block_x block_y block_z registers_per_thread",
            (
                f"P 0 1 7 {k * 10 + 1} {k * 10000} {k * 10000 + 1000 + 3000 * (k % 13 == 7)} a"
                " 66 1 1 1024 1 1 64"
                for k in _KERNELS
            ),
            processes,
        ),
        memcpy=_rows(
            "process_id device_id context_id stream_id correlation_id start_ns end_ns copy_kind"
            " bytes src_kind dst_kind is_async",
            (
                f"P 0 1 7 {k * 10 + c} {k * 10000 + 5000 + c * 500} {k * 10000 + 5200 + c * 500}"
                f" HtoD 64 {kind} device true"
                for k in _KERNELS
                for c, kind in ((2, "pageable"), (3, "pinned"))
            ),
            processes,
        ),
        api_call=_rows(
            "process_id thread_id correlation_id domain name start_ns end_ns",
            (
                f"P 1 {k * 10 + c} runtime {name} {k * 10000 + at - 900} {k * 10000 + at + took}"
                for k in _KERNELS
                for c, name, at, took in (
                    (1, "cudaLaunchKernel", 0, -500),
                    (2, "cudaMemcpyAsync", 6000, 210),
                    (3, "cudaMemcpyAsync", 6500, -700),
                    (4, "cuModuleLoadData", 8500, 0),
                )
            ),
            processes,
        ),
        marker=_rows(
            "process_id thread_id marker_id event timestamp_ns domain name",
            (
                f"P 1 {k * 10 + m} {event} {k * 10000 + at} - '{name}'"
                for k in _KERNELS
                for m, name, begin, end in (
                    (1, "step", -1000, 8900),
                    (2, f"layer {k % 2}", -950, 0),
                )
                for event, at in (("start", begin), ("end", end))
            ),
            processes,
        ),
        device="process_id device_id device_uuid name multiprocessors threads_per_warp"
        " max_warps_per_multiprocessor max_blocks_per_multiprocessor"
        " max_registers_per_multiprocessor max_shared_per_multiprocessor_bytes"
        " compute_capability_major\n"
        + "\n".join(
            f"{process} 0 GPU-{place} H200 132 64 64 32 65536 233472 9"
            for place, process in enumerate(processes)
        ),
    )


@pytest.fixture(params=[(1,), (1, 2, 3)])
def ran(request: pytest.FixtureRequest, trace: MakeTrace) -> Trace:
    return run(trace, *request.param)


@pytest.mark.slow
def test_findings(ran: Trace) -> None:
    found = {finding.source: finding.saved_ns for finding in find(ran)}
    assert found == {
        # Of 10,000 a kernel, its own 1,000, copies of 2 * 200 and what others below take; the last
        # gap, after the last kernel, is shorter.
        "finding_launches": 229_100,
        # From the begin of each call to that of its copy.
        "finding_synchronizing": 40 * 900,
        "finding_blocking_copies": 40 * 900,
        # Those after a tenth of the time.
        "finding_late_loading": 36 * 900,
        # One block fits on each of 132 multiprocessors.
        "finding_small_grids": (40 * 1000 + 3 * 3000) // 2,
        "finding_copies": 80 * 200,
        # Of the two between a kernel and the next, the second and the time before it.
        "finding_small_copies": 40 * (200 + 300),
        "finding_slow_executions": 3 * 3000,
    }


@pytest.mark.slow
def test_each_gpu_is_named(ran: Trace) -> None:
    gpus = {finding.source: finding.gpus for finding in find(ran)}
    # Processes load code, whatever their GPUs do.
    assert gpus.pop("finding_late_loading") == ()
    assert {len(each) for each in gpus.values()} == {len(list(ran.query("gpu")))}


@pytest.fixture
def both(trace: MakeTrace) -> tuple[Trace, Trace]:
    return run(trace, 1), run(trace, 1, 2, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "query", [query for query in library() if query.front], ids=lambda query: query.name
)
def test_shares_are_those_of_one(both: tuple[Trace, Trace], query: Query) -> None:
    shares = [column.name for column in query.columns if column.unit == "%"]
    one, several = (
        {tuple(row[share] for share in shares) for row in trace.query(query.name)} for trace in both
    )
    if query.name == "kernel_summary":
        # One of its columns says of itself that kernels at the same time are more than all of it.
        place = shares.index("span_pct")
        several = {(*row[:place], row[place] / 3, *row[place + 1 :]) for row in several}
    assert sorted(several, key=repr) == [pytest.approx(row) for row in sorted(one, key=repr)]


@pytest.mark.slow
def test_rows_are_not_in_the_order_of_ids_that_are_drawn(trace: MakeTrace) -> None:
    one, other = run(trace, 1, 2, 3), run(trace, 3, 2, 1)
    for name in (query.name for query in library() if query.front):
        # Of executions that begin at once and take as long, it names those of one process.
        if name != "kernel_worst":
            rows, others = (
                [{**row, "process_id": 0} for row in each.query(name)] for each in (one, other)
            )
            assert rows == others, name


def test_nobody_is_late_where_all_come_at_once(trace: MakeTrace) -> None:
    opened = trace(
        kernel=_rows(
            "process_id device_id context_id stream_id correlation_id start_ns end_ns name",
            (f"P 0 1 7 {k} {k * 1000} {k * 1000 + 100} ncclDevKernel_AllReduce" for k in _KERNELS),
            (1, 2),
        ),
        process="process_id pid host rank world_size state\n"
        " 1 11 n 0 2 finished\n 2 12 n 1 2 finished",
    )
    assert_rows(
        opened.query("rank_stragglers"),
        """
        rank operations last is_persistent own_ns waiting_caused_ns
        0    40         0    false         900    0
        1    40         0    false         900    0
        """,
    )


def test_gpus_that_say_the_like_of_themselves_are_one_entry(trace: MakeTrace) -> None:
    """Two copy most with one kernel, a third with another: what could be saved is of all three."""
    opened = trace(
        kernel="""
            process_id device_id context_id stream_id start_ns end_ns name
            1          0         1          7         0        100    CatArrayBatchedCopy
            1          1         2          7         0        300    direct_copy_kernel
            1          2         3          7         0        80     CatArrayBatchedCopy
        """,
        device="""
            process_id device_id device_uuid
            1          0         GPU-a
            1          1         GPU-b
            1          2         GPU-c
        """,
    )
    (found,) = (each for each in find(opened) if each.source == "finding_copy_kernels")
    assert (found.saved_ns, found.gpus) == (300, (0, 1, 2))
    assert found.text == (
        "GPUs 0-2: kernels only copy, convert or fill, once, all of it in direct_copy_kernel"
        " on GPU 1"
    )
