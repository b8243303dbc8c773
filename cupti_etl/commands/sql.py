"""``cupti-etl sql``: any SQL over a trace."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.errors import UsageError
from cupti_etl.progress import say
from cupti_etl.render.help import Command
from cupti_etl.render.output import Output, output_options, write

if TYPE_CHECKING:
    from cupti_etl.queries.choose import Scope
    from cupti_etl.queries.result import Result


@click.command("sql", cls=Command)
@click.argument("words", nargs=-1, required=True, metavar="TRACE... [QUERY]", shell_complete=files)
@scope_options
@output_options
def command(words: tuple[str, ...], scope: Scope, output: Output) -> None:
    """Query a trace, or several as one, in SQL.

    Every table of the trace is a view, and so is every query of `cupti-etl query --list`:

    \b
      cupti-etl sql run42 "FROM kernel_summary LIMIT 5"
      cupti-etl sql run42 "FROM launch" --format parquet -o launch.parquet
      cupti-etl sql node1 node2.duckdb "FROM gpu_busy"
      echo "SELECT count(*) FROM kernel" | cupti-etl sql run42

    The last argument is the QUERY if it contains a space and is not the name of a trace. Without
    a QUERY, SQL is read from standard input; on a terminal, a small shell starts.

    Your SQL can read and write any file that you can, as in DuckDB itself. All other commands
    only use the files of the trace and those that you name.
    """
    from cupti_etl.analysis.notes import Watched
    from cupti_etl.queries.empty import why_nothing
    from cupti_etl.render.shell import Shell

    def show(result: Result, statement: str) -> None:
        rows = Watched(result)
        write(rows, output)
        for line in why_nothing(opened, statement) if rows.is_empty else ():
            say(f"cupti-etl: {line}")

    traces, query = _split(words)
    with open_part(traces, scope, confined=False) as opened, opened.session() as session:
        shell = Shell(session, show)
        if query is not None:
            shell.run_script([query])
        elif sys.stdin.isatty() and sys.stdout.isatty():
            shell.run_interactive(_history())
        else:
            shell.run_script(sys.stdin)


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    """The traces, and the query if there is one.

    Raises:
        UsageError: it is the name of a table or a query alone, or says nothing.
    """
    *traces, last = words
    # os.path takes what is too long for a path.
    if not traces or os.path.exists(last):  # noqa: PTH110
        return words, None
    if len(last.split()) > 1 or last.startswith("."):
        return tuple(traces), last
    line = shlex.join(["cupti-etl", "sql", *traces])
    if not last.strip():  # a variable of the shell that is not set
        raise UsageError("the QUERY is empty", f'{line} "FROM kernel_summary"')
    # No statement is a single word.
    from cupti_etl.render.advice import statement_for

    statement = statement_for(last)
    if statement:
        raise UsageError(f"{last!r} is neither a trace nor SQL", f'{line} "{statement}"')
    return words, None


def _history() -> Path | None:
    """The file of earlier statements; None for a user who has no home."""
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    # HOME may be empty, which pathlib takes for the root.
    if not given.is_absolute() and os.environ.get("HOME", "/") == "":
        return None
    try:
        state = given if given.is_absolute() else Path.home() / ".local/state"
    except RuntimeError:
        return None
    return state / "cupti-etl" / "sql_history" if state.is_absolute() else None
