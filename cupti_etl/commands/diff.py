"""``cupti-etl diff``: what changed from one run, or several, to others."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.progress import say
from cupti_etl.render.output import Output, output_options

if TYPE_CHECKING:
    from cupti_etl.api import Trace
    from cupti_etl.queries.choose import Scope

# A status of its own, so that a job can tell a slower program from a trace that cannot be read.
FAILED = 5


@click.command("diff")
@click.argument("before", shell_complete=files)
@click.argument("after", shell_complete=files)
@click.option(
    "--before",
    "more_before",
    multiple=True,
    metavar="TRACE",
    shell_complete=files,
    help="Another run of what BEFORE is a run of; repeat it for several.",
)
@click.option(
    "--after",
    "more_after",
    multiple=True,
    metavar="TRACE",
    shell_complete=files,
    help="Another run of what AFTER is a run of; repeat it for several.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["regress", "improve", "cannot-tell"]),
    multiple=True,
    help=f"Exit with status {FAILED} on this verdict; repeat it for several.",
)
@click.option(
    "--min-effect",
    type=float,
    metavar="SHARE",
    help="Smallest change of a mean duration that matters; if nothing is said, 0.03 (3 %) with one"
    " run a side and 0.01 with several.",
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
    """Compare run AFTER with run BEFORE: steps, modules, operators and kernels.

    \b
      cupti-etl diff before after
      cupti-etl diff before after --fail-on regress
      cupti-etl diff before after -o diff.html

    Equal runs differ, too. With several of each side a change is judged by how much they do; take
    turns with them (before, after, before, after), and compare 3 or more of each:

    \b
      cupti-etl diff b1 a1 --before b2 --before b3 --after a2 --after a3

    The change of a kernel's time is split into that of its calls, of its launch shapes and of its
    duration; those of modules and of operators add to the change of GPU time. A verdict is regress,
    improve, none (less than --min-effect) or cannot tell; kernels of one side only are added,
    removed, renamed or replaced (kernel_added_removed). The verdict on the run, on standard error,
    is that of its steps, or of all kernels where there are none. GPUs of one rank are compared,
    else those whose kernels are most alike.
    """
    from cupti_etl.analysis.diff import diff
    from cupti_etl.render.sections import write_sections

    names = [(before, *more_before), (after, *more_after)]
    parts: set[str] = set()
    with ExitStack() as stack:

        def opened(name: str) -> Trace:
            return stack.enter_context(open_part([name], scope, steady=True, said=parts))

        olds, news = ([opened(name) for name in side] for side in names)
        found = diff(olds, news, min_effect)
    said = [f"verdict: {found.verdict}: {found.why}"]
    said += [f"note: {found.note}"] if found.note else []
    title = " compared with ".join(", ".join(side) for side in reversed(names))
    write_sections(title, said, found.sections(), found.table, output)
    for line in said:
        say(line)
    if found.verdict.replace(" ", "-") in fail_on:
        context.exit(FAILED)
