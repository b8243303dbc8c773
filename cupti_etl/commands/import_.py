"""``cupti-etl import``: traces that others wrote, as a trace of ours."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cupti_etl.commands._computing import show_computing
from cupti_etl.commands._writing import convert, fsync_option, out_option, overwrite_option
from cupti_etl.progress import say
from cupti_etl.render.local_path import LocalPath
from cupti_etl.units import counted


@click.command()
@click.argument("files", type=LocalPath(), nargs=-1, required=True)
@out_option("Folder for the trace, or FILE.duckdb.", required=True, metavar="PATH")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="processors",
    metavar="N",
    help="Read at most N files at the same time.",
)
@overwrite_option
@fsync_option
@click.option("--no-index", is_flag=True, help="Do not run `cupti-etl index`.")
def command(
    files: tuple[Path, ...], out: Path, jobs: int, overwrite: bool, fsync: bool, no_index: bool
) -> None:
    """Make a trace from files of Nsight Systems or PyTorch.

    \b
      cupti-etl import report.sqlite -o run50
      cupti-etl import rank0.json.gz rank1.json.gz -o run51

    FILES are exports of Nsight Systems (SQLite, parquetdir), raw pages of Nsight Compute
    (`ncu --csv --page raw`), JSON traces of PyTorch's profiler
    (also gzipped; one for each rank), or recordings of `capture --save-raw`. They become one
    trace. Their format is detected from their content. If one of them cannot be read, no trace is
    made. For a trace of more than 4 MiB, `cupti-etl index` runs at the end.
    """
    from cupti_etl.imports.run import import_traces

    summary = import_traces(files, out, jobs, fsync, convert, overwrite=overwrite)
    for path, kind in summary.kinds:
        say(f"cupti-etl: {path}: {kind}")
    for what, counts in (
        ("", summary.rows),
        ("without a start, and so in no query about time: ", summary.untimed),
    ):
        names = ", ".join(f"{name} {number:,}" for name, number in (+counts).most_common())
        if names:
            say(f"cupti-etl: {what}{names}")
    for line in summary.not_kept():
        say(f"cupti-etl: {line}")
    if summary.apart:
        apart_ns, before, behind = summary.apart
        hours = round(apart_ns / 3600e9)
        long = counted(hours, "hour") if hours < 48 else counted(hours // 24, "day")
        say(
            f"cupti-etl: {behind} begins {long} after the end of {before}, and both are one run"
            " now: make a trace of each run, and `cupti-etl diff` compares them"
        )
    rows = sum(summary.rows.values())
    processes = counted(summary.processes, "process", "processes")
    say(f"cupti-etl: {rows:,} rows of {processes}; trace in {out}")
    if not no_index and out.is_dir():
        _index(out)


def _index(out: Path) -> None:
    """Compute what queries share, of a large trace."""
    from cupti_etl.queries.materialize import LARGE_BYTES
    from cupti_etl.storage.sources import Folder
    from cupti_etl.storage.state import state, state_bytes

    if state_bytes(state([Folder(out)])) >= LARGE_BYTES:
        from cupti_etl.api import open as open_trace

        with open_trace(out) as trace:
            show_computing(trace)
            trace.index()
