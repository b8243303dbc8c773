"""``cupti-etl report``: a trace on one page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.progress import Line, say
from cupti_etl.render.help import Command
from cupti_etl.render.output import open_output, output_option

if TYPE_CHECKING:
    from cupti_etl.queries.choose import Scope


@click.command("report", cls=Command)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=files)
@output_option("Write to FILE: .html for a page with charts, .md for Markdown.")
@scope_options
@click.pass_context
def command(
    context: click.Context, traces: tuple[str, ...], path: Path | None, scope: Scope
) -> None:
    """Report where the time went and what could be saved.

    \b
      cupti-etl report run42
      cupti-etl report run42 -o run42.html

    Findings are ranked by the most time that each could save, with the query that shows the
    details. Without -o, the report is written to standard output as Markdown; on a terminal its
    tables fit the width. The HTML page is one
    file and loads nothing from the network. If a section fails, the report says so in its place,
    and the exit status is 1.
    """
    from cupti_etl.analysis.document import check_suffix
    from cupti_etl.analysis.markdown import terminal
    from cupti_etl.analysis.pasted import with_names
    from cupti_etl.analysis.report import build

    if path is not None:
        check_suffix(path)
    with open_part(traces, scope, steady=True) as trace:
        line = Line()
        report = build(trace, lambda title: line.show(f"cupti-etl: {title}"))
        line.clear()
    if path is not None:
        report.save(path)
        say(f"cupti-etl: report in {path}")
    else:
        # A file may be read anywhere.
        named = with_names(report, traces)
        text = terminal(named) if sys.stdout.isatty() else str(named)
        with open_output(None) as out:
            out.write(text.encode())
    for query, why in report.failed.items():
        say(f"cupti-etl: {query} could not be answered: {why}")
    if report.failed:
        context.exit(1)
