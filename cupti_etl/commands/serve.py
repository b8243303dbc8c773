"""``cupti-etl serve``: a trace over HTTP and Flight SQL."""

from __future__ import annotations

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._serving import need_the_extra, time_limit_option
from cupti_etl.render.help import Command


@click.command("serve", cls=Command)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=files)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=8756,
    show_default=True,
    help="Listen on this port; 0 takes one that is free.",
)
@click.option(
    "--flight",
    type=click.IntRange(0, 65535),
    is_flag=False,
    flag_value=8757,
    metavar="[=PORT]",
    help="Serve Arrow Flight SQL, too, on port 8757 or this one; 0 takes one that is free.",
)
@click.option("--open", "opens", is_flag=True, help="Show the page in a browser.")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Listen on this address; by default, only programs on this machine can connect.",
)
@time_limit_option
# How `capture --serve` starts it.
@click.option("--until-eof", is_flag=True, hidden=True)
@click.pass_context
def command(
    context: click.Context,
    traces: tuple[str, ...],
    port: int,
    flight: int | None,
    opens: bool,
    host: str,
    time_limit: float,
    until_eof: bool,
) -> None:
    """Serve a trace: a page, Arrow, JSON and CSV; Flight SQL.

    \b
      cupti-etl serve run42
      cupti-etl serve run42 --open
      cupti-etl serve node1 node2.duckdb --port 0
      cupti-etl serve run42 --flight

    The address with its token is printed; whoever has it can read the trace, and nothing else. New
    parts of a capture that still runs are served, too. Ctrl-C ends it. See docs/howto/serve.md.
    """
    need_the_extra()
    from cupti_etl.api import open as open_trace
    from cupti_etl.serve.run import run
    from cupti_etl.serve.served import Limits
    from cupti_etl.storage.sources import expand

    paths = [path.absolute() for path in expand(traces)]
    if not until_eof:
        # Whatever is wrong with them is said at once.
        with open_trace(*paths, confined=True):
            pass
    run(
        paths,
        host,
        port,
        opens=opens,
        limits=Limits(time_s=time_limit),
        debug=bool((context.find_root().obj or {}).get("debug")),
        until_eof=until_eof,
        flight=flight,
    )
