"""``cupti-etl mcp``: a trace for agents."""

from __future__ import annotations

import click

from cupti_etl.commands._complete import files
from cupti_etl.commands._serving import time_limit_option
from cupti_etl.errors import need
from cupti_etl.render.help import Command


@click.command("mcp", cls=Command)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...", shell_complete=files)
@time_limit_option
def command(traces: tuple[str, ...], time_limit: float) -> None:
    """Answer the questions of an agent about a trace (MCP).

    \b
      claude mcp add gpu -- cupti-etl mcp run42
      cupti-etl mcp before after

    It speaks the Model Context Protocol over standard input and output: a program for agents
    starts it. It only reads the trace: SQL from an agent is one SELECT, in a DuckDB that reaches no
    other file. See docs/howto/agents.md.
    """
    need("mcp", todo="pip install 'cupti-etl[mcp]'")
    from cupti_etl.api import open as open_trace
    from cupti_etl.mcp.server import server
    from cupti_etl.mcp.tools import Tools
    from cupti_etl.storage.sources import expand

    paths = [path.absolute() for path in expand(traces)]
    # Whatever is wrong with them is said at once.
    with open_trace(*paths, confined=True):
        pass
    tools = Tools(paths, time_limit)
    try:
        server(tools).run("stdio")
    finally:
        tools.close()
