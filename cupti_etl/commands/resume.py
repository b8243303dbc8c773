"""``cupti-etl resume``: go on with traced programs whose collector was killed."""

from __future__ import annotations

import time
from pathlib import Path

import click

from cupti_etl.commands._writing import out_option, quiet_option
from cupti_etl.units import duration_ns


class _Pid(click.IntRange):
    name = "process id"


@click.command()
@out_option("Folder for the trace; must not exist.  [default: trace-DATE-TIME]", metavar="PATH")
@click.option(
    "--duration", metavar="TIME", help="Stop after TIME; by default when all programs have ended."
)
@quiet_option
@click.argument("pids", nargs=-1, required=True, type=_Pid(min=1), metavar="PID...")
def command(out: Path | None, duration: str | None, quiet: bool, pids: tuple[int, ...]) -> None:
    """Continue the capture of programs whose collector was killed.

    Writes a new trace with what the programs recorded since then, as far as their shared memory
    holds it, and with what they record from now on. It has the same process_id as the first
    trace, which `cupti-etl recover` finishes. Ctrl-C stops the capture; the programs continue.
    """
    from cupti_etl.capture.without_command import resume

    resume(
        out or Path(time.strftime("trace-%Y%m%d-%H%M%S")),
        pids,
        (duration_ns(duration) if duration else 0) or None,
        quiet,
    )
