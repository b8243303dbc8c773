"""The tables that are ours: what a capture knows about itself.

``process_id`` is a random number of 63 bits, unique across hosts, PID namespaces and exec.
"""

from __future__ import annotations

from cupti_etl.schema.counters import CUBIN, LAUNCH_METRIC, PC_SAMPLE, PC_WINDOW, SASS_METRIC
from cupti_etl.schema.nccl import NCCL_EVENT
from cupti_etl.schema.spec import PROCESS_ID, Table
from cupti_etl.schema.spec import Column as C
from cupti_etl.schema.types import boolean, f64, i32, i64, string, timestamp

CAPTURE = Table(
    "capture",
    "One row per capture: how it was made and how it ended.",
    (
        C("capture_id", i64, "", "Random number of this capture."),
        C("version", string, "", "Version of cupti-etl that wrote it."),
        C("schema_version", i32, "", "Number of the table layout."),
        C("host", string, "", "Host name."),
        C("kernel_release", string, "", "Operating system and release."),
        C("source", string, "", "capture, attach (of programs whose collector was killed), replay of a recording, or import and from what."),
        C("command", string, "", "The traced command; NULL with --no-argv."),
        C("kinds", string, "", "Tables that were asked for, comma-separated."),
        C("api_level", string, "", "Which API calls were asked for: all, default, launch or none."),
        C("flush_ms", i32, "", "Interval at which CUPTI was flushed.", unit="ms"),
        C("ring_mb", i32, "", "Upper limit of a process's shared memory.", unit="MiB"),
        C("capture_range", string, "", "What --capture-range said; NULL without it."),
        C("delay_ns", i64, "", "How long recording was to wait.", unit="ns"),
        C("duration_ns", i64, "", "How long it was to last; NULL for to the end.", unit="ns"),
        C("stopped_by", string, "", "Which limit ended the recording: duration, max_rows or max_size; NULL if none did."),
        C("pm_metrics", string, "", "What --pm asked for: a preset, or metrics, comma-separated; NULL without it."),
        C("pm_interval_ns", i64, "", "Time between two PM samples that was asked for.", unit="ns"),
        C("pm_state", string, "", "sampling, finished, partial (not on all GPUs, or not to the end), failed; NULL without --pm."),
        C("pm_detail", string, "", "Why PM sampling failed, or failed on some GPU; NULL if it did not."),
        C("pm_clocks_locked", boolean, "", "Whether the GPUs' clocks were held fixed while they were sampled; NULL if it is not known."),
        C("start_ns", timestamp, "", "When the capture began.", unit="ns"),
        C("end_ns", timestamp, "", "When it ended; NULL while it runs. Written last: a trace that has it is whole.", unit="ns"),
        C("exit_status", i32, "", "Exit status of the command; 128+n if signal n ended it; NULL while it runs."),
        C("row_counts", i32, "", "How many rows row_count has; NULL while the capture runs, and in older traces."),
        C("user_name", string, "", "Login name of who ran it."),
        C("git_commit", string, "", "Commit that was checked out where the command was run; NULL outside a git repository."),
        C("tags", string, "", "What --tag said, as a JSON object; NULL without it."),
        C("budget_pct", f64, "", "How much longer --budget let the program take; NULL without it.", unit="%"),
        C("lasting_pct", f64, "", "How much longer it takes, at most, from the first window of --budget to its end, recorded or not, as CUPTI makes launches longer once it has recorded: told by a trial before; NULL without one.", unit="%"),
    ),
)
ROW_COUNT = Table(
    "row_count",
    "One row per table, and process where its records are counted: how many rows the trace had when it was finished.",
    (
        PROCESS_ID,
        C("table_name", string, "", "The table."),
        C("stored", i64, "", "Rows that it had.", unit="rows"),
    ),
)
PROCESS = Table(
    "process",
    "One row per traced process image.",
    (
        PROCESS_ID,
        C("pid", i32, "", "Process id as the process itself sees it."),
        C("parent_pid", i32, "", "Process id of its parent."),
        C("host", string, "", "Host name."),
        C("argv", string, "", "Command line, words separated by spaces; NULL with --no-argv."),
        C("start_ns", timestamp, "", "When tracing began in it.", unit="ns"),
        C("end_ns", timestamp, "", "When it was seen to end; NULL while it runs.", unit="ns"),
        C("state", string, "", "tracing, finished (in order), killed, not flushed, lost, failed (see detail), running (when a trace of --flight-recorder ended), or imported."),
        C("detail", string, "", "Why tracing failed, or what was noticed; NULL if nothing."),
        C("rank", i32, "", "RANK of the environment; else that of MPI, or of a Slurm step of several tasks."),
        C("local_rank", i32, "", "LOCAL_RANK of the environment; else that of MPI or Slurm, alike."),
        C("world_size", i32, "", "WORLD_SIZE of the environment; else that of MPI or Slurm, alike."),
        C("slurm_job_id", i64, "", "SLURM_JOB_ID of the environment."),
        C("slurm_proc_id", i32, "", "SLURM_PROCID of the environment."),
        C("cupti_version", i32, "", "What cuptiGetVersion answered."),
        C("cupti_path", string, "", "The libcupti that was used."),
        C("records", string, "", "Form of its records: fixed, or selected."),
        C("driver_version", i32, "", "What cuDriverGetVersion answered."),
        C("emitted", i64, "", "Records that CUPTI handed over or said it dropped.", unit="records"),
        C("stored", i64, "", "Records that became rows, those in discarded too.", unit="records"),
        C("replay_run", i32, "", "Which run of the command it belongs to, from 1, with --range-replay application; else NULL."),
    ),
    sort=("start_ns",),
    key=("process_id",),
)
KERNEL_NAME = Table(
    "kernel_name",
    "One row per kernel name seen.",
    (
        C("mangled", string, "", "Name as CUPTI gives it.", joins="kernel.name"),
        C("demangled", string, "", "Name with template and call arguments."),
        C("short", string, "", "Function name alone: no return type, namespaces or arguments."),
    ),
    key=("mangled",),
    is_lasting=True,
)
CLOCK = Table(
    "clock",
    "The host's clocks read together, about once a second.",
    (
        C("realtime_ns", timestamp, "", "CLOCK_REALTIME, the clock of every timestamp in the trace.", unit="ns"),
        C("monotonic_ns", timestamp, "", "CLOCK_MONOTONIC, which never steps.", unit="ns"),
        C("boottime_ns", timestamp, "", "CLOCK_BOOTTIME, which also counts suspend.", unit="ns"),
    ),
    sort=("realtime_ns",),
)
CAPTURE_WINDOW = Table(
    "capture_window",
    "One row per stretch of time in which a process was recorded, or for several of which no more is known.",
    (
        PROCESS_ID,
        C("start_ns", timestamp, "", "When all records were switched on.", unit="ns"),
        C("end_ns", timestamp, "", "When they began to be switched off; NULL if the process was killed before.", unit="ns"),
        C("opened_by", string, "", "process (its start), collector (--delay, --budget), range (--capture-range) or other_client (it left)."),
        C("closed_by", string, "", "process (its end), collector (--duration, --max-rows, --max-size, --budget), range, other_client (it came); NULL if open."),
        C("switch_on_ns", i64, "", "How long switching on took.", unit="ns"),
        C("switch_off_ns", i64, "", "How long switching off took.", unit="ns"),
        C("windows", i64, "", "How many stretches: 1, or more where over a thousand came between two looks; then they lie between start and end, and the rest is NULL."),
    ),
    sort=("start_ns",),
)
LOSS = Table(
    "loss",
    "One row per cause and process: records that a table does not hold, or not whole.",
    (
        PROCESS_ID,
        C("cause", string, "", "ring_full, cupti_dropped, unknown_kind, unreadable, incomplete, zero_timestamp, other_clock, wrong_correlation, other_client, killed, not_flushed, not_traced, not_written, abandoned, collector_killed or part_lost; of texts: text_limit or not_demangled; of PC samples: pc_dropped, pc_buffer_full or pc_refused; of SASS metrics: sass_dropped or sass_refused; of the range profiler: range_dropped, range_left_out, range_refused, range_runs or replayed; of NCCL: nccl_refused; of PM samples: pm_overflow, pm_counter_data_full, pm_gap or pm_failed."),
        C("device_uuid", string, "", "The GPU, where PM samples are missing; NULL for records.", joins="device.device_uuid"),
        C("table_name", string, "", "Table the records belong to; NULL if it is not known."),
        C("records", i64, "", "How many; NULL if it cannot be known.", unit="records"),
        C("bytes", i64, "", "How many bytes, where records could not be told apart.", unit="bytes"),
        C("is_stored", boolean, "", "Whether the rows are in the table all the same, with a NULL time."),
        C("start_ns", timestamp, "", "Earliest time the loss can concern.", unit="ns"),
        C("end_ns", timestamp, "", "Latest time the loss can concern.", unit="ns"),
        C("detail", string, "", "The cause in a sentence."),
    ),
)
DISCARDED = Table(
    "discarded",
    "One row per table and reason: rows that were recorded and are not kept, as --flight-recorder or --retain asked for. No loss.",
    (
        C("table_name", string, "", "The table that had them."),
        C("reason", string, "", "age (older than what is kept), memory (--flight-memory was full) or size (--retain)."),
        C("rows", i64, "", "How many.", unit="rows"),
        C("end_ns", timestamp, "", "When the last of them arrived: what ended later is all there, but for losses.", unit="ns"),
        C("detail", string, "", "Why, in a sentence."),
    ),
    key=("table_name", "reason", "end_ns"),
)
FLIGHT_TRIGGER = Table(
    "flight_trigger",
    "One row per trigger of --flight-recorder that fired while the trace was written; the first began it.",
    (
        C("fired_ns", timestamp, "", "When it fired.", unit="ns"),
        C("trigger", string, "", "The trigger, as --trigger has it."),
        PROCESS_ID,
        C("is_first", boolean, "", "Whether it began the trace; the others fired while it was being written."),
        C("detail", string, "", "What happened, in a sentence."),
    ),
    sort=("fired_ns",),
)
ARGUMENT = Table(
    "argument",
    "One row per range, or piece of work on a GPU, that an imported trace gives arguments to.",
    (
        PROCESS_ID,
        C("marker_id", i32, "", "The range they belong to; NULL for work on a GPU.", joins="marker.marker_id"),
        C("correlation_id", i64, "", "The API call that started the work; NULL for a range.", joins="api_call.correlation_id"),
        C("arguments", string, "", "The arguments, as a JSON object: shapes, types, what a collective sends."),
    ),
)
IMPORT_SKIPPED = Table(
    "import_skipped",
    "One row per file and kind of thing in it that an import did not keep. Nothing of it counts as emitted, stored or lost.",
    (
        C("file", string, "", "The file, as it was named."),
        C("category", string, "", "redundant (the rest of the trace says the same), unsupported (no table has a place for it, or its version is not known) or invalid (it cannot be what it says, or is missing)."),
        C("what", string, "", "A category of events, a table, or TABLE.COLUMN."),
        C("events", i64, "", "How many events, rows or values; NULL if it is not known.", unit="events"),
        C("detail", string, "", "Why, in a sentence."),
    ),
    key=("file", "category", "what"),
)

PM_SAMPLE = Table(
    "pm_sample",
    "One row per sample of a GPU's hardware counters: the whole GPU, whoever uses it. One column a metric, as pm_metric describes.",
    (
        C("device_uuid", string, "", "The GPU.", joins="device.device_uuid"),
        C("start_ns", timestamp, "", "When the sample began; the end of the one before.", unit="ns"),
        C("end_ns", timestamp, "", "When it ended.", unit="ns"),
    ),
    sort=("start_ns",),
    more=f64,
    described_in="pm_metric",
    chosen_by="start_ns",
)
PM_METRIC = Table(
    "pm_metric",
    "One row per metric and GPU: a column of pm_sample.",
    (
        C("metric", string, "", "Name of the column in pm_sample."),
        C("device_uuid", string, "", "The GPU.", joins="device.device_uuid"),
        C("chip", string, "", "Its chip, as CUPTI names it."),
        C("preset", string, "", "The preset that the metric was chosen by; NULL if by its name."),
        C("hardware_name", string, "", "The metric's name for CUPTI on this chip; NULL if the chip has none, and the column is then NULL."),
        C("unit", string, "", "Unit of the values: %, bytes, ns, Hz, 1 (a count)."),
        C("description", string, "", "What is measured, in a sentence."),
        C("aggregation", string, "", "How samples are put together: mean (the value held throughout the sample: percentages, rates; weight it by time) or sum (what was counted during the sample)."),
        C("peak", f64, "", "The most that the GPU can do, in units a second; NULL if it is not known."),
        C("interval_ns", i64, "", "Time between two samples that was asked for.", unit="ns"),
    ),
    key=("device_uuid", "metric"),
    is_lasting=True,
)
LAUNCH_STACK = Table(
    "launch_stack",
    "One row per driver call whose Python stack was asked for with --python-stacks.",
    (
        PROCESS_ID,
        C("correlation_id", i64, "", "The call, and the work that it asked for.", joins="api_call.correlation_id"),
        C("stack_id", i64, "", "The stack of the calling thread; NULL if it has none, or none that could be read.", joins="python_stack.stack_id"),
        C("state", string, "", "whole, cut (only the innermost frames are kept), no_frames (a thread of Python that runs none of it, as autograd's do), no_python (another thread), unreadable, or no_room."),
    ),
)
PYTHON_STACK = Table(
    "python_stack",
    "One row per frame of each stack in launch_stack.",
    (
        PROCESS_ID,
        C("stack_id", i64, "", "The stack, by what it consists of."),
        C("depth", i32, "", "0 for the innermost frame, which made the call; its caller is 1."),
        C("function", string, "", "The function's qualified name."),
        C("file", string, "", "The file of its code, as Python has it."),
        C("line", i32, "", "The line that was being executed; NULL if the code does not say."),
        C("first_line", i32, "", "The first line of the function."),
    ),
    key=("process_id", "stack_id", "depth"),
    is_lasting=True,
)
CALLBACK_EVENT = Table(
    "callback_event",
    "One row per API call, or other callback of CUPTI's, that was asked for with --callbacks.",
    (
        PROCESS_ID,
        C("domain", string, "", "driver, runtime, resource, synchronize, nvtx or state."),
        C("function", string, "", "The function that was called, or what happened (CONTEXT_CREATED)."),
        C("start_ns", timestamp, "", "When the call was entered, or it happened; NULL for a call that began before callbacks were switched on.", unit="ns"),
        C("end_ns", timestamp, "", "When the call returned; NULL for what is no call.", unit="ns"),
        C("thread_id", i32, "", "The thread that called, by its number in the system."),
        C("context_id", i32, "", "CUPTI's number of the thread's context; NULL without one.", joins="context.context_id"),
        C("correlation_id", i64, "", "The call, and the work that it asked for; NULL for what is no call.", joins="api_call.correlation_id"),
        C("result", i32, "", "What the call returned (0: success), or the code of a state."),
        C("symbol", string, "", "Mangled name of the kernel that is launched.", joins="kernel_name.mangled"),
        C("message", string, "", "Message of a mark or range of NVTX, or of a state."),
        C("stream", i64, "", "Handle of the stream, as the program has it; 0 for the default stream, NULL where the call takes none."),
        C("grid_x", i32, "", "Blocks in the grid, x.", unit="blocks"),
        C("grid_y", i32, "", "Blocks in the grid, y.", unit="blocks"),
        C("grid_z", i32, "", "Blocks in the grid, z.", unit="blocks"),
        C("block_x", i32, "", "Threads in a block, x.", unit="threads"),
        C("block_y", i32, "", "Threads in a block, y.", unit="threads"),
        C("block_z", i32, "", "Threads in a block, z.", unit="threads"),
        C("dynamic_shared_bytes", i64, "", "Shared memory that the launch asks for, per block.", unit="bytes"),
        C("bytes", i64, "", "Bytes that a copy, set or allocation is about, or of a module's code.", unit="bytes"),
        C("copy_kind", string, "", "Direction of a copy as the call says it, such as HtoD; default where it leaves it to the addresses."),
        C("src_address", i64, "", "Where a copy reads."),
        C("dst_address", i64, "", "Memory that is written, set or freed."),
        C("value", i64, "", "What memory is set to."),
        C("object", i64, "", "What a resource is: a module's number, or the handle of a context, stream, graph or node."),
    ),
    sort=("start_ns",),
)
GRAPH_NODE = Table(
    "graph_node",
    "One row per node of a CUDA graph that was captured, added, cloned, instantiated or updated, with --python-stacks.",
    (
        PROCESS_ID,
        C("graph_node_id", i64, "", "The node, as CUPTI numbers it.", joins="kernel.graph_node_id"),
        C("source_graph_node_id", i64, "", "The node of which it was made, as those of an executable graph are, or from which it was updated; NULL of one that was captured or added.", joins="graph_node.graph_node_id"),
        C("kind", string, "", "kernel, memcpy, memset, host, graph, empty, event_wait, event_record, semaphore_signal, semaphore_wait, mem_alloc, mem_free, batch_mem_op or conditional; NULL of another."),
        C("at_ns", timestamp, "", "When it was made, or updated.", unit="ns"),
        C("thread_id", i32, "", "The thread that did it."),
        C("stack_id", i64, "", "The stack that it was captured or added from; NULL if there is none, or none that could be read.", joins="python_stack.stack_id"),
        C("state", string, "", "Of this stack, as in launch_stack; NULL of a node that was made of another."),
    ),
    sort=("at_ns",),
    is_lasting=True,
)
# Those that the decoder fills, as it does those of CUPTI's records.
DECODED = (LAUNCH_STACK, PYTHON_STACK, CALLBACK_EVENT, GRAPH_NODE, PC_SAMPLE, PC_WINDOW, CUBIN, SASS_METRIC, LAUNCH_METRIC, ARGUMENT, NCCL_EVENT)

OWN = (
    CAPTURE,
    PROCESS,
    ROW_COUNT,
    CAPTURE_WINDOW,
    KERNEL_NAME,
    CLOCK,
    LOSS,
    IMPORT_SKIPPED,
    DISCARDED,
    FLIGHT_TRIGGER,
    PM_SAMPLE,
    PM_METRIC,
    *DECODED,
)
