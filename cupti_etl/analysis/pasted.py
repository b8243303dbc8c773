"""Commands of a report that can be pasted where it is read: with the traces as they were given."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from cupti_etl.analysis.report import Report

_TEMPLATE = re.compile(r"(cupti-etl query \w+) TRACE\b")
# Of more traces, each command would fill the page.
_MOST = 100


def with_names(report: Report, traces: Sequence[str]) -> Report:
    """The report with the names of its traces in its commands, if they are not too long.

    Args:
        report: its commands say TRACE.
        traces: as a person gave them.
    """
    names = shlex.join(traces)
    if len(names) > _MOST:
        return report

    def named(text: str) -> str:
        return _TEMPLATE.sub(lambda found: f"{found[1]} {names}", text)

    return replace(
        report,
        sections=[replace(each, command=named(each.command)) for each in report.sections],
        findings=[
            replace(each, command=named(each.command), advice=named(each.advice))
            for each in report.findings
        ],
    )
