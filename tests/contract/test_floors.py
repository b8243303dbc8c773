"""Imports go down only: the floors of the house."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "cupti_etl"

# Longest prefix wins.  A module may import from lower floors, and from its own package on
# its own floor.
FLOORS = {
    "cupti_etl.errors": 0,
    "cupti_etl.config": 1,
    "cupti_etl.units": 1,
    "cupti_etl.signals": 1,
    "cupti_etl.progress": 1,
    # The package itself, and any module that has no floor of its own yet.
    "cupti_etl": 1,
    "cupti_etl.schema.types": 1,
    "cupti_etl.schema.api_levels": 1,
    "cupti_etl.schema.spec": 2,
    "cupti_etl.schema.enums": 3,
    "cupti_etl.schema.nccl": 3,
    "cupti_etl.schema.counters": 3,
    "cupti_etl.schema.own": 4,
    "cupti_etl.schema.shared": 3,
    "cupti_etl.schema.kinds": 4,
    "cupti_etl.schema": 5,
    "cupti_etl.native._abi": 6,
    "cupti_etl.native": 7,
    "cupti_etl.storage": 8,
    "cupti_etl.pm": 9,
    "cupti_etl.capture": 10,
    "cupti_etl.capture.collector": 11,
    "cupti_etl.capture.launcher": 11,
    "cupti_etl.capture.summary": 11,
    "cupti_etl.imports": 12,
    "cupti_etl.queries": 13,
    "cupti_etl.queries.operators": 14,
    "cupti_etl.pm.attribution": 14,
    "cupti_etl.sass": 14,
    "cupti_etl.capture.daemon": 14,
    "cupti_etl.capture.outcome": 12,
    "cupti_etl.capture.recorder": 12,
    "cupti_etl.capture.replay": 12,
    "cupti_etl.capture.session": 14,
    "cupti_etl.capture.without_command": 14,
    "cupti_etl.imports.run": 14,
    # How an answer looks, which an answer knows; what writes whole traces lies above them.
    "cupti_etl.render": 14,
    "cupti_etl.queries.result": 15,
    "cupti_etl.queries.completion": 15,
    "cupti_etl.engines": 16,
    "cupti_etl.api": 17,
    "cupti_etl.render.beside": 18,
    "cupti_etl.render.chrome": 18,
    "cupti_etl.render.duckdb_file": 18,
    "cupti_etl.render.files": 18,
    "cupti_etl.render.perfetto": 18,
    "cupti_etl.render.shell": 18,
    "cupti_etl.render.sqlite_file": 18,
    "cupti_etl.render.stacks": 18,
    "cupti_etl.inprocess": 18,
    "cupti_etl.analysis": 19,
    "cupti_etl.runs": 19,
    "cupti_etl.demo": 20,
    "cupti_etl.doctor": 20,
    "cupti_etl.serve": 20,
    "cupti_etl.top": 20,
    # Asks what is served, in words.
    "cupti_etl.mcp": 21,
    "cupti_etl.jupyter": 21,
    "cupti_etl.testing": 21,
    "cupti_etl.commands": 22,
    "cupti_etl.cli": 23,
    "cupti_etl.__main__": 24,
}
# Each with its reason; the list may only get shorter.
EXCEPTIONS = {
    # `cupti_etl.open` and others, on first use.
    ("cupti_etl", "cupti_etl.analysis.diff"),
    ("cupti_etl", "cupti_etl.analysis.report"),
    ("cupti_etl", "cupti_etl.api"),
    ("cupti_etl", "cupti_etl.inprocess.capture"),
    ("cupti_etl", "cupti_etl.inprocess.range_metrics"),
    ("cupti_etl", "cupti_etl.inprocess.ranges"),
    ("cupti_etl", "cupti_etl.inprocess.callback_event"),
    ("cupti_etl", "cupti_etl.inprocess.callbacks"),
}
# What a floor must not know although it lies lower: who captures does not know where
# rows go, and who asks does not know how they got there.
FORBIDDEN = (
    ("cupti_etl.capture", "cupti_etl.storage"),
    ("cupti_etl.imports", "cupti_etl.storage"),
    ("cupti_etl.queries", "cupti_etl.capture"),
)

# Who puts the floors together.
SESSIONS = {
    "cupti_etl.capture.daemon",
    "cupti_etl.capture.recorder",
    "cupti_etl.capture.session",
    "cupti_etl.capture.without_command",
    "cupti_etl.imports.run",
}


def floor(module: str) -> int:
    while module not in FLOORS:
        module = module.rpartition(".")[0]
    return FLOORS[module]


def imports(name: str, tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                path = ROOT.parent / full.replace(".", "/")
                is_module = path.is_dir() or path.with_suffix(".py").exists()
                yield full if is_module else str(node.module)


def package(module: str) -> str:
    return ".".join(module.split(".")[:2])


def violations(name: str, tree: ast.AST) -> list[str]:
    found = []
    for target in imports(name, tree):
        if package(target).split(".")[0] != "cupti_etl" or (name, target) in EXCEPTIONS:
            continue
        forbidden = name not in SESSIONS and any(
            name.startswith(a) and target.startswith(b) for a, b in FORBIDDEN
        )
        # What several commands share begins with an underscore.
        two_commands = "cupti_etl.commands." in name and (
            target.startswith("cupti_etl.commands.") and ".commands._" not in target
        )
        beside = floor(target) == floor(name) and package(target) == package(name)
        down = floor(target) < floor(name) or beside
        if forbidden or two_commands or not down:
            found.append(f"{name} imports {target}")
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in sorted(ROOT.rglob("*.py"))}


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down(name: str) -> None:
    assert violations(name, ast.parse(MODULES[name].read_text())) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("cupti_etl.capture.decoder", "from cupti_etl.storage.part import write_part"),
        ("cupti_etl.queries.runner", "def f():\n    import cupti_etl.capture.collector"),
        ("cupti_etl.errors", "from cupti_etl.schema import arrow"),
        ("cupti_etl.commands.sql", "from cupti_etl.commands.query import command"),
        ("cupti_etl.schema.spec", "from cupti_etl.commands import capture"),
        ("cupti_etl.schema.spec", "from cupti_etl.schema.arrow import arrow_schema"),
        ("cupti_etl.schema.kinds.kernel", "import cupti_etl.schema.tables"),
        ("cupti_etl.native.loader", "from cupti_etl.capture import decoder"),
        ("cupti_etl.capture.loss", "from cupti_etl.capture.collector import Collector"),
        ("cupti_etl.storage.parquet", "from cupti_etl.capture.decoder import Decoder"),
        ("cupti_etl.queries.views", "from cupti_etl import api"),
        ("cupti_etl.imports.nsys.reader", "from cupti_etl.storage.parquet import ParquetFolder"),
        ("cupti_etl.brand_new", "from cupti_etl.api import open"),
    ],
)
def test_an_import_that_goes_up_is_seen(name: str, source: str) -> None:
    assert violations(name, ast.parse(source)) != []


def test_exceptions_are_needed() -> None:
    used = {
        (name, target)
        for name, path in MODULES.items()
        for target in imports(name, ast.parse(path.read_text()))
    }
    assert EXCEPTIONS - used == set()
