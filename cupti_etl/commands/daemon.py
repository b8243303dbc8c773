"""``cupti-etl daemon``: collect from programs that others start."""

from __future__ import annotations

import functools
import time
from pathlib import Path

import click

from cupti_etl.commands._capture_values import check_retain, check_roll, choose_kinds, choose_users
from cupti_etl.commands._flight import flight_options
from cupti_etl.commands._writing import convert, fsync_option, out_option, quiet_option, roll_option
from cupti_etl.config import CaptureOptions, FlightOptions
from cupti_etl.errors import UsageError, why
from cupti_etl.progress import say
from cupti_etl.render.help import Command, Option
from cupti_etl.render.local_path import LocalPath

_file = functools.partial(click.option, cls=Option, section="Where to write")
_SOCKET = "/run/cupti-etl/socket"
_RETAIN = "24h"


@click.command(cls=Command)
@out_option(
    "Folder in which each start makes a trace, trace-DATE-TIME.",
    default=Path("/var/lib/cupti-etl"),
    show_default=True,
    metavar="FOLDER",
)
@click.option(
    "--socket",
    "path",
    type=LocalPath(),
    default=Path(_SOCKET),
    show_default=True,
    metavar="PATH",
    help="Where programs find it.",
)
@click.option(
    "--allow-uid",
    default="",
    metavar="USER,...",
    help="Also collect from processes of these users, by name or number.",
)
@click.option(
    "--environment", is_flag=True, help="Print the variables that programs need, and end."
)
@quiet_option
@flight_options
@_file(
    "--retain",
    multiple=True,
    metavar="AGE|SIZE",
    help="Keep only the last AGE of what was collected, such as 7d, or the newest SIZE, such as"
    f" 10GB; can be given once for each.  [default: {_RETAIN}]",
)
@roll_option
@fsync_option
def command(
    out: Path,
    path: Path,
    allow_uid: str,
    environment: bool,
    quiet: bool,
    flight: FlightOptions | None,
    retain: tuple[str, ...],
    roll: str,
    fsync: bool,
) -> None:
    """Collect from all programs that were started with its address.

    For programs whose command cannot be changed. They come and go; SIGTERM ends the daemon.

    \b
      cupti-etl daemon -o /var/lib/cupti-etl --retain 24h --retain 20GB
      export $(cupti-etl daemon --environment)    # where programs are started
    """
    from cupti_etl.native.loader import inject_library_path

    inject_library_path()  # says what is missing, before what only Linux has is imported
    from cupti_etl.capture import daemon
    from cupti_etl.storage.retention import TRACES, remove_earlier

    if environment:
        for name, value in daemon.environment(path).items():
            click.echo(f"{name}={value}")
        return
    kept = check_retain(retain or (_RETAIN,))
    options = CaptureOptions(
        out=out / time.strftime(f"{TRACES}%Y%m%d-%H%M%S"),
        kinds=choose_kinds(""),
        roll_ns=check_roll(roll),
        retain=kept,
        fsync=fsync,
        quiet=quiet,
        flight=flight,
        allow_uids=choose_users(allow_uid),
    )
    if kept and out.is_dir():
        try:
            for earlier in remove_earlier(out, kept):
                say(f"cupti-etl: {earlier} is beyond what is kept, and was removed")
        except OSError as error:
            raise UsageError(
                f"{out} cannot be tidied up: {why(error)}", "choose another -o"
            ) from error
    daemon.collect(options, path, convert)
