"""What commands that write a trace share: their options, and the self-contained file."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cupti_etl.render.help import Option
from cupti_etl.render.local_path import WRITTEN, LocalPath

_F = TypeVar("_F", bound=Callable[..., Any])
overwrite_option = click.option(
    "--overwrite",
    is_flag=True,
    help="Replace an existing trace or file; other folders are never replaced.",
)
# What is so unless it is said otherwise.
_unless = functools.partial(
    click.option, is_flag=True, callback=lambda _context, _option, is_given: not is_given
)
fsync_option = _unless(
    "--no-fsync",
    "fsync",
    help="Do not wait for the disk. Faster on slow disks, but a power failure can damage the"
    " trace.",
)
trace_duckdb_option = _unless(
    "--no-trace-duckdb",
    "trace_duckdb",
    help="Leave out trace.duckdb, the file for DuckDB's own shell; `cupti-etl relink` makes it"
    " later.",
)
quiet_option = click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
roll_option = click.option(
    "--roll",
    cls=Option,
    section="Where to write",
    default="60s",
    show_default=True,
    metavar="TIME",
    help="How long rows wait, at most, until they can be read; at first, a second.",
)


def out_option(text: str, **more: Any) -> Callable[[_F], _F]:
    """``-o`` of a command that writes on this machine."""
    return click.option("-o", "--out", type=LocalPath(WRITTEN), help=text, **more)


def convert(folder: Path, out: Path) -> None:
    """Write the trace in a folder into one file, as -o FILE.duckdb asks for.

    DuckDB is loaded only now.
    """
    from cupti_etl.render import duckdb_file

    duckdb_file.convert(folder, out)
