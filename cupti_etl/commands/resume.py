"""``cupti-etl resume``: go on with traced programs whose collector was killed."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cupti_etl.units import duration_ns


class _Pid(click.IntRange):
    name = "process id"


@click.command()
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the trace (default: trace-DATE-TIME); must not exist.",
)
@click.option(
    "--duration",
    metavar="TIME",
    help="End after so long; default: when all of them have ended.",
)
@click.option("--quiet", is_flag=True, help="No live line and no summary.")
@click.argument("pids", nargs=-1, required=True, type=_Pid(min=1), metavar="PID...")
def command(out: Path | None, duration: str | None, quiet: bool, pids: tuple[int, ...]) -> None:
    """Go on with PID..., traced programs whose collector was killed.

    What they have recorded since, as far as their segments hold it, and what they record from
    now on becomes a trace of its own, with the same process_id as the first, which
    `cupti-etl recover` makes whole.  Ctrl-C ends it; the programs go on untraced.
    """
    from cupti_etl.capture.session import resume

    resume(
        out or Path(time.strftime("trace-%Y%m%d-%H%M%S")),
        pids,
        (duration_ns(duration) if duration else 0) or None,
        quiet,
    )
