"""The traces that docs/reference/answers.md asks: made from tests/data, and one that is made up."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.recorded import DATA, recorded_trace  # noqa: E402
from support.sampled_code import with_code  # noqa: E402
from support.trace import write_trace  # noqa: E402

from cupti_etl.cli import cli  # noqa: E402

_STEPS, _STEP_NS, _BEGIN_NS = 10, 20_000_000, 1_000_000_000
_MIB = 2**20


def example_traces(folder: Path) -> None:
    """Write them."""
    demo_trace(folder)
    _import(folder / "pytorch-trace", DATA / "kineto_h100_with_stack.json.gz")
    _import(folder / "ranks-trace", DATA / "kineto_rank0.json.gz", DATA / "kineto_rank1.json.gz")
    recorded_trace(folder / "jax-trace", "jax_h200/launches")
    recorded_trace(folder / "triton-trace", "triton_h200")
    recorded_trace(folder / "stalls-trace", "pcs_h200")
    _import(folder / "pm-trace", DATA / "pm_h200" / "recording.etlrec")
    for table in ("pm_metric", "pm_sample"):
        part = folder / "pm-trace" / table / "part-recorded.parquet"
        shutil.copy(DATA / "pm_h200" / f"{table}.parquet", part)
    made_trace(folder / "made-trace")
    counted_trace(folder / "counts-trace")


def demo_trace(folder: Path) -> None:
    """Write the one that the tutorial begins with."""
    _import(folder / "demo-trace", ROOT / "cupti_etl" / "demo" / "h200.etlrec")


def _import(trace: Path, *files: Path) -> None:
    done = CliRunner().invoke(cli, ["import", *map(str, files), "-o", str(trace)])
    assert done.exit_code == 0, done.output


def counted_trace(folder: Path) -> Path:
    """What code of tests/data/cubins would count with 1,000 warps of which 250 are half full."""
    rows = ["process_id start_ns end_ns device_id function cubin_crc pc_offset metric value"]
    for at in (96, 112, 160, 192, 208):
        rows += [
            f"1 0 1000 0 places 7 {at} smsp__sass_inst_executed 1000",
            f"1 0 1000 0 places 7 {at} smsp__sass_thread_inst_executed 28000",
        ]
    return with_code(folder, {"sass_metric": "\n".join(rows)})


def made_trace(folder: Path) -> Path:
    """Ten steps of two ranks, of which the second is late; each step keeps 1 MiB it allocated."""
    rows: dict[str, list[str]] = {
        "process": ["process_id pid host rank world_size"],
        "device": ["process_id device_id device_uuid name"],
        "marker": ["process_id thread_id marker_id event timestamp_ns name"],
        "api_call": ["process_id thread_id correlation_id domain name start_ns end_ns"],
        "callback_event": ["process_id domain function start_ns end_ns correlation_id result"],
        "kernel": ["process_id device_id context_id stream_id correlation_id graph_node_id"
                   " start_ns end_ns name"],
        "memory": ["process_id device_id memory_kind operation timestamp_ns address bytes"
                   " correlation_id"],
        "unified_memory": ["process_id counter migration_cause start_ns end_ns address bytes"
                           " dst_device_id"],
        "graph_node": ["process_id graph_node_id source_graph_node_id kind at_ns thread_id"
                       " stack_id state"],
        "nccl_event": ["process_id event_id group_id kind communicator rank ranks sequence function"
                       " datatype count size_bytes algorithm protocol channels thread_id"
                       " call_start_ns start_ns end_ns launch_start_ns launch_end_ns"],
        "pm_sample": ["device_uuid start_ns end_ns sm_active_pct dram_read_bytes"],
        "pm_metric": ["metric device_uuid unit aggregation interval_ns"],
    }  # fmt: skip
    for rank in (0, 1):
        _begin_rank(rows, rank)
        for step in range(_STEPS):
            _step(rows, rank, step)
    _hang(rows)
    return write_trace(folder, **{table: "\n".join(lines) for table, lines in rows.items()})


def _begin_rank(rows: dict[str, list[str]], rank: int) -> None:
    """What a process is, the CUDA graph that it captures, and the samples of its GPU."""
    process, before = rank + 1, _BEGIN_NS - _STEP_NS
    rows["process"].append(f"{process} {4000 + rank} node1 {rank} 2")
    rows["device"].append(f"{process} 0 GPU-{rank} H200")
    rows["marker"] += [
        f"{process} 5 900 start {before} capture",
        f"{process} 5 900 end {before + 100} -",
    ]
    rows["api_call"].append(f"{process} 5 900 runtime cudaLaunchKernel {before + 10} {before + 20}")
    rows["graph_node"] += [
        f"{process} 1 - kernel {before + 15} 5 - no_frames",
        f"{process} 2 1 kernel {before + 200} 5 - -",
    ]
    for metric, unit, kind in (("sm_active_pct", "%", "mean"), ("dram_read_bytes", "bytes", "sum")):
        rows["pm_metric"].append(f"{metric} GPU-{rank} {unit} {kind} 1000000")
    for at in range(_STEPS * _STEP_NS // 1_000_000):
        begin = _BEGIN_NS + at * 1_000_000
        is_busy = at % 20 < 12
        busy, read = (88, 2 * _MIB) if is_busy else (0, 0)
        rows["pm_sample"].append(f"GPU-{rank} {begin} {begin + 1_000_000} {busy} {read}")


def _step(rows: dict[str, list[str]], rank: int, step: int) -> None:
    """A step: forward allocates and multiplies, a graph is replayed, gradients are reduced."""
    process, begin, number = rank + 1, _BEGIN_NS + step * _STEP_NS, 10 * step
    late = 1_000_000 * rank

    def call(at: int, name: str, ns: int = 8000) -> int:
        nonlocal number
        number += 1
        start = begin + at
        rows["api_call"].append(f"{process} 5 {number} runtime {name} {start} {start + ns}")
        driver = {"cudaLaunchKernel": "cuLaunchKernel", "cudaGraphLaunch": "cuGraphLaunch"}
        if name in driver:
            inside = f"{start + 1000} {start + ns - 1000} {number} 0"
            rows["callback_event"].append(f"{process} driver {driver[name]} {inside}")
        return number

    def kernel(correlation: int, node: str, start: int, end: int, name: str) -> None:
        times = f"{begin + start} {begin + end}"
        rows["kernel"].append(f"{process} 0 1 7 {correlation} {node} {times} {name}")

    for marker, name, start, end in (
        (2 * step, "step", 0, _STEP_NS - 100_000),
        (2 * step + 1, "forward", 10_000, 200_000),
    ):
        rows["marker"] += [
            f"{process} 5 {marker} start {begin + start} {name}",
            f"{process} 5 {marker} end {begin + end} -",
        ]
    for at, size, address in ((20_000, _MIB, 4096 + step), (40_000, 64 * _MIB, 1)):
        correlation = call(at, "cudaMalloc")
        when = begin + at + 5000
        rows["memory"].append(
            f"{process} 0 device allocation {when} {address} {size} {correlation}"
        )
    rows["unified_memory"].append(
        f"{process} bytes_transfer_HtoD coherence {begin + 110_000} {begin + 160_000}"
        f" {step << 21} {_MIB} 0"
    )
    kernel(call(60_000, "cudaLaunchKernel"), "-", 100_000, 6_000_000 + late, "gemm")
    kernel(call(210_000, "cudaGraphLaunch"), "2", 6_100_000 + late, 9_000_000 + late, "softmax")
    name = "ncclDevKernel_AllReduce_Sum_f32"
    kernel(call(230_000, "cudaLaunchKernel"), "-", 9_100_000 + late, 12_000_000, name)
    _all_reduce(rows, rank, step, begin + 222_000)
    correlation = call(19_000_000, "cudaFree")
    rows["memory"].append(
        f"{process} 0 device release {begin + 19_005_000} 1 {64 * _MIB} {correlation}"
    )


def _all_reduce(rows: dict[str, list[str]], rank: int, number: int, at: int) -> None:
    """What NCCL tells of 25 MiB of gradients, whose kernel is launched 8 us after the call."""
    what = f"{4 * number + 2} {4 * number + 1} collective 77 {rank} 2 {number} AllReduce"
    size = f"ncclFloat32 {25 * _MIB // 4} {25 * _MIB} RING SIMPLE 24"
    times = f"{at} {at + 20_000} {at + 22_000} {at + 7_000} {at + 18_000}"
    rows["nccl_event"].append(f"{rank + 1} {what} {size} 5 {times}")


def _hang(rows: dict[str, list[str]]) -> None:
    """The first rank launches one more operation, which the second one never calls."""
    at = _BEGIN_NS + _STEPS * _STEP_NS
    number = 10 * _STEPS + 1
    rows["api_call"].append(f"1 5 {number} runtime cudaLaunchKernel {at + 8_000} {at + 16_000}")
    _all_reduce(rows, 0, _STEPS, at)
