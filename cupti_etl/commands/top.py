"""``cupti-etl top``: what GPUs do now."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._writing import overwrite_option
from cupti_etl.errors import UsageError, need
from cupti_etl.render.help import Command
from cupti_etl.render.local_path import WRITTEN, local_path

if TYPE_CHECKING:
    from cupti_etl.top.program import Program

_COMMAND = "cupti_etl.top.command"


class _Parted(Command):
    """Options and a trace, or options also of a capture and its command behind ``--``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = tuple(args[at + 1 :])
        # What is behind it is a capture's business, and so are options that are not ours.
        ctx.ignore_unknown_options = at < len(args)
        return super().parse_args(ctx, args[:at])


@click.command("top", cls=_Parted)
@click.option(
    "-o", "--out", metavar="PATH", help="Folder for the trace of CMD.  [default: trace-DATE-TIME]"
)
@overwrite_option
@click.option("--once", is_flag=True, help="Print one reading and end.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Format of --once.",
)
@click.option("--all", "all_rows", is_flag=True, help="Print all kernels with --once, not 40.")
@click.argument(
    "words",
    nargs=-1,
    type=click.UNPROCESSED,
    metavar="{TRACE | -- CMD [ARG]...}",
    shell_complete=files,
)
@click.pass_context
def command(
    context: click.Context,
    out: str | None,
    overwrite: bool,
    once: bool,
    form: str,
    all_rows: bool,
    words: tuple[str, ...],
) -> None:
    """Show what GPUs do now, refreshed once a second.

    \b
      cupti-etl top run42
      cupti-etl top -o run43 --pm -- python train.py
      cupti-etl top run42 --once --format json

    With CMD behind `--`, capture it, with the options of `cupti-etl capture`; its output goes to a
    file beside the trace, and the exit status is that of the capture. Keys: q, s, r, /, ?. See
    docs/howto/top.md.
    """
    program_words = context.meta[_COMMAND]
    if not program_words:
        if len(words) != 1:
            raise UsageError("which trace?", "give one TRACE, or a command behind --")
        if out or overwrite:
            raise UsageError("-o and --overwrite go with a command", "put it behind --")
        path = local_path(words[0], f"cupti-etl report {words[0]}")
        sys.exit(_print(path, form, all_rows) if once else _show(path))
    if once:
        raise UsageError(
            "--once reads a trace, and captures none", "cupti-etl capture, then top TRACE --once"
        )
    sys.exit(_capture(out, words, program_words, overwrite))


def _print(path: Path, form: str, all_rows: bool) -> int:
    from cupti_etl.render.json import json_text
    from cupti_etl.render.table import ROW_LIMIT
    from cupti_etl.top.reader import Reader
    from cupti_etl.top.tables import as_text, first_order

    reader = Reader(path)
    reading = reader.read()
    reader.close()
    if form == "json":
        print(json_text(reading.as_dict()))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000
        limit = None if all_rows else ROW_LIMIT
        print(as_text(reading, path, width, first_order(reading), limit))
    return 0


def _need_the_extra() -> None:
    need("textual", todo="pip install 'cupti-etl[top]'; --once does without")
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("this is no terminal", "top TRACE --once prints one reading")


def _show(path: Path) -> int:
    _need_the_extra()
    from cupti_etl.top.app import TopApp
    from cupti_etl.top.reader import Reader

    reader = Reader(path)
    first = reader.read()  # what is wrong with it is said at once
    number = TopApp(reader, path, first=first).run()
    reader.close()
    return 128 + number if number not in (None, signal.SIGINT) else 0


def _capture(
    out: str | None, options: tuple[str, ...], words: tuple[str, ...], overwrite: bool
) -> int:
    _need_the_extra()
    from cupti_etl.progress import say
    from cupti_etl.signals import caught
    from cupti_etl.storage.destination import STREAM_SUFFIXES
    from cupti_etl.storage.name import expand
    from cupti_etl.storage.place import refuse_existing
    from cupti_etl.top.app import TopApp
    from cupti_etl.top.program import Program
    from cupti_etl.top.reader import Reader

    path = local_path(
        expand(out, os.environ) if out else time.strftime("trace-%Y%m%d-%H%M%S"), WRITTEN
    )
    if str(path) == "-" or path.suffix in (".duckdb", *STREAM_SUFFIXES):
        raise UsageError(f"top shows a folder, and -o {path} writes none", "give -o FOLDER")
    if not overwrite:
        refuse_existing(path)
    with caught() as came:
        program = Program(path, options, words, overwrite=overwrite)
        reader = Reader(path, is_awaited=True)
        app = TopApp(
            reader,
            path,
            is_over=lambda: not program.is_running,
            status=lambda: program.status,
            output=program.output,
        )
        late = ""
        try:
            number = app.run()
            if number is not None:
                program.signal(number)
                late = "cupti-etl: waiting until the command has ended and its trace is whole"
            elif program.is_running:
                say("cupti-etl: the command goes on; Ctrl-C interrupts it")
        finally:
            status = program.wait(came, lambda: say(late) if late else None)
            reader.close()
    _tell(program, status)
    return status


def _tell(program: Program, status: int) -> None:
    """Say what the capture said last, and where the rest is; where it failed the command, too."""
    from cupti_etl.progress import say

    for line in program.last_lines():
        if status or line.startswith("cupti-etl: "):
            say(line)
    say(f"cupti-etl: output of the command in {program.output}")
