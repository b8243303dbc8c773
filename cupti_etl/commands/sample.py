"""``cupti-etl sample``: hardware counters of whole GPUs, without a program."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from cupti_etl.commands._complete import tables
from cupti_etl.commands._pm import chosen, pm_options
from cupti_etl.commands._writing import (
    convert,
    fsync_option,
    overwrite_option,
    quiet_option,
    trace_duckdb_option,
)
from cupti_etl.config import CaptureOptions
from cupti_etl.render.help import Command
from cupti_etl.render.local_path import WRITTEN, LocalPath, local_path
from cupti_etl.units import duration_ns


@click.command(cls=Command)
@click.option(
    "-o",
    "--out",
    metavar="PATH",
    help="Folder for the samples, or FILE.duckdb; with --table, FILE.arrows or - for standard"
    " output. %h, %p and %r become host, process id and rank.  [default: samples-DATE-TIME]",
)
@click.option(
    "--table",
    default="",
    shell_complete=tables,
    metavar="TABLE",
    help="Write only this table, as an Arrow stream.",
)
@click.option("--duration", metavar="TIME", help="Stop after TIME; by default at Ctrl-C.")
@pm_options(default="overview")
@click.option("--cupti", type=LocalPath(), metavar="FILE", help="libcupti to use.")
@overwrite_option
@fsync_option
@trace_duckdb_option
@quiet_option
def command(
    out: str | None,
    duration: str | None,
    pm: str,
    pm_interval: str,
    pm_devices: str,
    **same: Any,  # as CaptureOptions has it
) -> None:
    """Sample hardware counters of GPUs until Ctrl-C.

    Samples cover all programs that use the GPUs.

    \b
      cupti-etl sample --duration 10s -o samples
      cupti-etl sample --pm minimal --pm-interval 20us -o samples
      cupti-etl sample --table pm_sample -o - | ./reader

    TIME has a unit, as in 30s, 500ms or 2h; a number alone is in seconds.

    Exit status: 0 if all chosen GPUs were sampled, 4 if not, 1 if the samples could not be
    written, 2 for a usage error.
    """
    from cupti_etl.capture.without_command import sample
    from cupti_etl.storage.name import expand

    name = expand(out, os.environ) if out else time.strftime("samples-%Y%m%d-%H%M%S")
    options = CaptureOptions(
        out=local_path(name, WRITTEN),
        duration_ns=duration_ns(duration) if duration else 0,
        pm=chosen(pm, pm_interval, pm_devices, is_required=False),
        **same,
    )
    sample(options, convert)
