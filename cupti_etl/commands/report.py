"""``cupti-etl report``: a trace on one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.errors import UsageError
from cupti_etl.progress import Line, say

if TYPE_CHECKING:
    from cupti_etl.queries.choose import Scope


@click.command("report")
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=files)
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to FILE: .html for a page with plots, .md for Markdown.",
)
@scope_options
@click.pass_context
def command(
    context: click.Context, traces: tuple[str, ...], path: Path | None, scope: Scope
) -> None:
    """Say what ran in TRACE, where the time went, and what could be saved.

    \b
      cupti-etl report run42
      cupti-etl report run42 -o run42.html

    Findings are ranked by the time that they could save at most; each names the query that shows
    it. Without -o, Markdown goes to standard output. The HTML is one file that fetches nothing.
    What could not be answered is said in its place, and the exit status is 1 then.
    """
    if path is not None and path.suffix not in (".html", ".md"):
        raise UsageError(f"{path} is neither .html nor .md", "choose one of these suffixes")
    from cupti_etl.analysis.report import build, markdown

    with open_part(traces, scope, steady=True) as trace:
        line = Line()
        report = build(trace, lambda title: line.show(f"cupti-etl: {title}"))
        line.clear()
    if path is not None and path.suffix == ".html":
        from cupti_etl.analysis.html import html

        text = html(report)
    else:
        text = markdown(report)
    if path is None:
        click.echo(text, nl=False)
    else:
        _write(path, text)
    for query, why in report.failed.items():
        say(f"cupti-etl: {query} could not be answered: {why}")
    if report.failed:
        context.exit(1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "choose another file") from error
