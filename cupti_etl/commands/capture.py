"""``cupti-etl capture``: run a program and write down what its GPUs did."""

from __future__ import annotations

import functools
import os
import sys
import time
from typing import Any

import click

from cupti_etl.commands._budget import budget_options
from cupti_etl.commands._capture_values import (
    check_pytorch,
    check_range,
    check_retain,
    check_roll,
    check_stacks,
    check_tags,
    choose_kinds,
    choose_users,
)
from cupti_etl.commands._complete import files, tables
from cupti_etl.commands._flight import check_kinds, flight_options
from cupti_etl.commands._index_apart import index_apart
from cupti_etl.commands._kinds import kinds_beside
from cupti_etl.commands._pc_sampling import pc_sampling_options
from cupti_etl.commands._pm import chosen, pm_option, pm_options
from cupti_etl.commands._range_metrics import range_options
from cupti_etl.commands._renamed import RenamedOption
from cupti_etl.commands._sass_metrics import sass_options
from cupti_etl.commands._serving import serving
from cupti_etl.commands._writing import (
    convert,
    fsync_option,
    overwrite_option,
    quiet_option,
    roll_option,
    trace_duckdb_option,
)
from cupti_etl.config import (
    API_LEVELS,
    CONFLICT_POLICIES,
    GRAPH_LEVELS,
    NCCL_LEVELS,
    RECORD_FORMS,
    BudgetOptions,
    CaptureOptions,
    FlightOptions,
    RangeOptions,
    SassOptions,
)
from cupti_etl.errors import UsageError
from cupti_etl.render.help import Command, Option
from cupti_etl.render.local_path import LocalPath
from cupti_etl.units import duration_ns, size_bytes

_record = functools.partial(click.option, cls=Option, section="What to record")
_when = functools.partial(click.option, cls=Option, section="When to record")
_file = functools.partial(click.option, cls=Option, section="Where to write")
_cupti = functools.partial(click.option, cls=Option, section="CUPTI")
_process = functools.partial(click.option, cls=Option, section="Processes")


@click.command(
    cls=Command,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.option(
    "-o",
    "--out",
    metavar="PATH",
    help="Folder for the trace, s3://BUCKET/NAME, or FILE.duckdb; with --table, FILE.arrows or -"
    " for standard output. %h, %p and %r become host, process id and rank."
    "  [default: trace-DATE-TIME]",
)
@overwrite_option
@quiet_option
@_record(
    "--kinds",
    default="",
    metavar="KIND,...",
    shell_complete=tables,
    help="Tables to record, or a preset: light, default, full.  [default: default]",
)
@_record(
    "--api",
    type=click.Choice(API_LEVELS),
    default="default",
    show_default=True,
    help="API calls to record. default: without those that only ask something; launch:"
    " launches, copies and memsets.",
)
@_record(
    "--python-stacks",
    is_flag=False,
    flag_value="launches",
    default="",
    metavar="[=CALLS]",
    help="Record the Python stack of each launch; =copies: of copies and memsets, too; =all: also"
    " of allocations and waits.",
)
@_record(
    "--pytorch",
    is_flag=False,
    flag_value="ops,modules,shapes",
    default="",
    metavar="[=PARTS]",
    help="Record PyTorch's operators, modules and input sizes as ranges; =ops, =modules or"
    " =ops,modules: only these.",
)
@_record(
    "--nccl",
    type=click.Choice(NCCL_LEVELS),
    default="events",
    show_default=True,
    help="Record NCCL's own events: its operations, or also the GPU's times of each channel.",
)
@_record(
    "--callbacks",
    default="",
    metavar="DOMAIN[:NAME,...]",
    help="Record CUPTI's callbacks in the table callback_event. Domains: driver, runtime,"
    " resource, synchronize, nvtx, state. Example: driver:cuLaunch*,cuMemcpy*",
)
@_record(
    "--graph",
    type=click.Choice(GRAPH_LEVELS),
    default="node",
    show_default=True,
    help="Record each node of a CUDA graph, or each graph launch as a whole (cheaper).",
)
@_when("--delay", default="0", metavar="TIME", help="Start recording TIME after the program.")
@_when("--duration", default="0", metavar="TIME", help="Stop recording after TIME.")
@_when(
    "--capture-range",
    default="",
    metavar="RANGE",
    help="Record only inside a range: cudaProfilerApi or nvtx:NAME[@DOMAIN].",
)
@_when("--max-rows", type=click.IntRange(1), metavar="N", help="Stop recording after about N rows.")
@_when("--max-size", metavar="SIZE", help="Stop recording when the trace has about this size.")
@budget_options
@flight_options
@range_options
@sass_options
@pc_sampling_options
@pm_options(default=None)
@pm_option("--pm-required", is_flag=True, help="Fail if sampling is not possible until the end.")
@_file(
    "--table",
    default="",
    metavar="TABLE",
    shell_complete=tables,
    help="Write only this table, as an Arrow stream.",
)
@_file(
    "--save-raw",
    cls=RenamedOption,
    was="--record",
    type=LocalPath(),
    metavar="FILE",
    help="Also save CUPTI's raw buffers to FILE, for `cupti-etl import`.",
)
@_file(
    "--serve",
    type=click.IntRange(0, 65535),
    is_flag=False,
    flag_value=8756,
    metavar="[=PORT]",
    help="Serve the trace while CMD runs, as `cupti-etl serve` does, on port 8756 or this one.",
)
@roll_option
@_file(
    "--retain",
    multiple=True,
    metavar="AGE|SIZE",
    help="Keep only the last AGE of the trace, such as 24h, or the newest SIZE, such as 10GB; can"
    " be given once for each.",
)
@_file(
    "--spool",
    type=LocalPath(),
    metavar="FOLDER",
    help="Where parts wait for their upload to a bucket.  [default: where temporary files are]",
)
@_file(
    "--spool-size",
    default="4GiB",
    show_default=True,
    metavar="SIZE",
    help="How much of the disk they may take; rows that find no room are counted as lost.",
)
@_file(
    "--tag",
    multiple=True,
    metavar="NAME=VALUE",
    help="Remember this about the run, for `cupti-etl runs`; can be repeated.",
)
@_file("--index", is_flag=True, help="Run `cupti-etl index` on the trace at the end.")
@_file("--no-argv", is_flag=True, help="Do not store command lines.")
@fsync_option
@trace_duckdb_option
@_cupti(
    "--on-conflict",
    type=click.Choice(CONFLICT_POLICIES),
    default="yield",
    show_default=True,
    help="If another profiler uses CUPTI in the program: let it have the records, take them back,"
    " or end the program.",
)
@_cupti(
    "--buffer-mb",
    cls=RenamedOption,
    was="--ring-mb",
    type=click.IntRange(32, 4096),
    default=256,
    show_default=True,
    metavar="MIB",
    help="Largest shared memory of a process.",
)
@_cupti(
    "--flush-ms",
    type=click.IntRange(1, 60000),
    default=100,
    show_default=True,
    metavar="MS",
    help="Time between flushes of CUPTI's buffers.",
)
@_cupti(
    "--records",
    type=click.Choice(RECORD_FORMS),
    default="auto",
    show_default=True,
    help="Form of CUPTI's records: whole structs, or selected fields (CUPTI 13.4 or later).",
)
@_cupti(
    "--cupti",
    type=LocalPath(),
    metavar="FILE",
    help="libcupti to use if the program has loaded none.",
)
@_process(
    "--linger",
    metavar="TIME",
    help="How long to follow processes that outlive CMD; by default until they end.",
)
@_process(
    "--allow-uid",
    default="",
    metavar="USER,...",
    help="Also trace processes of these users, by name or number.",
)
# How ``cupti_etl.capture()`` starts the collector of its own process.
@click.option("--inside", type=int, hidden=True)
@click.argument(
    "cmd",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="-- CMD [ARG]...",
    shell_complete=files,
)
def command(
    out: str | None,
    table: str,
    kinds: str,
    graph: str,
    delay: str,
    duration: str,
    python_stacks: str,
    callbacks: str,
    pytorch: str,
    sass_metrics: SassOptions | None,
    budget: BudgetOptions | None,
    flight: FlightOptions | None,
    range_metrics: RangeOptions | None,
    capture_range: str,
    max_rows: int | None,
    max_size: str | None,
    pm: str | None,
    pm_interval: str,
    pm_devices: str,
    pm_required: bool,
    linger: str | None,
    allow_uid: str,
    overwrite: bool,
    serve: int | None,
    roll: str,
    retain: tuple[str, ...],
    spool_size: str,
    tag: tuple[str, ...],
    index: bool,
    no_argv: bool,
    cmd: tuple[str, ...],
    **same: Any,  # as CaptureOptions has it
) -> None:
    """Run CMD and record what it does on GPUs.

    \b
      cupti-etl capture -o run42 -- python train.py
      cupti-etl sql run42 "FROM kernel_summary"
      cupti-etl capture --pm --python-stacks -o run43 -- python train.py
      cupti-etl capture --table kernel -o - -- python train.py | ./reader

    TIME has a unit, as in 30s, 500ms or 2h; a number alone is in seconds. SIZE has one, too,
    as in 500MB or 2GiB.

    Exit status: that of CMD if it is not 0; else 0 if CMD was captured, 3 if it never initialised
    CUDA, 4 if it did but was not captured completely, 1 if the trace could not be written, 2 for
    a usage error.
    """
    from cupti_etl.native.loader import inject_library_path

    inject_library_path()  # says what is missing, before what only Linux has is imported
    from cupti_etl.capture.session import run
    from cupti_etl.schema.callbacks import parse_callbacks
    from cupti_etl.storage.bucket import Url, as_target
    from cupti_etl.storage.destination import kinds_of
    from cupti_etl.storage.name import expand

    parts = check_pytorch(pytorch)
    asked = kinds or kinds_of(table)
    options = CaptureOptions(
        out=as_target(expand(out, os.environ) if out else time.strftime("trace-%Y%m%d-%H%M%S")),
        kinds=kinds_beside(
            choose_kinds(f"{asked or 'default'},marker,marker_data" if parts else asked, graph),
            asked,
            range_metrics,
            sass_metrics,
            budget,
        ),
        table=table,
        graph=graph,
        delay_ns=duration_ns(delay),
        duration_ns=duration_ns(duration),
        python_stacks=check_stacks(python_stacks),
        callbacks=parse_callbacks(callbacks) if callbacks else {},
        pytorch=parts,
        sass_metrics=sass_metrics,
        range_metrics=range_metrics,
        capture_range=check_range(capture_range),
        budget=budget,
        max_rows=max_rows or 0,
        max_bytes=size_bytes(max_size) if max_size else 0,
        pm=chosen(pm, pm_interval, pm_devices, is_required=pm_required),
        linger_ns=None if linger is None else duration_ns(linger),
        allow_uids=choose_users(allow_uid),
        overwrite=overwrite,
        roll_ns=check_roll(roll),
        retain=check_retain(retain),
        tags=check_tags(tag),
        argv=not no_argv,
        flight=flight,
        spool_bytes=size_bytes(spool_size),
        **same,
    )
    check_kinds(flight, options.kinds)
    if isinstance(options.out, Url) and (
        overwrite or serve is not None or index or table or retain or flight
    ):
        raise UsageError(
            "--overwrite, --serve, --index, --table, --retain and --flight-recorder do not go with"
            " a trace in a bucket",
            "leave them out, or give -o a folder",
        )
    with serving(options.out, serve):
        status = run(options, cmd, convert)
    if index and options.out.is_dir():
        index_apart(options.out)
    sys.exit(status)
