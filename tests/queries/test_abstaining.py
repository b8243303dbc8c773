"""An answer without its inputs is empty, says why, and is the same from any form of a trace."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.trace import ONE_THREAD, MakeTrace, write_trace

import cupti_etl
from cupti_etl.analysis.notes import losses, notes
from cupti_etl.api import Trace
from cupti_etl.cli import cli
from cupti_etl.queries.catalog import library
from cupti_etl.queries.empty import why_empty
from cupti_etl.queries.query import Query
from cupti_etl.render.duckdb_file import export_duckdb
from cupti_etl.schema.arrow import TABLES

_STEPS = range(24)
# Something of every kind, in steps: every query has an answer.
FULL = {
    "kernel": "process_id device_id context_id stream_id correlation_id start_ns end_ns name grid_x"
    " grid_y grid_z block_x block_y block_z registers_per_thread graph_id graph_node_id\n"
    + "\n".join(
        f"{p} 0 1 7 {s * 10 + 1} {s * 5000 + 100 + p} {s * 5000 + 200} a 4 1 1 64 1 1 16 - -\n"
        f"{p} 0 1 8 {s * 10 + 2} {s * 5000 + 150 + p} {s * 5000 + 300} ncclDevKernel_AllReduce"
        " 4 1 1 64 1 1 16 - -\n"
        f"{p} 0 1 7 {s * 10 + 5} {s * 5000 + 500} {s * 5000 + 600} b 4 1 1 64 1 1 16 9 1"
        for s in _STEPS
        for p in (1, 2)
    ),
    "memcpy": "process_id device_id context_id stream_id correlation_id start_ns end_ns copy_kind"
    " bytes src_kind dst_kind is_async\n"
    + "\n".join(
        f"1 0 1 7 {s * 10 + c} {s * 5000 + 300 + c * 10} {s * 5000 + 305 + c * 10} HtoD 64"
        " pageable device true"
        for s in _STEPS
        for c in (3, 4)
    ),
    "api_call": "process_id thread_id correlation_id domain name start_ns end_ns return_value\n"
    + "\n".join(
        f"{p} 5 {s * 10 + c} runtime {name} {s * 5000 + c * 10} {s * 5000 + c * 10 + 5} 0"
        for s in _STEPS
        for p in (1, 2)
        for c, name in (
            (1, "cudaLaunchKernel"),
            (2, "cudaLaunchKernel"),
            (3, "cudaMemcpyAsync"),
            (4, "cudaMemcpyAsync"),
            (5, "cudaGraphLaunch"),
            (6, "cudaDeviceSynchronize"),
            (7, "cudaMalloc"),
        )
    ),
    "marker": "process_id thread_id marker_id event timestamp_ns domain name\n"
    + "\n".join(
        f"{p} 5 {s} start {s * 5000} - step\n{p} 5 {s} end {s * 5000 + 900} - -"
        for s in _STEPS
        for p in (1, 2)
    )
    + "\n"
    + "\n".join(
        f"1 5 {s * 10 + m} {event} {s * 5000 + at} {domain} '{name}'"
        for s in _STEPS
        for m, domain, name, *times in (
            (1001, "python_function", "nn.Module: Linear_0", 1, 29),
            (1002, "cpu_op", "aten::mm", 8, 18),
            (1003, "cpu_op", "MmBackward0", 19, 28),
            (1004, "user_annotation", "enumerate(DataLoader)#__next__", 700, 800),
            (1005, "TSL", "XlaModule:#hlo_module=jit_step,program_id=7#", 9, 17),
            (1006, "TSL", "Thunk:#hlo_op=a.1#", 10, 16),
        )
        for event, at in zip(("start", "end"), times, strict=True)
    ),
    "memory": "process_id device_id memory_kind operation timestamp_ns address bytes"
    " correlation_id pool_type pool_address pool_bytes pool_utilized_bytes\n"
    + "\n".join(
        f"1 0 device allocation {s * 5000 + 72} {s} 100 {s * 10 + 7} local 8 4096 {s * 100}"
        for s in _STEPS
    ),
    "argument": "process_id correlation_id marker_id arguments\n"
    ' 1 2 - \'{"Collective name": "allreduce"}\'\n'
    + "\n".join(
        f"""1 - {s * 10 + 1002} '{{"Sequence number": {s}, "Input Dims": [[4, 8], [8, 2]],"""
        f""" "Input type": ["float", "float"]}}'\n"""
        f"""1 - {s * 10 + 1003} '{{"Sequence number": {s}, "Fwd thread id": 1}}'"""
        for s in _STEPS
    ),
    "launch_stack": "process_id correlation_id stack_id state\n"
    + "\n".join(f"1 {s * 10 + 1} 7 whole\n1 {s * 10 + 2} - no_frames" for s in _STEPS),
    "python_stack": "process_id stack_id depth function file line first_line\n"
    " 1 7 0 forward /app/model.py 12 10\n 1 7 1 main /app/train.py 40 30",
    "graph_node": "process_id graph_node_id source_graph_node_id kind at_ns thread_id stack_id"
    f" state\n1 1 - kernel {_STEPS[0] * 5000 + 20} 5 7 whole",
    "pc_sample": "process_id function cubin_crc pc_offset samples not_issued_samples stall_reason\n"
    " 1 a 7 16 400 300 smsp__pcsamp_warps_issue_stalled_barrier\n"
    " 1 a 7 32 100 0 smsp__pcsamp_warps_issue_stalled_selected",
    "callback_event": "process_id domain function start_ns end_ns correlation_id result\n"
    " 1 runtime cudaLaunchKernel_v7000 10 15 1 0\n 1 driver cuLaunchKernel 11 14 1 0",
    "unified_memory": "process_id counter start_ns end_ns address bytes dst_device_id\n"
    " 1 bytes_transfer_HtoD 110 120 65536 4096 0",
    "jit": "process_id start_ns end_ns operation\n 1 1 2 compile",
    "device": "process_id device_id device_uuid name multiprocessors threads_per_warp"
    " max_warps_per_multiprocessor max_blocks_per_multiprocessor max_registers_per_multiprocessor"
    " max_shared_per_multiprocessor_bytes compute_capability_major\n"
    + "\n".join(f"{p} 0 GPU-{p} H200 132 32 64 32 65536 233472 9" for p in (1, 2)),
    "pm_sample": "device_uuid start_ns end_ns sm_active_pct dram_read_pct pcie_rx_bytes\n"
    + "\n".join(
        f"GPU-{p} {at * 100} {at * 100 + 100} {at % 50 * 2} {at % 7} {at % 3}"
        for p in (1, 2)
        for at in range(1200)
    ),
    "pm_metric": "device_uuid metric unit aggregation peak interval_ns\n"
    + "\n".join(
        f"GPU-{p} sm_active_pct % mean - 100\nGPU-{p} dram_read_pct % mean - 100\n"
        f"GPU-{p} pcie_rx_bytes bytes sum 60000000000 100"
        for p in (1, 2)
    ),
    "launch_metric": "process_id range_id start_ns end_ns device_id correlation_id function passes"
    " metric value unit source\n"
    + "\n".join(
        f"{p} 1 100 400 0 1 a 2 sm__cycles_active.avg 90 cycles range_profiler" for p in (1, 2)
    ),
    "process": "process_id pid host rank world_size state\n1 1 n 0 2 finished\n2 2 n 1 2 finished",
    "capture": "capture_id start_ns end_ns\n 5 0 900000",
    "capture_window": "process_id start_ns end_ns\n 1 0 900000\n 2 0 900000",
    "kernel_name": "mangled demangled short\n nobody nobody() nobody",
}
# What FULL has no reason to hold: several calls of an id, copies that end within their calls,
# threads that wait, losses, long gaps, steps out of line, NCCL's operations, missing ranks, clocks
# that are apart, kernels by what they do, code, functions. timeline_flow is of what nobody chose.
_EMPTY = """
    _shared_correlation _unpaired_correlation _shared_launch _blocking_copy _range_wait _loss_cause
    _timeline_loss timeline_flow _range_helped triton_autotune finding_autotuning finding_gather_add
    finding_row_sort finding_xla_autotuning _idle_culprit _outside_range finding_host finding_queued
    finding_slow_executions finding_slow_steps _step_guess sass source_line line_stall _capture_call
    instruction_stall _line_sample _nccl_kernel _nccl_operation _nccl_channel _nccl_placed nccl_p2p
    nccl_unfinished range_counter _rank_missing _clock_apart instruction_count line_count
    _window_run _not_recorded _nccl_gpu_clock _nccl_pair _nccl_phase _replayed replay_check
    replay_counter finding_rank_wait _forward_pass finding_late_loading _clock_pair _clock_line
    _process_without_links _idle_call _first_launch _graph_capture _send_wait finding_send_wait
    _freeing_call finding_loading finding_attention finding_fusion finding_layout _tuning_process
    finding_tensor_cores finding_blocking_launches finding_doubles finding_optimizer _wider_type
    _slow_kernel _failed_call finding_alignment active_threads _sampled_code _compile_range
    finding_compiling finding_half_cores finding_copy_kernels finding_float_attention _long_launch
    finding_depthwise finding_small_blocks _managed_memory _call_outside _unpaired_launch
    _benchmarking_stack _function_stack _function_frame _process_to_guess _threaded_process
    _python_span _parted_span _range_outermost
"""


def asked(opened: cupti_etl.api.Trace, query: Query) -> list[dict[str, object]]:
    return unordered(opened.query(query.name))


def unordered(rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    rounded = (
        {k: round(v, 6) if isinstance(v, float) else v for k, v in row.items()} for row in rows
    )
    return sorted(rounded, key=str)


def in_another_order(table: str) -> str:
    header, *rows = table.split("\n")
    random.Random(1).shuffle(rows)
    return "\n".join([header, *rows])


@pytest.mark.slow
def test_every_query_answers_the_same_from_a_file_in_another_order(tmp_path: Path) -> None:
    folder = write_trace(tmp_path / "run", **FULL)
    other = {name: in_another_order(table) for name, table in FULL.items()}
    with cupti_etl.open(write_trace(tmp_path / "other", **other)) as parts:
        export_duckdb(parts, tmp_path / "run.duckdb")
    with cupti_etl.open(folder) as parts, cupti_etl.open(tmp_path / "run.duckdb") as file:
        for query in library():
            rows = asked(parts, query)
            assert rows == asked(file, query), query.name
            assert bool(rows) == (query.name not in _EMPTY.split()), query.name


@pytest.mark.slow
def test_plain_duckdb_gives_the_same_without_what_is_stored(tmp_path: Path) -> None:
    """In seconds: views of which each is bound wherever another reads it would take hours."""
    import duckdb

    differing: set[str] = set()  # by a header, and what reads these
    folder = write_trace(tmp_path / "run", **FULL)
    with cupti_etl.open(folder, settings=ONE_THREAD) as parts:
        export_duckdb(parts, tmp_path / "run.duckdb")
        with duckdb.connect(str(tmp_path / "run.duckdb")) as con:
            for query in (each for each in library() if not each.opened):
                called = f"{query.name}()" if query.parameters else query.name
                rows = con.sql(f"FROM {called}").to_arrow_table().to_pylist()
                if query.native or differing.intersection(query.needs):
                    differing.add(query.name)
                    assert len(rows) == parts.query(query.name).count(), query.name
                else:
                    assert unordered(rows) == asked(parts, query), query.name


@pytest.mark.slow
@pytest.mark.parametrize("query", ["module_summary", "hlo_summary"])
def test_plain_duckdb_plans_what_recurs_over_views(trace: MakeTrace, query: str) -> None:
    import duckdb

    opened = trace(**{table: FULL[table] for table in ("kernel", "api_call", "marker")})
    export_duckdb(opened, opened.path / "run.duckdb")
    with duckdb.connect(str(opened.path / "run.duckdb")) as con:
        assert len(con.execute(f"FROM {query}").fetchall()) == opened.query(query).count()


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Trace]]:
    """FULL without a table, or without all of them, opened for all tests that ask for it."""
    with ExitStack() as stack:

        @functools.cache
        def opened(table: str) -> Trace:
            rows = {name: rows for name, rows in FULL.items() if table not in (name, "all")}
            folder = write_trace(tmp_path_factory.mktemp("lacking") / "run", **rows)
            return stack.enter_context(cupti_etl.open(folder, settings=ONE_THREAD))

        yield opened


@pytest.mark.parametrize(
    ("query", "table", "reason"),
    [
        pytest.param(query, table, reason, id=f"{query.name}-{table}")
        for query in library()
        for table, reason in query.requires
        if table in TABLES
    ],
)
def test_without_its_input_a_query_is_empty_and_says_why(
    lacking: Callable[[str], Trace], query: Query, table: str, reason: str
) -> None:
    opened = lacking(table)
    assert opened.query(query.name).count() == 0
    assert why_empty(opened, query)


@pytest.mark.parametrize("query", list(library()), ids=lambda query: query.name)
def test_an_empty_trace_has_no_answer_but_what_it_is(
    lacking: Callable[[str], Trace], query: Query
) -> None:
    empty = lacking("all")
    assert [row for row in empty.query(query.name) if query.topic != "capture"] == []
    assert query.topic == "capture" or not query.front or why_empty(empty, query)


@pytest.mark.slow
def test_the_command_says_why_there_is_nothing(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", kernel=FULL["kernel"])
    done = CliRunner().invoke(cli, ["query", "launch_bound", str(path)])
    assert done.exit_code == 0
    assert "launch_bound: no API calls were recorded" in done.stderr
    done = CliRunner().invoke(cli, ["query", "memcpy_small", str(path), "--format", "csv"])
    assert "memcpy_small: no copies were recorded." in done.stderr
    done = CliRunner().invoke(cli, ["query", "kernel_summary", str(path), "--wide"])
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("named=a", "every row is hidden by min_calls, which is 20 executions"),
        ("named=a min_calls=3", "every row is hidden by min_calls, which is 3 executions"),
        ("named=a min_calls=2", None),
        ("named=b", "nothing of the kind was found."),
    ],
)
def test_a_threshold_that_hid_every_row_is_named(
    tmp_path: Path, words: str, said: str | None
) -> None:
    path = write_trace(tmp_path / "run", kernel="start_ns end_ns name\n 0 5 a\n 10 18 a")
    params = [each for word in words.split() for each in ("--param", word)]
    done = CliRunner().invoke(cli, ["query", "kernel_worst", str(path), "--format=csv", *params])
    assert done.stderr.startswith(f"cupti-etl: kernel_worst: {said}" if said else "")
    assert bool(said) == bool(done.stderr)
    assert ("--param min_calls=0 shows them" in done.stderr) == bool(said and "hidden" in said)


def test_losses_are_told_beside_every_answer(tmp_path: Path) -> None:
    path = write_trace(
        tmp_path / "run",
        **FULL,
        loss="process_id cause records is_stored\n 1 ring_full 12 false\n 1 killed - false",
    )
    done = CliRunner().invoke(cli, ["query", "kernel_summary", str(path)])
    assert "the capture has losses (killed ?, ring_full 12)" in done.stderr
    told = CliRunner().invoke(cli, ["query", "capture_health", str(path), "--wide"])
    assert told.stderr == ""
    with cupti_etl.open(path) as opened:
        assert losses(opened) == "killed ?, ring_full 12"


def test_a_part_without_its_input_says_that_it_is_the_part(tmp_path: Path) -> None:
    path = write_trace(
        tmp_path / "run",
        kernel="process_id device_id start_ns end_ns name correlation_id\n1 0 100 200 k 1",
        api_call="process_id domain name correlation_id start_ns end_ns\n1 runtime cudaL 1 1 5",
    )
    done = CliRunner().invoke(cli, ["query", "api_summary", str(path), "--from", "50%"])
    said = "in this part of the trace (from 50%), no API calls were recorded.\n"
    assert said in done.stderr, done.stderr


@pytest.mark.slow
def test_what_was_launched_before_a_part_is_looked_up(tmp_path: Path) -> None:
    # The host launched all of it long before the GPU came to it.
    path = write_trace(
        tmp_path / "run",
        kernel="process_id device_id start_ns end_ns name correlation_id\n"
        + "\n".join(f"1 0 {at} {at + 60000} k {at}" for at in range(100000, 3000000, 300000)),
        api_call="process_id thread_id domain name correlation_id start_ns end_ns\n"
        + "\n".join(
            f"1 5 runtime cudaLaunchKernel {at} 1 5" for at in range(100000, 3000000, 300000)
        ),
        process="process_id pid state\n 1 7 finished",
    )
    words = (str(path), "--from", "90us")
    done = CliRunner().invoke(cli, ["query", "launch_bound", *words])
    assert "not launch bound" in done.stdout, done.output
    done = CliRunner().invoke(cli, ["report", *words])
    assert "no API calls were recorded" not in done.stdout.split("## Is it launch bound?")[0]
    assert "idle with work on the queues" in done.stdout


@pytest.mark.parametrize(("begin", "said"), [("0ns", None), ("95us", "100 %"), ("60us", "67 %")])
def test_what_was_launched_outside_of_a_part_is_said_to_be_missing(
    trace: MakeTrace, begin: str, said: str | None
) -> None:
    # The host launches in a range each, the GPU begins when all but one are launched.
    starts = {1: 10, 2: 20, 3: 90}
    opened = trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n"
        + "\n".join(f"1 0 {n} {n * 40000 + 60000} {n * 40000 + 80000} k" for n in starts),
        api_call="process_id thread_id domain name correlation_id start_ns end_ns\n"
        + "\n".join(
            f"1 5 runtime cudaLaunchKernel {n} {at * 1000 + 1} {at * 1000 + 5}"
            for n, at in starts.items()
        )
        + "\n1 5 runtime cudaMalloc 9 0 1",
        marker="process_id thread_id marker_id event timestamp_ns name domain\n"
        + "\n".join(
            f"1 5 {n} start {at * 1000} r{n} -\n1 5 {n} end {at * 1000 + 10} - -"
            for n, at in starts.items()
        ),
        process="process_id pid state\n 1 7 finished",
    )
    with opened.scope(from_=begin) as part:
        told = {
            name: [
                each.split(" of the work")[0]
                for each in notes(part, library()[name], {}, is_empty=False)
                if "launched outside" in each
            ]
            for name in ("nvtx_range", "nvtx_projection", "kernel_summary")
        }
    # What begins with the work on GPUs has all of it.
    expected = [said] if said else []
    assert told == {"nvtx_range": expected, "nvtx_projection": [], "kernel_summary": []}


_CALLS = "no API calls were recorded"
_OPERATORS = "no operators of PyTorch were recorded"


@pytest.mark.parametrize(
    ("query", "state", "said"),
    [
        ("launch_bound", "imported", f"{_CALLS}."),
        ("gap_attribution", "imported", f"{_CALLS}, so causes are not known."),
        ("launch_bound", "complete", f"{_CALLS} (capture with --api default)."),
        # And not that the code was not disassembled, for which there was no need.
        ("source_line", "imported", "no PCs were sampled."),
        # Of use to who imports, too.
        (
            "operator_summary",
            "imported",
            f"{_OPERATORS} (capture with --pytorch, or import a trace of torch.profiler).",
        ),
    ],
)
def test_how_to_capture_is_no_advice_on_imported_traces(
    trace: MakeTrace, query: str, state: str, said: str
) -> None:
    opened = trace(
        process=f"process_id state\n1 imported\n2 {state}",
        kernel="process_id start_ns end_ns name\n1 0 5 a",
    )
    assert why_empty(opened, library()[query]) == said
