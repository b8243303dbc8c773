"""``cupti-etl capture``: run a program and write down what its GPUs did."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.config import (
    API_LEVELS,
    CONFLICT_POLICIES,
    GRAPH_LEVELS,
    RECORD_FORMS,
    CaptureOptions,
)
from cupti_etl.errors import CaptureError, EtlError, NoCudaError, UsageError
from cupti_etl.quantity import duration_ns, size_bytes

if TYPE_CHECKING:
    from cupti_etl.capture.collector import Collector
    from cupti_etl.capture.launcher import Launcher
    from cupti_etl.capture.limits import Limits
    from cupti_etl.capture.recording import RecordingWriter
    from cupti_etl.export.destination import Destination
    from cupti_etl.live_line import LiveLine
    from cupti_etl.pipeline import Pipeline


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--out",
    help="Where to: a folder; FILE.duckdb; or with --table FILE.arrows or - for standard output."
    " Must not exist. %h is the host, %p the process id, %r the rank.",
)
@click.option("--table", default="", help="Write this table alone, as a stream of Arrow.")
@click.option(
    "--kinds",
    default="",
    help="Tables to record, comma-separated, or a preset: light, default, full.",
)
@click.option(
    "--graph",
    type=click.Choice(GRAPH_LEVELS),
    default="node",
    show_default=True,
    help="Record the nodes of CUDA graphs, or each launch of a graph as a whole (cheaper).",
)
@click.option(
    "--api",
    type=click.Choice(API_LEVELS),
    default="default",
    show_default=True,
    help="API calls to record.",
)
@click.option(
    "--records",
    type=click.Choice(RECORD_FORMS),
    default="auto",
    show_default=True,
    help="Form of CUPTI's records: whole structs, or selected fields (CUPTI 13.4 or later).",
)
@click.option(
    "--on-conflict",
    type=click.Choice(CONFLICT_POLICIES),
    default="yield",
    show_default=True,
    help="If another CUPTI client comes: leave it the records, take them back, or end the program.",
)
@click.option(
    "--flush-ms",
    type=click.IntRange(1, 60000),
    default=100,
    show_default=True,
    help="CUPTI flush interval.",
)
@click.option(
    "--ring-mb",
    type=click.IntRange(32, 4096),
    default=256,
    show_default=True,
    help="Shared memory per process, at most.",
)
@click.option(
    "--cupti",
    type=click.Path(path_type=Path),
    help="libcupti to use where the program has none loaded.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    help="Also keep the raw buffers in this file, for replay.",
)
@click.option(
    "--delay", default="0", metavar="TIME", help="Start recording so long after the program."
)
@click.option("--duration", default="0", metavar="TIME", help="Stop recording after so long.")
@click.option(
    "--capture-range",
    default="",
    metavar="RANGE",
    help="Record only inside a range: cudaProfilerApi or nvtx:NAME[@DOMAIN].",
)
@click.option("--max-rows", type=click.IntRange(1), help="Stop recording at about so many rows.")
@click.option("--max-size", metavar="SIZE", help="Stop recording when the trace is about so large.")
@click.option(
    "--linger",
    metavar="TIME",
    help="How long to follow processes that outlive CMD; default: until they end.",
)
@click.option("--no-argv", is_flag=True, help="Do not store command lines.")
@click.option("--quiet", is_flag=True, help="No live line and no summary.")
@click.argument("cmd", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD [ARG]...")
def command(
    out: str | None,
    table: str,
    kinds: str,
    graph: str,
    api: str,
    records: str,
    on_conflict: str,
    flush_ms: int,
    ring_mb: int,
    cupti: Path | None,
    record: Path | None,
    delay: str,
    duration: str,
    capture_range: str,
    max_rows: int | None,
    max_size: str | None,
    linger: str | None,
    no_argv: bool,
    quiet: bool,
    cmd: tuple[str, ...],
) -> None:
    """Run CMD and write what its GPUs did to a trace.

    \b
    cupti-etl capture -o run42 -- python train.py
    cupti-etl sql run42 "FROM kernel_summary"
    cupti-etl capture --table kernel -o - -- python train.py | ./reader

    Exit status: that of CMD if it is not 0; else 0 if it was captured, 3 if it never
    initialised CUDA, 4 if it did but could not be captured, 1 if the trace could not be
    written, 2 for a usage error.
    """
    from cupti_etl.export.destination import kinds_of
    from cupti_etl.sinks.name import expand

    options = CaptureOptions(
        out=Path(expand(out, os.environ) if out else time.strftime("trace-%Y%m%d-%H%M%S")),
        kinds=choose_kinds(kinds or kinds_of(table), graph),
        table=table,
        api=api,
        graph=graph,
        records=records,
        on_conflict=on_conflict,
        flush_ms=flush_ms,
        ring_mb=ring_mb,
        cupti=cupti,
        record=record,
        delay_ns=duration_ns(delay),
        duration_ns=duration_ns(duration),
        capture_range=check_range(capture_range),
        max_rows=max_rows or 0,
        max_bytes=size_bytes(max_size) if max_size else 0,
        linger_ns=None if linger is None else duration_ns(linger),
        argv=not no_argv,
        quiet=quiet,
    )
    sys.exit(run(options, cmd))


def check_range(text: str) -> str:
    """The value of ``--capture-range``.

    Raises:
        UsageError: it is none.
    """
    name, at, domain = text.removeprefix("nvtx:").rpartition("@")
    if text in ("", "cudaProfilerApi"):
        return text
    if text.startswith("nvtx:") and (domain if not at else name and domain):
        return text
    raise UsageError(
        f"--capture-range {text!r} is not a range", "give cudaProfilerApi or nvtx:NAME[@DOMAIN]"
    )


# Activity kinds that CUPTI has and no table can honestly hold.
_REFUSED = {
    "nvlink": "its record was laid out anew in CUPTI 13.2, with pointers to memory of the program",
    "module": "CUPTI lets no client enable it",
}


def choose_kinds(text: str, graph: str = "node") -> tuple[str, ...]:
    """Table names for ``--kinds`` and ``--graph``.

    Raises:
        UsageError: a name is neither a table nor a preset, or is of a kind that is refused
            or goes only with ``--graph graph``.
    """
    from cupti_etl.schema.kinds import KINDS
    from cupti_etl.schema.spec import PRESETS

    preset_of = {kind.table: kind.preset for kind in KINDS}
    chosen = {table for table, preset in preset_of.items() if preset == graph}
    for word in text.split(","):
        name = word.strip() or "default"
        if name in PRESETS:
            included = PRESETS[: PRESETS.index(name) + 1]
            chosen.update(table for table, preset in preset_of.items() if preset in included)
        elif name in _REFUSED:
            raise UsageError(f"the kind {name!r} cannot be recorded: {_REFUSED[name]}")
        elif name not in preset_of:
            raise UsageError(
                f"there is no kind {name!r}",
                f"kinds are {', '.join(preset_of)}; presets are {', '.join(PRESETS)}",
            )
        elif preset_of[name] == "graph" != graph:
            raise UsageError(
                f"the kind {name!r} takes the place of the kernels and copies of CUDA graphs",
                "add --graph graph if that is what you want",
            )
        else:
            chosen.add(name)
    return tuple(sorted(chosen))


def run(options: CaptureOptions, cmd: tuple[str, ...]) -> int:
    """Capture a command; returns the exit status for ``cupti-etl``.

    Raises:
        EtlError: see ``cupti_etl.errors``; the command has been waited for.
    """
    from cupti_etl.capture.collector import Collector
    from cupti_etl.capture.launcher import Launcher, target_environment
    from cupti_etl.capture.limits import Limits
    from cupti_etl.export.destination import choose
    from cupti_etl.live_line import LiveLine, summary

    if options.cupti and not options.cupti.exists():
        raise UsageError(
            f"there is no file {options.cupti}", "--cupti takes the path of a libcupti.so"
        )
    destination = choose(options)
    destination.create()
    recorder = None
    start = time.monotonic()
    line = LiveLine(quiet=options.quiet)
    with ExitStack() as stack:
        # What an early failure leaves behind would be in the way of the next attempt.
        undo = stack.enter_context(ExitStack())
        undo.callback(destination.discard)
        if options.record:
            from cupti_etl.capture.recording import RecordingWriter

            recorder = RecordingWriter(options.record)
            undo.callback(options.record.unlink)
        collector = Collector(recorder)
        stack.callback(collector.close)
        # Before the program starts, so that a delay holds from its first call on.
        limits = Limits(
            options, collector.pause, lambda: collector.rows_and_records()[0], destination.size
        )
        environment = target_environment(options, collector.socket_path, os.environ)
        launcher = Launcher(cmd, environment, destination.program_stdout)
        undo.pop_all()
        stack.callback(launcher.close)
        status, problem = _capture(options, cmd, destination, collector, launcher, limits, line)
        if recorder is not None:
            problem = problem or _close(recorder, collector)
    if not options.quiet:
        summary(collector, destination, time.monotonic() - start)
    problem = problem or diagnose(collector)
    if problem is not None and (status == 0 or launcher.is_terminated):
        raise problem
    if problem is not None:
        # The command failed too, and its own status is what a caller waits for.
        click.echo(f"cupti-etl: {problem.message}", err=True)
    return status


def _capture(
    options: CaptureOptions,
    cmd: tuple[str, ...],
    destination: Destination,
    collector: Collector,
    launcher: Launcher,
    limits: Limits,
    line: LiveLine,
) -> tuple[int, EtlError | None]:
    """Follow the command to its end and finish the trace, whatever goes wrong."""
    from cupti_etl.pipeline import Pipeline

    # An argument need not be UTF-8; a column must.
    words = os.fsencode(" ".join(cmd)).decode("utf-8", "replace")
    facts = {
        "source": "capture",
        "command": words if options.argv else None,
        "kinds": ",".join(options.kinds),
        "api_level": options.api,
        "flush_ms": options.flush_ms,
        "ring_mb": options.ring_mb,
        "capture_range": options.capture_range or None,
        "delay_ns": options.delay_ns,
        "duration_ns": options.duration_ns or None,
    }
    pipeline = Pipeline(
        destination.folder, collector, facts, options.kinds, launcher.poll, destination.open
    )
    problem: EtlError | None = None
    try:
        is_strict = options.on_conflict == "fail"
        _follow(pipeline, launcher, limits, line, is_strict, options.linger_ns)
    except EtlError as error:
        problem = error
    status = launcher.wait()
    collector.abandon()
    try:
        pipeline.finish(status, limits.stopped_by)
        destination.finish()
    except EtlError as error:
        problem = problem or error
    return status, problem


def _close(recorder: RecordingWriter, collector: Collector) -> EtlError | None:
    failure = collector.record_failure
    try:
        recorder.close()
    except OSError as error:
        failure = failure or f"the recording cannot be written: {error}"
    return EtlError(failure, "the trace itself is whole") if failure else None


def _follow(
    pipeline: Pipeline,
    launcher: Launcher,
    limits: Limits,
    line: LiveLine,
    is_strict: bool,
    linger_ns: int | None,
) -> None:
    """Drain until the command and all processes it left behind have ended.

    The latter are given ``linger_ns``, or until they end; an interrupt ends the wait.
    """
    interrupts = None
    until = float("inf")
    while True:
        ended = launcher.poll() is not None
        if ended and interrupts is None:
            interrupts = launcher.interrupts
            until = time.monotonic() + linger_ns / 1e9 if linger_ns is not None else until
        limits.look()
        if is_strict and pipeline.collector.has_conflict():
            launcher.terminate()
        more = pipeline.step()
        if ended and not more:
            # Once more, for what said hello just before the end.
            more = pipeline.step()
            if not more and pipeline.collector.live == 0:
                break
        if interrupts is not None and launcher.interrupts > interrupts:
            break
        if ended and time.monotonic() >= until:
            break
        line.show(pipeline.collector)
        if not more:
            pipeline.collector.wait(20)
    line.clear()


def diagnose(collector: Collector) -> EtlError | None:
    """Why the capture is not what was asked for, or None if it is."""
    from cupti_etl.capture.launcher import injector_loads
    from cupti_etl.capture.segment import NOT_TRACED

    if not collector.traced and not collector.refused:
        why = injector_loads()
        if why is not None:
            return CaptureError(
                f"the injected library does not load: {why}", "run `cupti-etl doctor`"
            )
        return NoCudaError(
            "the program ended without initialising CUDA, so there is nothing to record",
            "if it does use CUDA: is its environment passed on (sudo, containers and ssh drop it)?",
        )
    if collector.refused:
        return CaptureError(
            f"a process was not captured: {collector.refused[0].reason}", "run `cupti-etl doctor`"
        )
    for traced in collector.traced:
        info = traced.process.info()
        if info.state == NOT_TRACED:
            return CaptureError(
                f"process {info.pid} was not captured: {info.detail}", "run `cupti-etl doctor`"
            )
    for loss in collector.losses():
        if loss.cause == "other_client":
            return CaptureError(
                f"the capture is incomplete: {loss.detail}", "run without the other profiler"
            )
    return None
