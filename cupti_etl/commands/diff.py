"""``cupti-etl diff``: what changed from one run to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.progress import say
from cupti_etl.render.output import InMemory, Output, output_options, write

if TYPE_CHECKING:
    from cupti_etl.queries.choose import Scope

# A status of its own, so that a job can tell a slower program from a trace that cannot be read.
FAILED = 5


@click.command("diff")
@click.argument("base", shell_complete=files)
@click.argument("other", shell_complete=files)
@click.option(
    "--fail-on",
    type=click.Choice(["regress", "improve", "cannot-tell"]),
    multiple=True,
    help=f"Exit with status {FAILED} on this verdict; repeat it for several.",
)
@click.option(
    "--min-effect",
    type=float,
    default=0.03,
    show_default=True,
    help="Smallest change of a mean duration that matters, as a share.",
)
@scope_options
@output_options
@click.pass_context
def command(
    context: click.Context,
    base: str,
    other: str,
    fail_on: tuple[str, ...],
    min_effect: float,
    scope: Scope,
    output: Output,
) -> None:
    """Compare run OTHER with run BASE: steps, and kernels by name and launch shape.

    \b
      cupti-etl diff before after
      cupti-etl diff before after --fail-on regress

    The change of a kernel's time is split into that of its calls, of its launch shapes and of its
    duration. A verdict is regress, improve, none (less than --min-effect) or cannot tell; kernels
    of one run only are added or removed. The verdict on the run, on standard error, is that of its
    steps, or of all kernels where there are none. GPUs of one rank are compared, else those whose
    kernels are most alike.
    """
    from cupti_etl.analysis.diff import SHAPE, diff

    with (
        open_part([base], scope, steady=True) as before,
        open_part([other], scope, steady=True) as after,
    ):
        found = diff(before, after, min_effect)
    write(InMemory(found.table, SHAPE), output)
    say(f"verdict: {found.verdict}: {found.why}")
    if found.verdict.replace(" ", "-") in fail_on:
        context.exit(FAILED)
