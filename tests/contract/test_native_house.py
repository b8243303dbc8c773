"""Rules of native/: which header declares what, and who calls whom."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from support.c_text import declared, defined, used
from support.shim import NATIVE

from tools.codegen.__main__ import ABI

# What the library offers to Python, whichever file it is in.
OFFERED = {name: declared(NATIVE / "include" / "etl" / f"{name}.h") for name in ABI}
# Found by the driver and by NVTX, by their names.
ENTRIES = {"InitializeInjection", "InitializeInjectionNvtx2"}


def misplaced(native: Path) -> list[str]:
    """Functions that are declared elsewhere than in the header of the file that defines them."""
    where = {name: path for path in native.rglob("*.c") for name in defined(path)}
    offered = set().union(*OFFERED.values())
    found, said = [], set()
    for header in native.rglob("*.h"):
        if header.stem in OFFERED and header.parent.name == "etl":
            continue
        for name in declared(header):
            said.add(name)
            source = where.get(name, native)
            homes = (source.with_suffix(".h"), native / "include" / "etl" / f"{source.stem}.h")
            if header not in homes:
                found.append(f"{header.name}: {name}")
    return sorted(found) + sorted(where.keys() - said - offered - ENTRIES)


def test_a_header_declares_the_functions_of_its_file() -> None:
    assert sum(len(declared(path)) for path in NATIVE.rglob("*.h")) > 200
    assert misplaced(NATIVE) == []


def test_a_misplaced_declaration_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int one(void)\n{ return 1; }\nint two(void) { return 2; }\n")
    (tmp_path / "a.h").write_text("int one(void);\n")
    (tmp_path / "b.h").write_text("/* a.c */ ETL_MUST_CHECK int two(void);\nint three(void);\n")
    assert misplaced(tmp_path) == ["b.h: three", "b.h: two"]
    (tmp_path / "b.h").unlink()
    assert misplaced(tmp_path) == ["two"]


def calls(folder: Path) -> dict[str, set[str]]:
    """Of each file, the others whose functions it uses."""
    where = {name: path.stem for path in folder.glob("*.c") for name in defined(path)}
    return {
        path.stem: {where[name] for name in used(path) & where.keys()} - {path.stem}
        for path in folder.glob("*.c")
    }


def test_nobody_calls_in_a_circle() -> None:
    graphs = [calls(NATIVE / room) for room in BELOW]
    assert sum(len(others) for graph in graphs for others in graph.values()) > 100
    for graph in graphs:
        assert [*TopologicalSorter(graph).static_order()]


def test_a_circle_is_seen(tmp_path: Path) -> None:
    (tmp_path / "timer.c").write_text("void tick(void)\n{\n\tlook();\n}\n")
    (tmp_path / "probe.c").write_text("void look(void)\n{\n\tlater(tock);\n}\n")
    (tmp_path / "recording.c").write_text("void tock(void) { tick(); /* look() */ }\n")
    with pytest.raises(CycleError) as error:
        [*TopologicalSorter(calls(tmp_path)).static_order()]
    assert {"timer", "probe", "recording"} == set(error.value.args[1])


# Of each room, those that it may know, besides include/etl.
BELOW: dict[str, set[str]] = {
    "arrow": set(),
    "attribution": {"arrow"},
    "collect": {"decode", "arrow"},
    "decode": {"arrow"},
    "exports": {"arrow"},
    "imports": {"arrow"},
    "inject": set(),
    "operators": {"arrow"},
    "pm": set(),
    "segment": set(),
}


def upward(native: Path) -> list[str]:
    """Files that include what their room may not know."""
    return sorted(
        f"{path.relative_to(native)}: {room}"
        for path in native.rglob("*.[ch]")
        for room in re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE)
        if room not in {"etl", path.parent.name, *BELOW.get(path.parent.name, set())}
    )


def test_rooms_know_those_below() -> None:
    assert {path.parent.name for path in NATIVE.rglob("*.c")} == BELOW.keys()
    assert upward(NATIVE) == []


def test_a_way_up_is_seen(tmp_path: Path) -> None:
    (tmp_path / "arrow").mkdir()
    (tmp_path / "arrow" / "a.c").write_text('#include "etl/abi.h"\n#include "decode/text.h"\n')
    assert upward(tmp_path) == ["arrow/a.c: decode"]
