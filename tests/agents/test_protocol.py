"""The tools through the protocol's official client: in this process, and a real command."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from agents.conftest import Ask

# Importing it takes a second in each worker, most of which run no test of this file.
pytestmark = pytest.mark.skipif(not find_spec("mcp"), reason="the extra mcp is not installed")


def talk(transport: Any, talks: Callable[[Any], Any]) -> Any:
    """Run a conversation with a server."""
    import anyio
    from mcp import Client

    async def conversation() -> Any:
        async with Client(transport) as client:
            return await talks(client)

    return anyio.run(conversation)


@pytest.mark.slow
def test_tools_are_described(tools: Ask) -> None:
    from cupti_etl.mcp.server import server

    async def listed(client: Any) -> Any:
        return (await client.list_tools()).tools

    found = {tool.name: tool for tool in talk(server(tools("demo")), listed)}
    assert list(found) == [
        "trace_overview", "findings", "list_queries", "describe", "run_query", "run_sql",
        "report", "compare",
    ]  # fmt: skip
    for tool in found.values():
        assert tool.annotations.read_only_hint
        # Each of its words is explained.
        for word in tool.input_schema["properties"]:
            assert f"    {word}: " in tool.description
    assert found["run_query"].input_schema["required"] == ["name"]


def test_answers_and_refusals(tools: Ask) -> None:
    from cupti_etl.mcp.server import server

    async def asked(client: Any) -> Any:
        return [
            await client.call_tool("run_query", {"name": "gpu_busy", "scope": {"gpu": 0}}),
            await client.call_tool("run_query", {"name": "gpu_bussy"}),
            await client.call_tool("run_query", {}),
        ]

    good, refused, wrong = talk(server(tools("demo")), asked)
    assert not good.is_error
    assert "NVIDIA H200" in good.content[0].text
    assert refused.is_error
    assert "did you mean gpu_busy" in refused.content[0].text
    assert wrong.is_error
    assert "name" in wrong.content[0].text


@pytest.mark.slow
def test_a_real_command(folder: Callable[[str], Path]) -> None:
    """Nothing but the protocol is on its standard output, and it ends with its input."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def asked(client: Any) -> Any:
        return await client.call_tool("run_sql", {"statement": "SELECT count(*) FROM kernel"})

    words = ["-m", "cupti_etl", "mcp", str(folder("demo"))]
    transport = stdio_client(StdioServerParameters(command=sys.executable, args=words))
    assert "| 5,947 |" in talk(transport, asked).content[0].text
