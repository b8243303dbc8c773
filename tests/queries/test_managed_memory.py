"""Managed memory that is not where kernels run."""

from __future__ import annotations

import pytest
from support.trace import MakeTrace, assert_rows

from cupti_etl.analysis.findings import find
from cupti_etl.analysis.report import build

DEVICES = "process_id device_id device_uuid\n 1 0 GPU-0\n 1 1 GPU-1"
WITHOUT_FAULTS = "above all HtoD (without page faults, which were not recorded)"


@pytest.mark.slow
def test_kernels_wait_for_memory_that_moves(trace: MakeTrace) -> None:
    opened = trace(
        device=DEVICES,
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         100      200    k
            1          0         150      200    k
            1          0         300      400    k
            1          1         0        400    k
        """,
        # Of GPU 0: 100 to 150, 190 to 200, 300 to 310 and 390 to 400; what the program asked for it
        # awaits.
        unified_memory="""
            process_id counter             migration_cause start_ns end_ns bytes src_device_id dst_device_id
            1          bytes_transfer_HtoD coherence       50       120    8     -             0
            1          bytes_transfer_HtoD prefetch        110      150    8     -             0
            1          bytes_transfer_HtoD prefetch        115      118    8     -             0
            1          bytes_transfer_DtoH eviction        190      260    4     0             -
            1          bytes_transfer_HtoD coherence       390      500    4     -             0
            1          bytes_transfer_HtoD user            320      380    4     -             0
            1          gpu_page_fault      -               300      310    -     0             -
        """,  # noqa: E501
    )
    assert_rows(
        opened.query("finding_managed_memory"), "gpu saved_ns culprit\n 0 80 'above all HtoD'"
    )
    texts = [(each.saved_ns, each.text) for each in find(opened)]
    assert texts[0] == (80, "GPU 0: kernels wait for managed memory, above all HtoD")
    assert_rows(
        opened.sql("SELECT subject, value, detail FROM run_summary WHERE section = 'copies'"),
        """
        subject        value detail
        "managed HtoD" 32    "5 moves, 0.1131 GB/s"
        "managed DtoH" 4     "1 move, 57.14 MB/s"
        """,
    )


def test_page_faults_last_longer_than_what_they_move(trace: MakeTrace) -> None:
    opened = trace(
        device=DEVICES,
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 200 k",
        unified_memory="""
            process_id counter             start_ns end_ns src_device_id dst_device_id
            1          gpu_page_fault      105      150    0             -
            1          bytes_transfer_HtoD 130      140    -             0
            1          gpu_page_fault      150      190    0             -
            1          bytes_transfer_HtoD 170      195    -             0
        """,
    )
    assert_rows(
        opened.query("finding_managed_memory"),
        "gpu saved_ns culprit\n 0 90 'above all in page faults'",
    )


def test_what_moves_after_the_kernels_is_not_to_blame(trace: MakeTrace) -> None:
    # The host reads the result when all is done, for longer than the kernel waited.
    opened = trace(
        device=DEVICES,
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 200 k",
        unified_memory="""
            process_id counter             start_ns end_ns src_device_id dst_device_id
            1          bytes_transfer_HtoD 110      140    -             0
            1          bytes_transfer_DtoH 300      400    0             -
        """,
    )
    assert_rows(
        opened.query("finding_managed_memory"), f"gpu saved_ns culprit\n 0 30 '{WITHOUT_FAULTS}'"
    )


def test_what_the_host_takes_while_a_kernel_runs_is_not_what_it_waits_for(
    trace: MakeTrace,
) -> None:
    # The host reads a result of before, and the driver brings the pages beside it, too.
    opened = trace(
        device=DEVICES,
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 200 k",
        unified_memory="""
            process_id counter             migration_cause start_ns end_ns src_device_id dst_device_id
            1          bytes_transfer_DtoH coherence       110      120    0             -
            1          bytes_transfer_DtoH prefetch        120      160    0             -
            1          bytes_transfer_HtoD coherence       170      180    -             0
        """,  # noqa: E501
    )
    assert_rows(
        opened.query("finding_managed_memory"), f"gpu saved_ns culprit\n 0 10 '{WITHOUT_FAULTS}'"
    )


def test_without_managed_memory_nothing_is_found(trace: MakeTrace) -> None:
    opened = trace(
        device=DEVICES, kernel="process_id device_id start_ns end_ns name\n 1 0 100 200 k"
    )
    assert opened.query("finding_managed_memory").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("moves", ["", "1 bytes_transfer_HtoD user 10 90 8 - 0"])
def test_a_report_shows_what_moved_if_anything_did(trace: MakeTrace, moves: str) -> None:
    columns = "process_id counter migration_cause start_ns end_ns bytes src_device_id dst_device_id"
    opened = trace(
        device=DEVICES,
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 200 k",
        unified_memory=f"{columns}\n {moves}" if moves else "",
    )
    report = build(opened)
    titles = [each.title for each in report.shown]
    assert ("Managed memory that moved" in titles) == bool(moves)
    assert not any("Managed memory that moved" in each for each in report.empty.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "moves", "is_said"),
    [
        ("1 runtime cudaMallocManaged 0 9", "", True),
        ("1 driver cuMemAllocManaged 0 9", "", True),
        ("1 runtime cudaMallocManaged_v6000 0 9", "1 gpu_page_fault 10 20 0", False),
        ("1 runtime cudaMalloc 0 9", "", False),
    ],
)
def test_managed_memory_of_which_nothing_was_recorded(
    trace: MakeTrace, calls: str, moves: str, is_said: bool
) -> None:
    opened = trace(
        device=DEVICES,
        kernel="process_id device_id start_ns end_ns name\n 1 0 100 200 k",
        api_call=f"process_id domain name start_ns end_ns\n {calls}",
        unified_memory=f"process_id counter start_ns end_ns src_device_id\n {moves}",
    )
    said = [text for text in build(opened).lacks if "--kinds default,unified_memory" in text]
    assert len(said) == is_said
