"""The command group, and the one place where an error becomes text and an exit code."""

from __future__ import annotations

import errno
import importlib
import io
import os
import pkgutil
import shlex
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, NoReturn

import click

from cupti_etl import __version__, commands
from cupti_etl.commands._complete import VARIABLE
from cupti_etl.commands._group import Group
from cupti_etl.commands._numpy import load_with_one_thread
from cupti_etl.errors import NO_ROOM, EtlError
from cupti_etl.progress import say
from cupti_etl.render.help import HELP_OPTIONS
from cupti_etl.signals import Ended, end_by, end_in_order

# The commands as --help lists them, those used most first; others follow.
_SECTIONS = {
    "Record": ("capture", "sample", "import", "demo", "doctor"),
    "Ask": ("query", "sql", "report", "diff", "export", "serve", "top", "mcp"),
    "Look up": ("schema", "metrics"),
}
# Names that commands had once; understood for a release, and listed nowhere.
_RENAMED = {"attach": "resume"}
# What to do where the system refuses something, by its number for the reason.
_TODO = {
    **dict.fromkeys(NO_ROOM, "make room, or write elsewhere"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "check its permissions"),
}
# Most characters of a command's line in the list; a first sentence is to fit.
_SHORT = 64


class Commands(Group):
    """Finds commands as modules of ``cupti_etl.commands`` and imports only the one asked for.

    A module there defines ``command``; its name, with ``-`` for ``_``, is the command's.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted(self._modules())

    @staticmethod
    def _modules() -> dict[str, str]:
        """Modules by the names of their commands; ``import_`` cannot be called import."""
        names = [module.name for module in pkgutil.iter_modules(commands.__path__)]
        names = [name for name in names if not name.startswith("_")]
        return {name.rstrip("_").replace("_", "-"): name for name in names}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        name = self._modules().get(_RENAMED.get(cmd_name, cmd_name))
        if name is None:
            return None
        module = importlib.import_module(f"cupti_etl.commands.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in sections, each with the first sentence of its help."""
        listed = {*chain(*_SECTIONS.values())}
        others = tuple(name for name in self.list_commands(ctx) if name not in listed)
        for title, names in {**_SECTIONS, "More": others}.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name, command.get_short_help_str(_SHORT))
                        for name, command in found
                        if command and not command.hidden
                    ]
                )

    def suggestion(self, ctx: click.Context, words: Sequence[str]) -> str:
        """As of any group; the name of a query is none of a command, but looks like one."""
        from cupti_etl.queries.catalog import library

        similar = get_close_matches(words[0], [query.name for query in library()], 1, 0.8)
        if similar:
            return shlex.join(["cupti-etl", "query", *similar, *words[1:]])
        return super().suggestion(ctx, words)


@click.group(cls=Commands, context_settings={"help_option_names": HELP_OPTIONS})
@click.version_option(__version__, prog_name="cupti-etl")
@click.option("--debug", is_flag=True, help="Show a traceback instead of an error message.")
@click.pass_context
def cli(ctx: click.Context, debug: bool) -> None:
    """CUDA traces as tables: capture a program, ask in SQL.

    \b
      cupti-etl capture -o run42 -- python train.py
      cupti-etl query kernel_summary run42
      cupti-etl report run42 -o run42.html
    """
    ctx.obj = {"debug": debug}
    if os.environ.get("NO_COLOR"):  # no-color.org
        ctx.color = False


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and exit."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments[:1]
    load_with_one_thread()
    end_in_order()
    try:
        result = _run(arguments)
    except EtlError as error:
        if debug:
            raise
        say(f"cupti-etl: {error.message}")
        if error.hint:
            say(f"  {error.hint}")
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if debug or package == "cupti_etl":
            raise
        if package in sys.stdlib_module_names:
            say(f"cupti-etl: this needs Linux: Python has no {package!r} here")
            say("  do it there: its traces can be opened, queried and exported here")
            sys.exit(1)
        say(f"cupti-etl: the Python package {package!r} is not installed")
        say(f"  install cupti-etl with its dependencies, or {package} alone")
        sys.exit(1)
    except click.ClickException as error:
        told = io.StringIO()
        error.show(file=told)
        # click indents with tabs, which would be shown escaped.
        say(told.getvalue().rstrip("\n").expandtabs(4))
        sys.exit(error.exit_code)
    except (click.Abort, EOFError, KeyboardInterrupt):
        sys.exit(130)
    except Ended as ended:
        end_by(ended.number)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nobody to tell, also at the last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)
    except OSError as error:
        # Mostly of standard output; where a file has a name, the command says more itself.
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        say(f"cupti-etl: {where}{error.strerror or error}")
        say(f"  {_TODO.get(error.errno or 0, '--debug shows where it happened')}")
        sys.exit(1)
    sys.exit(result if isinstance(result, int) else 0)


def _run(arguments: list[str]) -> Any:
    """As ``cli.main``, which makes status 1 of a broken pipe."""
    if VARIABLE in os.environ:
        cli.main(arguments, prog_name="cupti-etl", complete_var=VARIABLE)
    try:
        with cli.make_context("cupti-etl", list(arguments)) as context:
            return cli.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
