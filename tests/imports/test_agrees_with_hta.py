"""Two ranks of a real job: figures that HolisticTraceAnalysis 0.5.0 gave for the same files.

They were printed with ``TraceAnalysis({0: file}, include_last_profiler_step=True)``; why other
files give other figures stands in docs/design/compared-with-hta.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.imports.run import import_traces

DATA = Path(__file__).parents[1] / "data"
# By rank, in microseconds: get_temporal_breakdown's kernel_time, compute_time, idle_time and
# non_compute_time; get_comm_comp_overlap; names and time of get_gpu_kernel_breakdown.
HTA = {
    0: (1222847, 210320, 675191, 337336, 14.95, 194, 606519),
    1: (1231186, 271973, 651136, 308077, 19.93, 183, 651026),
}


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    out = tmp_path_factory.mktemp("hta") / "trace"
    import_traces([DATA / "kineto_rank0.json.gz", DATA / "kineto_rank1.json.gz"], out, 1)
    with cupti_etl.open(out) as trace:
        yield trace


@pytest.mark.parametrize("rank", HTA)
def test_where_the_time_went(ranks: Trace, rank: int) -> None:
    span, compute, idle, others, overlap, _, _ = HTA[rank]
    (gpu,) = ranks.sql(f"SELECT gpu FROM gpu JOIN process USING (process_id) WHERE rank = {rank}")
    assert gpu["gpu"] == rank
    (row,) = (row for row in ranks.query("busy_breakdown") if row["gpu"] == rank)
    assert row["span_ns"] == 1000 * span
    assert row["compute_ns"] == 1000 * compute
    assert row["idle_ns"] == 1000 * idle
    assert row["exposed_communication_ns"] + row["exposed_copy_ns"] == 1000 * others
    (hidden,) = (
        row["overlap_pct"]
        for row in ranks.query("overlap_matrix")
        if (row["gpu"], row["category"], row["other"]) == (rank, "communication", "compute")
    )
    assert hidden == pytest.approx(overlap, abs=0.005)


@pytest.mark.parametrize("rank", HTA)
def test_time_of_kernels(ranks: Trace, rank: int) -> None:
    (row,) = ranks.sql(f"""
        SELECT count(DISTINCT name) AS names,
               sum(kernel.end_ns - kernel.start_ns)::BIGINT AS ns
        FROM kernel JOIN process USING (process_id) WHERE rank = {rank}
    """)
    assert (row["names"], row["ns"] / 1000) == HTA[rank][5:]


@pytest.mark.parametrize("name", ["busy_breakdown", "utilization_timeline", "concurrency"])
def test_parts_add_to_the_whole(ranks: Trace, name: str) -> None:
    spans = {row["gpu"]: row["span_ns"] for row in ranks.query("busy_breakdown")}
    parts = {
        "busy_breakdown": "SELECT gpu, compute_ns + exposed_communication_ns + exposed_copy_ns"
        " + idle_ns AS ns FROM busy_breakdown",
        "utilization_timeline": "SELECT gpu, sum(compute_ns + exposed_communication_ns"
        " + exposed_copy_ns + idle_ns)::BIGINT AS ns FROM utilization_timeline() GROUP BY gpu",
        "concurrency": "SELECT gpu, sum(total_ns)::BIGINT AS ns FROM concurrency GROUP BY gpu",
    }
    if name == "concurrency":
        sql = "SELECT gpu, max(end_ns) - min(start_ns) AS ns FROM gpu_interval"
        spans = {r["gpu"]: r["ns"] for r in ranks.sql(f"{sql} WHERE kind = 'kernel' GROUP BY gpu")}
    assert {row["gpu"]: row["ns"] for row in ranks.sql(parts[name])} == spans


def test_causes_of_gaps_and_the_critical_path_add_up(ranks: Trace) -> None:
    whole = list(ranks.query("busy_breakdown"))
    gaps = ranks.sql("""
        SELECT gpu, sum(gap_ns)::BIGINT AS ns,
               sum(queued_ns + profiler_ns + loading_ns + waiting_ns + memory_ns + launching_ns
                   + other_cuda_ns + outside_ns + unknown_ns)::BIGINT AS parts
        FROM gap_attribution(0) GROUP BY gpu ORDER BY gpu
    """)
    idle = [(row["gpu"], row["idle_ns"], row["idle_ns"]) for row in whole]
    assert [tuple(row.values()) for row in gaps] == idle
    path = ranks.sql("""
        SELECT gpu, sum(total_ns)::BIGINT AS ns, sum(percent) AS percent
        FROM critical_path GROUP BY gpu ORDER BY gpu
    """)
    for row, gpu in zip(path, whole, strict=True):
        assert (row["gpu"], row["ns"]) == (gpu["gpu"], gpu["span_ns"])
        assert row["percent"] == pytest.approx(100)
