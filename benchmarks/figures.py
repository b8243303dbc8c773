"""What the page of the benchmarks says of each: its title, its figures and their bounds."""

from __future__ import annotations

from benchmarks import bucket
from benchmarks.exports import FORMS

# Seconds and MiB that a query of the library may take, by name of the measurement.
QUERIES = {
    "queries-1m": (1, 1024),
    "queries": (2, 1024),
    "queries-16-cores": (2, 1024),
    "queries-100m": (20, 4096),
    "queries-pytorch": (2, 1024),
}
# Of a query's figures: the end of their key, and what they are.
CALLS = {
    "_first_s": "first",
    "_first_cpu_s": "s of CPU",
    "_s": "again",
    "_reopened_s": "opened again",
    "_peak_mib": "MiB",
}

# The traces of "cold", and its figures of each.
COLD = {
    "made": "a made trace, 300,000 events",
    "kineto_h100_with_stack": "an H100, 2,500 events",
    "kineto_a100": "an A100, 109,000 events",
    "kineto_rank0_sampled": "one of two ranks, 4,900 events",
}
COLD_FIGURES = (
    ("ours_s", "{}: import and seven answers, s", ""),
    ("ours_cpu_s", "s of CPU", ""),
    ("one_s", "in one process, s", ""),
    ("one_cpu_s", "s of CPU", ""),
    ("hta_s", "HTA loading it, s", ""),
    ("hta_cpu_s", "s of CPU", ""),
    ("hta_over_ours", "times as fast, by CPU", ">= 3"),
    ("hta_over_one", "in one process", ""),
)

# Figure, what it is, its bound ("<=" or ">=") if it has one.
FIGURES: dict[str, list[tuple[str, str, str]]] = {
    "bucket": [(f"{name}_mib", sql, "") for name, sql in bucket.ASKED.items()],
    "callbacks": [
        ("plain_ns_per_launch", "a launch of the fake driver from Python, ns of CPU", ""),
        ("batches_ns_per_callback", "more for each of its two callbacks, in batches", ""),
        ("batches_over_plain", "that launch over a plain one", ""),
        ("inline_ns_per_callback", "in line, with a function that does nothing", ""),
        ("inline_over_plain", "that launch over a plain one", ""),
        ("reading_ns_per_callback", "with one that reads two attributes", ""),
        ("reading_over_plain", "that launch over a plain one", ""),
    ],
    "cold": [
        ("bare_cpu_s", "eight processes that only import DuckDB and pyarrow, s of CPU", ""),
        *(
            (f"{name}_{figure}", what.format(trace), bound)
            for name, trace in COLD.items()
            for figure, what, bound in COLD_FIGURES
        ),
    ],
    "decode": [
        ("ns_per_record", "ns to decode a kernel record (216 bytes, all columns)", "<= 35"),
        ("ratio", "kernel records: bytes a second over those of memcpy", ">= 0.45"),
        ("ratio_mixed", "kinds as recorded on an H200: the same", ">= 0.35"),
        ("memcpy_gb_per_s", "memcpy in the same run, GB/s", ""),
    ],
    "drain": [
        ("records_per_s", "records a second into Parquet, kernels and calls 1:1", ">= 4000000"),
        ("lost", "of them lost", "<= 0"),
        ("seconds", "for so many seconds", ""),
        ("peak_anon_mb", "the collector's own memory at its peak, MiB", "<= 250"),
        ("anon_mb_early", "at its most after a sixth of the time, MiB", ""),
        ("anon_mb_late", "at its most in the last sixth, MiB", ""),
        ("collector_cpu_s_per_million", "seconds of CPU per million records", ""),
    ],
    "exports": [
        ("rows", "kernels, and as many calls and stacks", ""),
        *(
            (f"{form}_{key}", f"{form}: {what}", bound)
            for form in FORMS
            for key, what, bound in (
                ("cpu_s", "s of CPU", ""),
                ("peak_mib", "memory at its peak, MiB", "<= 950"),
                ("mb", "size of the file, MB", ""),
            )
        ),
    ],
    "fleet": [
        ("ranks", "ranks", ""),
        ("ask_growth", "CPU a rank, over that with the fewest ranks", "<= 1.25"),
        ("worker_peak_mib", "memory of a worker at its peak, MiB", "<= 2048"),
        ("driver_peak_mib", "memory of the driver at its peak, MiB", ""),
    ],
    "imports": [
        ("kineto_ours_1_core_events_per_s", "JSON of PyTorch, events a second, one core", ""),
        ("kineto_hta_1_core_events_per_s", "HolisticTraceAnalysis loading the same", ""),
        ("kineto_ours_over_hta", "times as fast", ">= 5"),
        ("kineto_orjson_1_core_events_per_s", "orjson.loads alone", ""),
        ("kineto_ours_2_cores_events_per_s", "ours, two cores", ""),
        ("nsys_ours_1_core_rows_per_s", "SQLite of nsys, rows a second, one core", ">= 1000000"),
        ("nsys_sqlite3_to_arrow_1_core_rows_per_s", "Python's sqlite3 to Arrow alone", ""),
        ("nsys_ours_2_cores_rows_per_s", "ours, two cores", ""),
        ("kineto_ours_1_core_peak_mb", "memory at its peak, JSON, MiB", ""),
        ("nsys_ours_1_core_peak_mb", "memory at its peak, SQLite, MiB", ""),
    ],
    "lag": [
        ("100_launches_per_s_p50_ms", "100 launches a second: median, ms", ""),
        ("100_launches_per_s_p99_ms", "100 launches a second: 99 of 100 rows, ms", ""),
        ("full_speed_p50_ms", "full speed: median, ms", ""),
        ("full_speed_p99_ms", "full speed: 99 of 100 rows, ms", ""),
    ],
    "peers": [
        ("nsys_kernels", "kernels of an nsys export", ""),
        ("summary_s", "kernel_summary, s", ""),
        ("sqlite_summary_s", "the same in plain SQLite, s", ""),
        ("nsys_ai_summary_cpu_s", "nsys-ai's top_kernels, s of CPU with its start", ""),
        ("idle_s", "busy_breakdown, s", ""),
        ("sqlite_idle_s", "its idle time alone in plain SQLite, s", ""),
        ("nsys_ai_idle_cpu_s", "nsys-ai's overlap_breakdown, s of CPU with its start", ""),
        ("idle_ms", "idle time by busy_breakdown and SQLite, ms", ""),
        ("nsys_ai_idle_ms", "by nsys-ai, ms", ""),
        ("kineto_kernels", "kernels of a JSON trace", ""),
        ("kineto_summary_s", "kernel_summary, s", ""),
        ("hta_summary_s", "HTA's get_gpu_kernel_breakdown, s", ""),
        ("kineto_idle_s", "busy_breakdown, s", ""),
        ("hta_idle_s", "HTA's get_temporal_breakdown, s", ""),
        ("kineto_kernel_ms", "kernel time, ms", ""),
        ("hta_kernel_ms", "by HTA, which rounds to whole µs, ms", ""),
        ("kineto_idle_ms", "idle time, ms", ""),
        ("hta_idle_ms", "by HTA, ms", ""),
    ],
    "query": [
        ("rows", "kernels", ""),
        ("kernel_summary_parquet_s", "kernel_summary from Parquet, s", "<= 0.6"),
        ("kernel_summary_duckdb_s", "kernel_summary from one .duckdb file, s", "<= 0.4"),
        ("kernel_summary_duckdb_s_p95", "the same, 95th percentile", ""),
        ("kernel_summary_duckdb_s_deviation", "the same, standard deviation", ""),
        ("gpu_busy_s", "gpu_busy from Parquet, s", "<= 1.5"),
    ],
    # The bounds are for ten times as many.
    "query-1m": [
        ("rows", "kernels", ""),
        ("kernel_summary_parquet_s", "kernel_summary from Parquet, s", ""),
        ("kernel_summary_duckdb_s", "kernel_summary from one .duckdb file, s", ""),
        ("gpu_busy_s", "gpu_busy from Parquet, s", ""),
    ],
    "query-100m": [
        ("rows", "kernels", ""),
        ("kernel_summary_parquet_s", "kernel_summary from Parquet, s", "<= 8"),
        ("kernel_summary_duckdb_s", "kernel_summary from one .duckdb file, s", "<= 8"),
        ("gpu_busy_s", "gpu_busy from Parquet, s", "<= 8"),
    ],
    "size": [
        ("kernel_bytes_per_row", "kernel, recording of an H200, bytes a row", "<= 8"),
        ("api_call_bytes_per_row", "api_call, the same, bytes a row", "<= 5"),
        ("kernel_rows", "rows of kernel there", ""),
        ("thin_kernel_bytes_per_row", "kernel, 100 launches a second for an hour", ""),
        ("thin_api_call_bytes_per_row", "api_call, the same", ""),
    ],
    "stalled": [
        (
            "stalled_over_drained",
            "a launch while the collector stands still, over one while it works",
            "<= 1.05",
        ),
        ("lowest_ratio", "the lowest of all rounds", ""),
        ("highest_ratio", "the highest", ""),
        ("drained_ns_per_launch", "ns a launch on the fake driver, drained", ""),
        ("stalled_ns_per_launch", "the same, stalled", ""),
        ("lost_share", "share of the records that found no room, and were counted", ""),
    ],
    "ranges": [
        ("idle_with_range_ns", 'nothing records: `with cupti_etl.range("forward")`, ns', "<= 100"),
        ("idle_with_made_ns", "`with` a range that was made before", ""),
        ("idle_decorator_ns", "a decorated call, over a plain one", ""),
        ("idle_empty_with_ns", "an empty context manager of Python", ""),
        ("recorded_with_range_ns", 'recorded: `with cupti_etl.range("forward")`, ns', "<= 1000"),
        ("recorded_with_attribute_ns", "with an attribute", ""),
        ("recorded_decorator_ns", "a decorated call, over a plain one", ""),
        ("recorded_lost", "ranges that were lost", "<= 0"),
    ],
    "startup": [
        ("help_ms", "cupti-etl --help, ms", "<= 150"),
        ("capture_true_ms", "what capturing /bin/true adds, ms", "<= 300"),
        ("python_alone_ms", "python -c pass, ms", ""),
    ],
    "top": [
        ("kernels_before", "kernels before", ""),
        ("kernels_a_refresh", "new kernels, and as many calls", ""),
        ("refresh_cpu_s", "to read them, s of CPU", "<= 0.3"),
        ("nothing_new_cpu_s", "where nothing is new, s of CPU", "<= 0.01"),
        ("first_cpu_s", "the first reading, s of CPU", ""),
    ],
}
FIGURES["flight"] = [
    ("records_per_s", "records a second, kernels and calls 1:1", ""),
    ("span_s", "seconds that are kept", ""),
    ("ring_peak_mib", "MiB of rows in memory, at most", ""),
    ("ring_bytes_per_row", "bytes a row in memory", ""),
    ("trigger_to_whole_s", "seconds from the signal until the trace is whole", ""),
    ("trace_mb", "MB of the trace", ""),
    ("collector_memory_mib_first", "MiB of memory when the ring is full", ""),
    ("collector_memory_mib_most", "MiB of memory at most", ""),
    ("collector_cpu_s_per_million", "seconds of CPU per million records", ""),
]
FIGURES["retention"] = [
    ("simulated_hours", "hours of the simulated run", ""),
    ("kernels", "kernels in it, each with its call", ""),
    ("rows_per_s", "rows a second that were written", ""),
    ("disk_mb_most", "MB on the disk, at most", ""),
    ("disk_mb_last", "MB in the end", ""),
    ("parts_most", "parts, at most", ""),
    ("memory_mib_median_first_half", "MiB of memory, median of the first half of the run", ""),
    ("memory_mib_median_last_half", "MiB of memory, median of the last half", ""),
    ("ask_s_most", "seconds to open it and count the kernels, at most", ""),
]
FIGURES["top-1m"] = FIGURES["top"]


# What a disk costs, at a rate that the machine takes in.
_DISK = [
    ("records_per_s", "records a second into Parquet, kernels and calls 1:1", ""),
    ("lost", "of them lost", "<= 0"),
    ("seconds_to_finish", "seconds from the last record to the end of the capture", ""),
    ("collector_cpu_s_per_million", "seconds of CPU per million records", ""),
]
FIGURES |= dict.fromkeys(("drain-no-fsync", "drain-fsync", "drain-fsync-200ms"), _DISK)

TITLES = {
    "fleet": "`kernel_summary` and `gpu_busy` of many ranks, by workers: the kernels of a rank are "
    "made on the worker that is asked about them. See [several workers](howto/engines.md).",
    "bucket": "A trace in a bucket, opened and asked: what is read of it for a question. The "
    "server is moto's, on the same machine. See [many hosts](howto/many-hosts.md).",
    "callbacks": "CUPTI's callbacks of a launch, handed to a Python function by "
    "`cupti_etl.callbacks()`, beside the same launches without; CPU of the thread that launches.",
    "cold": "An import and seven answers, each a process of its own, and all in one, beside "
    "HolisticTraceAnalysis loading the same trace, which then could be asked.",
    "decode": "Raw records in cold memory to Arrow columns, on one core.",
    "flight": "`capture --flight-recorder` of a program of an even pace; one signal.",
    "retention": "A simulated run with a roll for each minute, of which `--retain` keeps the "
    "newest; opened and asked every six hours, when what is there and what is in `discarded` make "
    "all.",
    "drain": "A generator in another process fills a real segment (`benchmarks/generator.c`: the "
    "fake CUPTI would be the bottleneck); `cupti-etl capture` drains, encodes and writes.",
    "exports": "Each export of a made trace, in a process of its own: ten million kernels with "
    "their calls and Python stacks, and half a million copies. Each computes what it needs of what "
    "queries share (ranges, stacks), which `cupti-etl index` computes before.",
    "imports": "Traces of other tools into a finished folder, Parquet and `trace.duckdb` "
    "included; the peers only load or read.",
    "lag": "From the end of a kernel to its row being readable in the folder.",
    "operators": "What native operators compute, with what they read computed before, beside the "
    "SQL of the same queries, which defines them.",
    "peers": "The same questions about the same made traces: ours of an imported trace just "
    "opened, the others of what they read or have loaded. Differences between answers on real "
    "traces stand in [Compared with HTA](design/compared-with-hta.md).",
    "query": "Synthetic kernels of two processes and two GPUs; warm file cache.",
    "queries": "The library on synthetic kernels with their calls, copies and waits, in seconds. "
    "First is in a trace of which nothing was asked before; what it had to make is kept, while the "
    "trace is open (again) and in its folder (opened again, by whatever process).",
    "queries-pytorch": "The same of a trace of torch.profiler with stacks: 20 ranges around each "
    "launch, one in the other, of which 4 are operators and the others functions of Python.",
    "size": "On disk, footers included; what columns mean stands once, in `schema.json`.",
    "stalled": "The collector is stopped by SIGSTOP and the ring of 32 MiB fills up; the program "
    "then copies nothing any more.",
    "ranges": "CPU time of `cupti_etl.range` with the tests' fake CUPTI; beside it NVTX's "
    "`annotate`, where its wheel is installed.",
    "startup": "Before anything is captured.",
    "top": "Synthetic kernels with their calls and copies; parts are read as they come.",
}


WHAT = {
    "launch_loop": ("A loop that does nothing but launch", "ns a launch"),
    "train": ("PyTorch, eager training", "ms a step"),
    "train-small": ("PyTorch, eager training in many small kernels", "ms a step"),
    "small": ("PyTorch, one small addition after the other", "µs a call"),
}
