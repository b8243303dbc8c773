"""Recorded traces, and the tools that agents ask them with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cupti_etl
from cupti_etl.imports.run import import_traces

if TYPE_CHECKING:
    from cupti_etl.mcp.tools import Tools

DATA = Path(__file__).parents[1] / "data"
FILES = {
    "demo": Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec",
    "bert": DATA / "kineto_h100_with_stack.json.gz",
    "rank0": DATA / "kineto_rank0.json.gz",
    "rank1": DATA / "kineto_rank1.json.gz",
}

Ask = Callable[..., "Tools"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a recorded trace, made when it is first asked for."""
    home = tmp_path_factory.mktemp("recorded")

    def made(name: str) -> Path:
        if not (home / name).exists():
            import_traces([FILES[name]], home / name, 1)
        return home / name

    return made


@pytest.fixture(scope="session")
def tools(folder: Callable[[str], Path]) -> Iterator[Ask]:
    """Tools over recorded traces, by their names."""
    pytest.importorskip("starlette", reason="the extra mcp is not installed")
    from cupti_etl.mcp.tools import Tools

    known: dict[tuple[str, ...], Tools] = {}
    with ExitStack() as stack:

        def over(*names: str) -> Tools:
            if names not in known:
                known[names] = Tools([folder(name) for name in names])
                stack.callback(known[names].close)
            return known[names]

        yield over
