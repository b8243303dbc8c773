"""The page for those who come from other tools names queries that there are."""

from __future__ import annotations

import re
from pathlib import Path

from cupti_etl.queries.catalog import library
from cupti_etl.schema.arrow import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "from-other-tools.md"


def test_each_query_or_table_exists() -> None:
    rows = [line.split("|")[2] for line in PAGE.read_text().splitlines() if line.count("|") == 3]
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert len(named) > 25
    assert named <= {query.name for query in library()} | TABLES.keys()


# What the public documentation of these tools lists: the user guide of Nsight Systems 2025
# (reports of stats, rules of analyze), and hta.trace_analysis.TraceAnalysis of HTA's main branch.
PUBLIC = """
cuda_api_gpu_sum cuda_api_sum cuda_api_trace cuda_gpu_kern_gb_sum cuda_gpu_kern_sum
cuda_gpu_mem_size_sum cuda_gpu_mem_time_sum cuda_gpu_sum cuda_gpu_trace cuda_kern_exec_sum
cuda_kern_exec_trace dx11_pix_sum dx12_gpu_marker_sum dx12_pix_sum mpi_event_sum mpi_event_trace
mpi_msg_size_sum network_congestion nvtx_gpu_proj_sum nvtx_gpu_proj_trace nvtx_kern_sum
nvtx_pushpop_sum nvtx_pushpop_trace nvtx_startend_sum nvtx_sum nvvideo_api_sum openacc_sum
opengl_khr_gpu_range_sum opengl_khr_range_sum openmp_sum osrt_sum syscall_sum
um_cpu_page_faults_sum um_sum um_total_sum vulkan_api_sum vulkan_api_trace vulkan_gpu_marker_sum
vulkan_marker_sum wddm_queue_sum
cuda_api_sync cuda_memcpy_async cuda_memcpy_sync cuda_memset_sync gpu_gaps gpu_time_util
get_comm_comp_overlap get_profiler_steps get_potential_stragglers get_gpu_kernel_breakdown
get_gpu_kernels_with_user_annotations get_gpu_user_annotation_breakdown get_temporal_breakdown
get_frequent_cuda_kernel_sequences get_aten_op_kernels_and_delay get_cuda_kernel_launch_stats
generate_trace_with_counters get_queue_length_summary get_queue_length_summary_from_time_series
get_queue_length_time_series get_time_spent_blocked_on_full_queue get_memory_bw_summary
get_memory_bw_time_series get_idle_time_breakdown get_cupti_counter_data_with_operators
critical_path_analysis overlay_critical_path_analysis compare_traces ops_diff
visualize_counts_diff visualize_duration_diff
"""


def missing(text: str) -> list[str]:
    rows = [line.split("|")[1] for line in text.splitlines() if line.count("|") == 3]
    named = {name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row)}
    return [name for name in PUBLIC.split() if name not in named]


def test_each_report_and_function_of_the_others_has_a_row() -> None:
    text = PAGE.read_text()
    assert missing(text) == []
    assert missing(text.replace("`osrt_sum`, ", "")) == ["osrt_sum"]
