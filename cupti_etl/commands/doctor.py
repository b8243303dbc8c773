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
    help="Look at this libcupti too, as capture --cupti would use it.",
)
@click.pass_context
def command(context: click.Context, as_json: bool, cupti: Path | None) -> None:
    """Say whether this machine can capture, and what to do if not.

    Looks at the driver, the GPUs, every copy of libcupti and which one would be used, the
    privileges for hardware counters, other tools that are in the way, and limits. Exits with
    status 0 if a capture can work, with 1 if not.
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
