"""``cupti-etl sql``: any SQL over a trace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from cupti_etl.export.table import Output, output_options, write


@click.command("sql")
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@output_options
def command(
    trace: Path, query: str | None, format: str | None, path: Path | None, all_rows: bool
) -> None:
    """Ask TRACE in SQL.

    Every table of the trace is a view, and so is every query of `cupti-etl query --list`:

    \b
      cupti-etl sql run42 "FROM kernel_summary LIMIT 5"
      cupti-etl sql run42 "FROM launch" --format parquet -o launch.parquet
      echo "SELECT count(*) FROM kernel" | cupti-etl sql run42

    Without QUERY it reads SQL from standard input; on a terminal that is a small shell.
    """
    from cupti_etl.shell import Shell
    from cupti_etl.trace import open as open_trace

    output = Output(format or "", path, all_rows)
    with open_trace(trace) as opened, opened.session() as session:
        shell = Shell(session, lambda result: write(result, output))
        if query is not None:
            shell.run_script([query])
        elif sys.stdin.isatty() and sys.stdout.isatty():
            shell.run_interactive(_history())
        else:
            shell.run_script(sys.stdin)


def _history() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "cupti-etl" / "sql_history"
