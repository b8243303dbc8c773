"""What a process's tables do not hold, by cause.

Where a process ended in order, ``emitted = stored + sum(records not stored)`` exactly.
"""

from __future__ import annotations

from collections.abc import Iterator

from cupti_etl.capture.obstacles import LEFT_OUT, pc_obstacle, range_obstacle, sass_obstacle
from cupti_etl.capture.segment import NOT_FLUSHED, NOT_TRACED, Process, ProcessInfo
from cupti_etl.native.loader import load
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.loss import Loss
from cupti_etl.units import counted

# Tables of what the injector tells of itself: its name in the counters, and in words.
_TOLD = {
    "callback_event": ("callbacks", "callbacks"),
    "graph_node": ("graph_nodes", "nodes of CUDA graphs"),
    "nccl_event": ("nccl_events", "events of NCCL"),
    # Its rows, and those of pc_window, cubin and sass_metric.
    "pc_sample": ("pc_rows", "PC sampling or SASS metrics"),
    "launch_metric": ("range_rows", "the range profiler"),
}
_FULL = "no buffer was free: the collector could not keep up; a larger --buffer-mb helps"


def _lacking(process_id: int, cause: str, table: str, rows: int, detail: str) -> Loss:
    """Rows that are stored and lack something."""
    return Loss(process_id, cause, table, rows, is_stored=True, detail=detail)


def _throughout(
    info: ProcessInfo, end_ns: int | None, cause: str, table: str | None, detail: str
) -> Loss:
    """What is missing of all the time of a process, nobody knows how much."""
    return Loss(info.process_id, cause, table, start_ns=info.start_ns, end_ns=end_ns, detail=detail)


def _table_of(kind: int) -> str | None:
    _, lib = load()
    table = lib.etl_table_of_kind(kind)
    return KINDS[table].table if table >= 0 else None


def _wrong_times(process: Process, info: ProcessInfo) -> Iterator[Loss]:
    """Rows that are stored without a time, as CUPTI gave none, or none of our clock, or with an end
    of ours."""
    for table, kind in enumerate(KINDS):
        if other := process.other_clock(table):
            detail = (
                "another CUPTI client (such as torch.profiler) had given CUPTI a clock of its own; "
                "its times, which are years before the process began, are NULL"
            )
            yield _lacking(info.process_id, "other_clock", kind.table, other, detail)
        if early := process.early_ends(table):
            detail = (
                "these rows were to end before they began, as where the clock is set back:"
                " they end at their start"
            )
            yield _lacking(info.process_id, "other_clock", kind.table, early, detail)
        names = [column.name for column in kind.as_table().columns]
        if "start_ns" not in names or "end_ns" not in names:
            continue
        no_start = process.nulls(table, names.index("start_ns"))
        no_end = process.nulls(table, names.index("end_ns"))
        if kind.table == "kernel":
            # CUPTI 13.0 gives no times for kernels that were replayed; see _lost_launches().
            replayed = min(no_start, info.range_launches)
            no_start, no_end = no_start - replayed, no_end - replayed
        if no_start:
            detail = (
                "CUPTI gave no timestamps for these rows: the calls that asked for them failed"
                " (see api_summary), its device buffers were exhausted, or the program ended"
                " or the GPU failed before they did"
            )
            yield _lacking(info.process_id, "zero_timestamp", kind.table, no_start, detail)
        if no_end > no_start:
            detail = "still running when CUPTI was flushed for the last time"
            unended = no_end - no_start
            yield _lacking(info.process_id, "incomplete", kind.table, unended, detail)


def _cut_texts(process: Process, process_id: int) -> Iterator[Loss]:
    """Rows that are stored without a text, because the process had too many of them."""
    detail = (
        "texts of these rows found no room: a process may use 64 MiB or a million of them at a "
        f"time, and {process.decoded().cut_strings} were more"
    )
    for table, kind in enumerate(KINDS):
        if rows := process.cut(table):
            yield _lacking(process_id, "text_limit", kind.table, rows, detail)


def _lost_stacks(process: Process, info: ProcessInfo, is_over: bool) -> Iterator[Loss]:
    """Calls whose stack was to be kept and that are not in ``launch_stack``, and the like."""
    me, decoded = info.process_id, process.decoded()
    if info.stacks_lost:
        yield Loss(me, "ring_full", "launch_stack", info.stacks_lost, detail=_FULL)
    missing = info.stacks - info.stacks_lost - decoded.stacks
    if is_over and missing > 0:
        detail = "calls of the last moments before the process ended"
        yield Loss(me, "killed", "launch_stack", missing, detail=detail)
    if decoded.cut_stacks:
        detail = "a process may have a million stacks, of 256 MiB of code; more are not described"
        yield _lacking(me, "text_limit", "python_stack", decoded.cut_stacks, detail)
    if decoded.damaged_stacks:
        detail = "what the process wrote of its stacks cannot be read"
        yield _lacking(me, "unreadable", "python_stack", decoded.damaged_stacks, detail)


def _lost_rows(process: Process, info: ProcessInfo, is_over: bool, table: str) -> Iterator[Loss]:
    """What the injector told of and is not in a table of ``_TOLD``."""
    me, decoded = info.process_id, process.decoded()
    name, what = _TOLD[table]
    made, lost = getattr(info, name), getattr(info, f"{name}_lost")
    damaged = getattr(decoded, f"damaged_{name}")
    if lost:
        yield Loss(me, "ring_full", table, lost, detail=_FULL)
    if damaged:
        detail = f"what the process wrote of its {what} cannot be read"
        yield Loss(me, "unreadable", table, damaged, detail=detail)
    known = lost + damaged + getattr(decoded, name)
    if is_over and made > known:
        detail = f"{what} of the last moments before the process ended"
        yield Loss(me, "killed", table, made - known, detail=detail)


def _lost_samples(info: ProcessInfo, end_ns: int | None) -> Iterator[Loss]:
    """Samples of PCs that are in no row, and why there are none."""
    me = info.process_id
    if info.pc_dropped:
        detail = (
            "the hardware dropped these samples, or found no room for them at the end; "
            "a longer --pc-sampling period helps"
        )
        yield Loss(me, "pc_dropped", "pc_sample", info.pc_dropped, detail=detail)
    if info.pc_full:
        detail = (
            f"the hardware's buffer was full {counted(info.pc_full, 'time')}, and what it held is"
            " not known; a longer --pc-sampling period helps"
        )
        yield _throughout(info, end_ns, "pc_buffer_full", "pc_sample", detail)
    if info.pc_failure:
        detail = f"PCs were not sampled, or not to the end: {pc_obstacle(info.pc_failure)}"
        yield _throughout(info, end_ns, "pc_refused", "pc_sample", detail)


def _lost_counts(info: ProcessInfo, end_ns: int | None) -> Iterator[Loss]:
    """Counts of instructions that are in no row, and why there are none."""
    me, table = info.process_id, "sass_metric"
    if info.sass_dropped:
        detail = "CUPTI dropped these counts of instructions when counting ended"
        yield Loss(me, "sass_dropped", table, info.sass_dropped, detail=detail)
    if info.sass_failure:
        obstacle = sass_obstacle(info.sass_failure)
        detail = f"instructions were not counted, or not to the end: {obstacle}"
        yield _throughout(info, end_ns, "sass_refused", table, detail)


def _lost_launches(info: ProcessInfo, end_ns: int | None) -> Iterator[Loss]:
    """Launches that were to be measured and have no values, and what measuring changed."""
    me, table = info.process_id, "launch_metric"
    if info.range_launches:
        detail = (
            f"{info.range_launches} launches or ranges were measured, kernels of launches one at a"
            " time and once for each pass; their times, where CUPTI gave some, and those of what"
            " waited for them, are not those of the program"
        )
        yield _lacking(me, "replayed", "kernel", info.range_launches, detail)
    if info.range_dropped:
        detail = (
            "CUPTI gave no values of these launches, or those of another thread's launch with them"
        )
        yield Loss(me, "range_dropped", table, info.range_dropped, detail=detail)
    for name, why in LEFT_OUT.items():
        if number := getattr(info, name):
            detail = f"these launches or ranges were not measured: {why}"
            yield Loss(me, "range_left_out", table, number, detail=detail)
    if info.range_failure:
        obstacle = range_obstacle(info.range_failure)
        detail = f"launches or ranges were not measured, or not to the end: {obstacle}"
        yield _throughout(info, end_ns, "range_refused", table, detail)


def _nccl(process: Process, info: ProcessInfo, end_ns: int | None) -> Iterator[Loss]:
    """Operations without an end, and an NCCL that is too old to tell of them."""
    table = "nccl_event"
    unended = process.decoded().open_nccl_events
    if unended and end_ns is not None:
        detail = "what NCCL had begun and not ended when the capture ended has no end"
        yield _lacking(info.process_id, "incomplete", table, unended, detail)
    if info.nccl_too_old:
        detail = (
            f"NCCL has version {info.nccl_too_old} of the interface for profiler plugins, and only"
            " from version 4 on its operations are recorded; use NCCL 2.27 or later"
        )
        yield _throughout(info, end_ns, "nccl_refused", table, detail)


def _open_ranges(process: Process, info: ProcessInfo) -> Iterator[Loss]:
    """Ranges of the program's own code (``cupti_etl.range``) that had not ended at its end."""
    ranges = process.decoded().open_ranges
    if ranges > 0:
        detail = "ranges that were still open when the capture ended have no end"
        yield _lacking(info.process_id, "incomplete", "marker", ranges, detail)


def emitted(process: Process) -> int:
    """Records that CUPTI made, as far as it says, handed over or dropped; calls whose stack was to
    be kept; and what ``_TOLD`` names."""
    info = process.info()
    records = info.handed_over + info.cupti_dropped - process.decoded().filtered
    told = sum(getattr(info, name) for name, _ in _TOLD.values())
    launches = info.range_dropped + sum(getattr(info, name) for name in LEFT_OUT)
    return int(records + info.stacks + told + info.pc_dropped + info.sass_dropped + launches)


def stored(process: Process) -> int:
    """Records, calls with a stack and rows of ``_TOLD`` of the process that became rows."""
    kinds = sum(process.stored(table) for table in range(len(KINDS)))
    decoded = process.decoded()
    return kinds + int(decoded.stacks + sum(getattr(decoded, name) for name, _ in _TOLD.values()))


def losses(process: Process, end_ns: int | None, is_abandoned: bool = False) -> list[Loss]:
    """The losses of a process so far; all of them once it has ended (``end_ns``)."""
    info, decoded = process.info(), process.decoded()
    me = info.process_id
    found = []
    ring_full = process.ring_full()
    for kind, records in ring_full.items():
        found.append(Loss(me, "ring_full", _table_of(kind), records, detail=_FULL))
    if info.cupti_dropped:
        detail = "CUPTI had no buffer for these records"
        found.append(Loss(me, "cupti_dropped", None, info.cupti_dropped, detail=detail))
    for kind, records in process.unknown().items():
        detail = f"activity kind {kind} has no table"
        found.append(Loss(me, "unknown_kind", None, records, detail=detail))
    found += _wrong_times(process, info)
    if end_ns is not None:
        found += _open_ranges(process, info)
    unreadable = info.unreadable_bytes + decoded.unreadable_bytes
    missing = 0
    if end_ns is not None:
        missing = info.handed_over - sum(ring_full.values()) - decoded.records - decoded.filtered
    in_order = info.is_complete(end_ns is not None)
    counted = missing if in_order and missing > 0 else None
    if info.adopted_ns:
        detail = (
            "an earlier collector was killed; what it had taken and not yet written, "
            "and what it was reading, is lost"
        )
        lost = None if unreadable else counted
        since = info.orphaned_ns or info.start_ns
        found.append(
            Loss(
                me,
                "collector_killed",
                records=lost,
                start_ns=since,
                end_ns=info.adopted_ns,
                detail=detail,
            )
        )
    if unreadable or (counted and not info.adopted_ns):
        detail = "records of unknown size, or damaged on the way"
        found.append(Loss(me, "unreadable", None, counted, unreadable, detail=detail))
    if info.truncated_strings or decoded.damaged_strings or decoded.unresolved_strings:
        detail = (
            f"{info.truncated_strings} names cut at 1 MiB, {decoded.damaged_strings} damaged, "
            f"{decoded.unresolved_strings} rows without a name they should have"
        )
        found.append(Loss(me, "unreadable", None, 0, None, True, detail=detail))
    found += _cut_texts(process, me)
    found += _lost_stacks(process, info, end_ns is not None)
    for table in _TOLD:
        found += _lost_rows(process, info, end_ns is not None, table)
    found += _lost_samples(info, end_ns)
    found += _lost_counts(info, end_ns)
    found += _lost_launches(info, end_ns)
    found += _nccl(process, info, end_ns)
    is_held = bool(end_ns is not None and in_order and info.held)
    if is_held and not info.taken_ns and 0 < info.last_flush_ns <= info.first_held_ns:
        detail = (
            "threads of the program still called CUDA while it ended: what they did then is lost"
        )
        found.append(
            Loss(me, "not_flushed", start_ns=info.first_held_ns, end_ns=end_ns, detail=detail)
        )
    elif info.taken_ns or is_held:
        detail = (
            "another CUPTI client (such as torch.profiler) took over in this process; "
            "what it received is not in the trace"
        )
        start = min(ns for ns in (info.taken_ns, info.first_held_ns, end_ns) if ns)
        end = info.regained_ns or end_ns
        found.append(Loss(me, "other_client", start_ns=start, end_ns=end, detail=detail))
    if info.state == NOT_TRACED:
        found.append(_throughout(info, end_ns, "not_traced", None, info.detail))
    elif end_ns is not None and not in_order:
        if is_abandoned:
            cause, detail = "abandoned", "the capture ended while the process was still running"
        elif info.state == NOT_FLUSHED:
            cause = "not_flushed"
            detail = "at the program's end CUPTI gave nothing back for 2 s, or not all in a minute"
        else:
            cause = "killed"
            detail = (
                "the process ended without an orderly exit (killed, _exit, abort, or exec): "
                "what CUPTI still held is lost"
            )
        since = info.last_flush_ns or info.start_ns
        found.append(Loss(me, cause, start_ns=since, end_ns=end_ns, detail=detail))
    return found
