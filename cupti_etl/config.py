"""Settings of a capture, and the one list of environment variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# What tells a process its place among others, the first that is a number: torchrun and its like,
# Open MPI, PMIx, MPICH and Intel MPI.  Slurm's come last and only in a step of several tasks, as
# what a single task starts inherits them, too.
LAUNCHERS = {
    "RANK": ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"),
    "LOCAL_RANK": (
        "LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "MPI_LOCALRANKID",
        "SLURM_LOCALID",
    ),
    "WORLD_SIZE": ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"),
}
# What the launcher sets for the traced process and the injector reads.  The C side
# takes these names from native/generated/env.h, which is made from this list.
ENVIRONMENT = {
    "SOCKET": (
        "CUPTI_ETL_SOCKET",
        "path of the collector's socket; without it the injector does nothing",
    ),
    "WAKEUP": (
        "CUPTI_ETL_WAKEUP",
        "path of the page by which the collector and traced processes wake each other",
    ),
    "UID": ("CUPTI_ETL_UID", "user of the collector, to whom alone memory is handed"),
    "KINDS": ("CUPTI_ETL_KINDS", "tables to record, comma-separated"),
    "API": ("CUPTI_ETL_API", "which API calls to record: all, default, launch or none"),
    "GRAPH": ("CUPTI_ETL_GRAPH", "how to record CUDA graphs: node or graph"),
    "SERIALIZED": (
        "CUPTI_ETL_SERIALIZED",
        "1: record kernels by the kind of record for which they run one at a time",
    ),
    "RECORDS": ("CUPTI_ETL_RECORDS", "form of CUPTI's records: auto, fixed or selected"),
    "ON_CONFLICT": (
        "CUPTI_ETL_ON_CONFLICT",
        "what to do about another CUPTI client: yield, keep or fail",
    ),
    "RANGE": (
        "CUPTI_ETL_RANGE",
        "record only inside a range: cudaProfilerApi or nvtx:NAME[@DOMAIN]",
    ),
    "ORDERS": (
        "CUPTI_ETL_ORDERS",
        "1: the collector's orders are carried out where the program has waited for the GPU",
    ),
    "PYTHON_STACKS": (
        "CUPTI_ETL_PYTHON_STACKS",
        "of which calls to keep the Python stack: launches, copies or all",
    ),
    "CALLBACKS": (
        "CUPTI_ETL_CALLBACKS",
        "callbacks to keep, as DOMAIN:NAME, comma-separated, the domain as CUPTI numbers it",
    ),
    "PC_SAMPLING": (
        "CUPTI_ETL_PC_SAMPLING",
        "how to sample PCs: logarithm of the period, whether serialized, by launches and with"
        " cubins, and the duty cycle in ns, colon-separated",
    ),
    "RANGE_METRICS": (
        "CUPTI_ETL_RANGE_METRICS",
        "what to measure of single launches: how many of a kernel and shape, cache control and"
        " metrics, colon-separated",
    ),
    "REPLAY_RUN": (
        "CUPTI_ETL_REPLAY_RUN",
        "which run of the command this is, from 1, with --range-replay application",
    ),
    "RANGE_FILTER": (
        "CUPTI_ETL_RANGE_FILTER",
        "extended regular expression of the mangled names of the kernels to measure",
    ),
    "SASS_METRICS": (
        "CUPTI_ETL_SASS_METRICS",
        "metrics that instructions count, comma-separated",
    ),
    "SASS_FILTER": (
        "CUPTI_ETL_SASS_FILTER",
        "extended regular expression of the mangled names of the functions to keep counts of",
    ),
    "PYTORCH": (
        "CUPTI_ETL_PYTORCH",
        "what of PyTorch to record as ranges, comma-separated: ops, modules, shapes",
    ),
    "NCCL": ("CUPTI_ETL_NCCL", "what of NCCL to record: events, or channels with their times, too"),
    "FLUSH_MS": ("CUPTI_ETL_FLUSH_MS", "interval of cuptiActivityFlushAll in ms"),
    "RING_MB": ("CUPTI_ETL_RING_MB", "upper limit of the shared memory of a process in MiB"),
    "CUPTI": ("CUPTI_ETL_CUPTI", "libcupti to use, as given with --cupti"),
    "CUPTI_SEARCH": ("CUPTI_ETL_CUPTI_SEARCH", "further libcupti to try, colon-separated"),
    "NO_ARGV": ("CUPTI_ETL_NO_ARGV", "if set, command lines are not recorded"),
}
# Set by the user, not by the launcher.
USER_ENVIRONMENT = {
    "CUPTI_ETL_NO_NATIVE": "if set to 1 when installing, the native libraries are left out",
}
CUDA_INJECTION = "CUDA_INJECTION64_PATH"
NVTX_INJECTION = "NVTX_INJECTION64_PATH"
NCCL_PLUGIN = "NCCL_PROFILER_PLUGIN"

API_LEVELS = ("all", "default", "launch", "none")
GRAPH_LEVELS = ("node", "graph")
CONFLICT_POLICIES = ("yield", "keep", "fail")
NCCL_LEVELS = ("events", "channels", "none")
PYTORCH_PARTS = ("ops", "modules", "shapes")
RECORD_FORMS = ("auto", "fixed", "selected")
PC_SAMPLING_MODES = ("continuous", "serialized")
# What becomes of caches before each execution of a kernel, as CUPTI numbers it.
RANGE_CACHE_CONTROLS = ("none", "flush")


@dataclass(frozen=True)
class PmOptions:
    """What to sample of the GPUs' hardware counters.

    Attributes:
        metrics: presets, aliases and metrics by their own names, comma-separated.
        interval_ns: time between two samples.
        devices: ``all``, or CUDA's numbers or UUIDs of GPUs, comma-separated.
        is_required: whether the capture fails where they cannot be sampled.
        is_draining_only: take samples from the hardware, and evaluate none; to measure cost.
    """

    metrics: str = "overview"
    interval_ns: int = 100_000
    devices: str = "all"
    is_required: bool = False
    is_draining_only: bool = False


@dataclass(frozen=True)
class PcSamplingOptions:
    """How CUPTI samples where the warps of the GPUs are.

    Attributes:
        period: 2 to the power of this many cycles from one sample to the next.
        mode: one of ``PC_SAMPLING_MODES``.
        on_ns: how long to sample in each cycle.
        cycle_ns: length of a cycle; 0: sample all the time.
        cubins: whether the code is kept, without which there are no source lines.
    """

    period: int = 18
    mode: str = "continuous"
    on_ns: int = 0
    cycle_ns: int = 0
    cubins: bool = True


@dataclass(frozen=True)
class FlightOptions:
    """What a flight recorder keeps, and when it writes.

    Attributes:
        before_ns: how long rows are kept in memory, in ns.
        after_ns: how long a trace goes on after the trigger that began it, in ns.
        most_bytes: what rows may hold of memory.
        triggers: as ``--trigger`` has them.
    """

    before_ns: int
    after_ns: int
    most_bytes: int
    triggers: tuple[str, ...]


@dataclass(frozen=True)
class Retain:
    """What of a trace is kept.

    Attributes:
        age_ns: rows of this age; 0 for any.
        most_bytes: of all parts; 0 for any number.
    """

    age_ns: int = 0
    most_bytes: int = 0


@dataclass(frozen=True)
class BudgetOptions:
    """How much recording may slow the program down.

    Attributes:
        share: of its time: 0.01 is one percent.
        window_ns: how long it is recorded at a time on average, in ns.
    """

    share: float
    window_ns: int


@dataclass(frozen=True)
class RangeOptions:
    """Which launches CUPTI's range profiler measures, by replaying them.

    Attributes:
        metrics: names, as CUPTI has them.
        filter: extended regular expression of mangled names of kernels; empty for all.
        limit: launches of a kernel with a shape; 0 for all.
        cache_control: one of ``RANGE_CACHE_CONTROLS``.
        by: ``kernel``, or ``range`` for what is open with ``capture_range`` as a whole.
        replay: ``kernel``, or ``application``: the command is run once for each group of metrics.
    """

    metrics: tuple[str, ...]
    filter: str = ""
    limit: int = 0
    cache_control: str = "flush"
    by: str = "kernel"
    replay: str = "kernel"


@dataclass(frozen=True)
class SassOptions:
    """What instructions are to count.

    Attributes:
        metrics: names, as CUPTI has them.
        filter: extended regular expression of mangled names of functions; empty for all.
    """

    metrics: tuple[str, ...]
    filter: str = ""


@dataclass(frozen=True)
class CaptureOptions:
    """How to capture.

    Attributes:
        out: folder, or file, that the trace is written to; must not be there yet.
        table: the one table that is written, as a stream; empty for a whole trace.
        kinds: tables to record; empty means the default preset.
        api: which API calls to record, one of ``API_LEVELS``.
        graph: whether CUDA graphs are recorded by node or as a whole, one of ``GRAPH_LEVELS``.
        records: form of CUPTI's records, one of ``RECORD_FORMS``.
        on_conflict: what to do about another CUPTI client, one of ``CONFLICT_POLICIES``.
        flush_ms: how often the target flushes CUPTI; bounds what a killed target loses.
        buffer_mb: upper limit of shared memory per traced process, in MiB.
        cupti: libcupti to use where the process has none loaded.
        save_raw: also write the raw buffers to this file, for ``import``.
        linger_ns: how long processes that outlive the command are followed; None is until
            they end.
        argv: whether command lines are stored.
        quiet: no line that says how it goes, and no summary.
        spool: where the folder is made from which a trace is uploaded; None for where temporary
            files are.
        spool_bytes: the largest size of that folder.
        delay_ns: record only after so many ns.
        duration_ns: record so long; 0 means to the end.
        python_stacks: of which calls the Python stack is kept, one of ``api_levels.STACKS``; empty
            for none.
        callbacks: which callbacks are kept, names by domain (see ``schema/callbacks.py``).
        pc_sampling: how to sample PCs; None for not at all.
        sass_metrics: what instructions count; None for nothing.
        range_metrics: what to measure by replaying kernels; None for nothing.
        pytorch: what of PyTorch is recorded as ranges, of ``PYTORCH_PARTS``.
        nccl: what of NCCL is recorded, one of ``NCCL_LEVELS``.
        capture_range: record only inside ranges: ``cudaProfilerApi`` or ``nvtx:NAME[@DOMAIN]``.
        budget: record for parts of the time; None for all of it.
        max_rows: stop recording at about so many rows; 0 means never.
        max_bytes: stop recording when the trace has about so many bytes; 0 means never.
        roll_ns: how long rows wait, at most, until they can be read.
        fsync: whether parts are brought to the disk before they are named.
        trace_duckdb: whether the file for DuckDB's own shell is made.
        pm: which hardware counters to sample; None for none.
        allow_uids: other users whose processes are traced too, by number.
        flight: keep the last rows in memory and write when something happens; None for a trace
            of the whole run.
        retain: what of the trace is kept; None for all of it.
        tags: what tells this run from others, by name.
        inside: the descriptor of a socket to the program that asked for the capture from inside;
            None if there is a command to start.
    """

    out: Path
    kinds: tuple[str, ...] = ()
    api: str = "default"
    graph: str = "node"
    records: str = "auto"
    on_conflict: str = "yield"
    flush_ms: int = 100
    buffer_mb: int = 256
    cupti: Path | None = None
    save_raw: Path | None = None
    linger_ns: int | None = None
    argv: bool = True
    quiet: bool = False
    spool: Path | None = None
    spool_bytes: int = 4 << 30
    overwrite: bool = False
    delay_ns: int = 0
    duration_ns: int = 0
    python_stacks: str = ""
    callbacks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pytorch: tuple[str, ...] = ()
    pc_sampling: PcSamplingOptions | None = None
    sass_metrics: SassOptions | None = None
    range_metrics: RangeOptions | None = None
    nccl: str = "events"
    capture_range: str = ""
    budget: BudgetOptions | None = None
    max_rows: int = 0
    max_bytes: int = 0
    table: str = ""
    roll_ns: int = 60 * 10**9
    fsync: bool = True
    trace_duckdb: bool = True
    pm: PmOptions | None = None
    allow_uids: tuple[int, ...] = ()
    flight: FlightOptions | None = None
    retain: Retain | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    inside: int | None = None
