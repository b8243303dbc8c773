"""``cupti-etl query``: run a query of the library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cupti_etl.commands._complete import files, queries
from cupti_etl.commands._scope import open_part, scope_options
from cupti_etl.engines.engine import NAMES as ENGINES
from cupti_etl.errors import UsageError
from cupti_etl.progress import say
from cupti_etl.render.help import Command, fitted
from cupti_etl.render.output import InMemory, Output, output_options, write

if TYPE_CHECKING:
    from cupti_etl.queries.choose import Scope


class _Query(Command):
    """The command, which knows the parameters of queries from options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, with a hint for a parameter that is given like an option."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from cupti_etl.queries.catalog import library

            name = error.option_name.lstrip("-").replace("-", "_")
            if not any(name == field.name for query in library() for field in query.parameters):
                raise
            raise UsageError(
                f"{error.option_name} is no option, but a parameter of a query",
                f"--param {name}=VALUE",
            ) from None


# --help belongs to the query where one is named, so click must not answer it first.
@click.command("query", cls=_Query, add_help_option=False)
@click.argument("name", required=False, shell_complete=queries)
@click.argument("traces", nargs=-1, metavar="[TRACE]...", shell_complete=files)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter; can be repeated.",
)
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the queries, or those about NAME; with --all, building blocks as well.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Who computes: one DuckDB, several processes of this machine, or workers of Ray or Spark.",
)
@click.option("--sql", "as_sql", is_flag=True, help="Print the SQL of query NAME.")
@click.option(
    "-h", "--help", "helping", is_flag=True, help="Show this message, or describe query NAME."
)
@scope_options
@output_options
@click.pass_context
def command(
    context: click.Context,
    name: str | None,
    traces: tuple[str, ...],
    params: tuple[str, ...],
    listing: bool,
    engine: str,
    as_sql: bool,
    helping: bool,
    scope: Scope,
    output: Output,
) -> None:
    """Run a query of the library on a trace, or on several as one.

    \b
      cupti-etl query kernel_summary run42
      cupti-etl query gpu_busy node1 node2.duckdb
      cupti-etl query kernel_summary run42 --steps 5-8 --rank 3
      cupti-etl query kernel_summary node* --engine ray
      cupti-etl query kernel_summary --help
      cupti-etl query --list
      cupti-etl query --list idle
    """
    from cupti_etl.queries.catalog import library

    if helping:
        from cupti_etl.queries.reference import describe

        click.echo(fitted(describe(library()[name])) if name else context.get_help())
    elif listing:
        from cupti_etl.queries.reference import overview, overview_rows

        found = library().search(name or "")
        if not found:
            raise UsageError(f"no query is about {name!r}", "cupti-etl query --list --all")
        shown = [each for each in found if output.all_rows or each.front or name]
        listed = [each for each in shown if output.all_rows or not each.is_building_block]
        if output != Output(all_rows=output.all_rows):
            write(InMemory(overview_rows(listed)), output)
            return
        click.echo(fitted(overview(listed)))
        if len(shown) < len(found):
            click.echo(f"\n{len(found) - len(shown)} more: cupti-etl query --list --all")
    elif as_sql and name:
        click.echo(library()[name].sql)
    elif name is None:
        raise UsageError("which query?", "cupti-etl query --list lists them")
    elif name not in library() and traces and traces[0] in library():
        raise UsageError("the query comes before the trace", f"cupti-etl query {traces[0]} {name}")
    elif name not in library() and not traces and Path(name).exists():
        raise UsageError(f"which query of {name}?", "cupti-etl query --list lists them")
    else:
        query = library()[name]
        if not traces:
            raise UsageError(f"on which trace shall {name} run?", f"cupti-etl query {name} TRACE")
        from cupti_etl.analysis.notes import Watched, notes
        from cupti_etl.queries.runner import assignment

        given = dict(map(assignment, params))

        with open_part(traces, scope, steady=query.scope == "steady") as opened:
            answer = opened.engine(engine).query(query.name, **given)
            result = Watched(answer)
            write(result, output)
            for line in answer.notes:
                say(f"cupti-etl: {line}")
            more = notes(opened, query, given, is_empty=result.is_empty, engine=engine)
            for line in more:
                say(f"cupti-etl: {line}")
