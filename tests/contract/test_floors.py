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
    "cupti_etl.config": 0,
    # The package itself, and any module that has no floor of its own yet.
    "cupti_etl": 1,
    "cupti_etl.schema.types": 1,
    "cupti_etl.schema.api_levels": 1,
    "cupti_etl.schema.spec": 2,
    "cupti_etl.schema.enums": 3,
    "cupti_etl.schema.own": 3,
    "cupti_etl.schema.kinds": 4,
    "cupti_etl.schema": 5,
    "cupti_etl.capture._abi": 6,
    "cupti_etl.capture.native": 7,
    "cupti_etl.capture": 8,
    "cupti_etl.sinks": 8,
    "cupti_etl.capture.collector": 9,
    "cupti_etl.capture.launcher": 9,
    "cupti_etl.queries": 8,
    "cupti_etl.samples": 9,
    "cupti_etl.sweeps": 9,
    "cupti_etl.imports": 11,
    "cupti_etl.live_line": 10,
    "cupti_etl.trace": 10,
    "cupti_etl.pipeline": 11,
    "cupti_etl.export": 11,
    "cupti_etl.answers": 11,
    "cupti_etl.importing": 12,
    "cupti_etl.demo": 12,
    "cupti_etl.doctor": 12,
    "cupti_etl.pm_options": 12,
    "cupti_etl.run": 12,
    "cupti_etl.shell": 12,
    "cupti_etl.commands": 13,
    "cupti_etl.cli": 14,
    "cupti_etl.docgen": 15,
    "cupti_etl.__main__": 15,
}
# Each with its reason; the list may only get shorter.
EXCEPTIONS = {
    # The one writer of derived files asks every floor for its page, inside functions.
    ("cupti_etl.schema.generate", "cupti_etl.queries.reference"),
    ("cupti_etl.schema.generate", "cupti_etl.docgen"),
    # trace.duckdb is the query library written into a file.
    ("cupti_etl.sinks.duckdb", "cupti_etl.queries.failure"),
    ("cupti_etl.sinks.duckdb", "cupti_etl.queries.runner"),
    ("cupti_etl.sinks.duckdb", "cupti_etl.queries.sources"),
    # `cupti_etl.open`, on first use.
    ("cupti_etl", "cupti_etl.trace"),
}
# What a floor must not know although it lies lower: who captures does not know where
# rows go, and who asks does not know how they got there.
FORBIDDEN = (
    ("cupti_etl.capture", "cupti_etl.sinks"),
    ("cupti_etl.imports", "cupti_etl.sinks"),
    ("cupti_etl.queries", "cupti_etl.capture"),
)


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
        forbidden = any(name.startswith(a) and target.startswith(b) for a, b in FORBIDDEN)
        two_commands = "cupti_etl.commands." in name and target.startswith("cupti_etl.commands.")
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
        ("cupti_etl.capture.decode", "from cupti_etl.sinks.part import write_part"),
        ("cupti_etl.queries.runner", "def f():\n    import cupti_etl.capture.collector"),
        ("cupti_etl.errors", "from cupti_etl.schema import arrow"),
        ("cupti_etl.commands.sql", "from cupti_etl.commands.query import command"),
        ("cupti_etl.schema.spec", "from cupti_etl.commands import capture"),
        ("cupti_etl.schema.spec", "from cupti_etl.schema.arrow import arrow_schema"),
        ("cupti_etl.schema.kinds.kernel", "import cupti_etl.schema.tables"),
        ("cupti_etl.capture.native", "from cupti_etl.capture import decode"),
        ("cupti_etl.capture.loss", "from cupti_etl.capture.collector import Collector"),
        ("cupti_etl.sinks.parquet", "from cupti_etl.capture.decode import Decoder"),
        ("cupti_etl.queries.views", "from cupti_etl import trace"),
        ("cupti_etl.imports.nsys", "from cupti_etl.sinks.parquet import ParquetSink"),
        ("cupti_etl.brand_new", "from cupti_etl.trace import open"),
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
