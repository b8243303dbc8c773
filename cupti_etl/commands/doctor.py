"""``cupti-etl doctor``: can this machine capture?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from cupti_etl.doctor.examine import examine
from cupti_etl.doctor.findings import FAIL, OK, WARN, Finding, System, can_capture

_COLOURS = {OK: "green", WARN: "yellow", FAIL: "red"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option(
    "--cupti",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also check this libcupti, as for capture --cupti.",
)
@click.pass_context
def command(context: click.Context, as_json: bool, cupti: Path | None) -> None:
    """Check whether this machine can capture.

    Checks the driver, the GPUs, every copy of libcupti, the privileges for hardware counters,
    other tools that could interfere, and limits, and says what to do about each problem.

    Exit status: 0 if a capture can work, 1 if not.
    """
    findings = examine(System(cupti=cupti))
    usable = can_capture(findings)
    if as_json:
        data = {"can_capture": usable, "findings": [finding.as_dict() for finding in findings]}
        click.echo(json.dumps(data, indent=2))
    else:
        for finding in findings:
            _show(finding)
        problems = sum(finding.status == FAIL for finding in findings)
        verdict = "A capture can work." if usable else f"A capture cannot work: {problems} failed."
        click.secho(verdict, fg=_COLOURS[OK if usable else FAIL], bold=True)
    context.exit(0 if usable else 1)


def _show(finding: Finding) -> None:
    status = click.style(f"{finding.status:4}", fg=_COLOURS[finding.status])
    click.echo(f"{status}  {finding.area:9} {finding.what}")
    if finding.todo:
        click.echo(f"{'':16}-> {finding.todo}")
