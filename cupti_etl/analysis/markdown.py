"""The report as text: Markdown, or for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cupti_etl.analysis.report import ROWS, Report
from cupti_etl.progress import printable
from cupti_etl.render.escape import markdown_text
from cupti_etl.render.help import fitted
from cupti_etl.render.table import Table
from cupti_etl.render.text import markdown_lines, terminal_lines
from cupti_etl.render.values import duration


def markdown(report: Report) -> str:
    """The report as Markdown."""
    return _page(report, markdown_text, markdown_lines, strong="**", code="`", before=" ")


def terminal(report: Report) -> str:
    """The report for a terminal: as Markdown, with tables that fit its width."""
    return fitted(_page(report, printable, terminal_lines))


def _page(
    report: Report,
    text: Callable[[str], str],
    drawn: Callable[[Table], Iterable[str]],
    strong: str = "",
    code: str = "",
    before: str = "\n  ",
) -> str:
    """The report as lines of text.

    Args:
        report: what is written.
        text: makes words of a trace fit to be shown.
        drawn: the lines of a table.
        strong: stands around what matters most.
        code: stands around commands.
        before: stands between a finding and its command.
    """
    lines = [f"# {text(report.name)}", ""]
    lines += [f"Part of the trace: {text(report.part)}.", ""] if report.part else []
    lines += [f"Capture: {text(report.state)}.", ""]
    for warning in report.warnings:
        lines += [f"{strong}{text(warning)}{strong}", ""]
    lines += ["## Findings", ""]
    lines += [
        f"{at}. {strong}{duration(each.saved_ns)}{strong}, {each.percent:.0f} % ({each.sure}):"
        f" {text(each.text)}. To do: {text(each.advice)}.{before}{code}{each.command}{code}"
        for at, each in enumerate(report.findings, start=1)
    ]
    lines += ["", report.says] if report.findings else [report.says]
    for section in report.shown:
        lines += ["", f"## {section.title}", "", f"{code}{section.command}{code}", ""]
        if section.table is None:
            lines.append(f"No rows: {text(section.reason)}")
            continue
        lines += drawn(section.table)
        if section.table.more:
            lines += ["", f"The first {ROWS}; the command shows all."]
    if report.empty:
        lines += ["", "## Without rows", ""]
        lines += [f"- {', '.join(titles)}: {text(why)}" for why, titles in report.empty.items()]
    return "\n".join(lines) + "\n"
