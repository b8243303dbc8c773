"""``cupti-etl diff``: what changed from one run, or several, to others."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._scope import open_whole, part_of, scope_options
from cupti_etl.errors import UsageError
from cupti_etl.progress import say
from cupti_etl.render.help import Command
from cupti_etl.render.output import Output, output_options

if TYPE_CHECKING:
    from cupti_etl.api import Trace
    from cupti_etl.queries.choose import Scope

# A status of its own, so that a job can tell a slower program from a trace that cannot be read.
FAILED = 5


@click.command("diff", cls=Command)
@click.argument("before", shell_complete=files)
@click.argument("after", shell_complete=files)
@click.option(
    "--before",
    "more_before",
    multiple=True,
    metavar="TRACE",
    shell_complete=files,
    help="Another run like BEFORE; can be repeated.",
)
@click.option(
    "--after",
    "more_after",
    multiple=True,
    metavar="TRACE",
    shell_complete=files,
    help="Another run like AFTER; can be repeated.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["regress", "improve", "cannot-tell"]),
    multiple=True,
    help=f"Exit with status {FAILED} on this verdict; can be repeated.",
)
@click.option(
    "--min-effect",
    type=float,
    metavar="SHARE",
    help="Smallest change of a mean duration that counts; by default 0.03 (3 %) with one run on"
    " each side, 0.01 with several; and 0.01 of a step for what the GPU computes.",
)
@scope_options
@output_options
@click.pass_context
def command(
    context: click.Context,
    before: str,
    after: str,
    more_before: tuple[str, ...],
    more_after: tuple[str, ...],
    fail_on: tuple[str, ...],
    min_effect: float | None,
    scope: Scope,
    output: Output,
) -> None:
    """Compare two runs, or several of each.

    Shows how steps, modules, operators and kernels of AFTER differ from those of BEFORE:

    \b
      cupti-etl diff before after
      cupti-etl diff before after --fail-on regress
      cupti-etl diff before after -o diff.html

    Runs of the same program also differ. If you give several runs of each, these differences
    are taken into account. Make at least 3 of each, in turns (before, after, before, after):

    \b
      cupti-etl diff b1 a1 --before b2 --before b3 --after a2 --after a3

    The means are of one call or step, and the change is that of all of them together. If the runs
    have different numbers of steps, it is from what BEFORE would take for as many as AFTER has. The
    change of a kernel's time is split into the effects of the number of calls, of the launch
    shapes and of the durations. The changes of modules, and those of operators, add up to the
    change of GPU time.

    A verdict is regress, improve, none (less than --min-effect) or cannot tell. Kernels that only
    one side has are added, removed, renamed or replaced (kernel_added_removed). The verdict on the
    whole run is printed to standard error; it is about the steps, or about all kernels if there
    are no steps. GPUs of the same rank are compared; without ranks, those with the most similar
    kernels.
    """
    from cupti_etl.analysis.diff import comparable, diff_as_given
    from cupti_etl.render.sections import write_sections

    names = [(before, *more_before), (after, *more_after)]
    said_parts: set[str] = set()
    with ExitStack() as stack:

        def opened(name: str) -> Trace:
            return stack.enter_context(open_whole([name]))

        def part(whole: Trace) -> Trace:
            is_chosen = usual != scope
            asked = part_of(whole, usual, is_chosen=is_chosen, said=said_parts)
            try:
                return stack.enter_context(asked)
            except UsageError as error:  # others may have what this one has not
                raise UsageError(f"{whole.path}: {error.message}", error.hint) from None

        wholes = [[opened(name) for name in side] for side in names]
        usual = comparable([*wholes[0], *wholes[1]], scope)
        olds, news = ([part(whole) for whole in side] for side in wholes)
        found = diff_as_given(olds, news, min_effect)
    title = " compared with ".join(", ".join(side) for side in reversed(names))
    write_sections(title, found.lines, found.sections(), found.table, output)
    for line in found.said:
        say(line)
    if found.verdict.replace(" ", "-") in fail_on:
        context.exit(FAILED)
