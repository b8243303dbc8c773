"""The specification against NVIDIA's public headers and against recorded facts of them."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cupti_etl.errors import SchemaError
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.spec import Kind
from tools.codegen.header_wheels import PACKAGES, fetch_headers
from tools.codegen.headers import extract, load_facts

ROOT = Path(__file__).parents[2]
FACTS = json.loads((ROOT / "tests" / "native" / "facts" / "record_layouts.json").read_text())
Structs = dict[str, Any]


def family(name: str) -> str:
    return re.sub(r"\d+$", "", name)


def newest(structs: Structs, name: str) -> Any:
    """The newest struct of a name's family, or None."""
    numbers = [int(s.removeprefix(family(name)) or 1) for s in structs if family(s) == family(name)]
    if not numbers:
        return None
    number = max(numbers)
    return structs[family(name) + (str(number) if number > 1 else "")]


def differences(kind: Kind, mine: Structs, theirs: Structs) -> list[str]:
    """Members of a kind's columns that lie elsewhere or have another width in a header."""
    struct, other = mine[kind.struct]["members"], newest(theirs, kind.struct)
    if other is None:
        return [f"{kind.struct}: no struct of its family"]
    found = []
    for member in {column.source for column in kind.columns if column.source}:
        if member in other["members"] and other["members"][member] != struct[member]:
            found.append(f"{kind.struct}.{member}: {struct[member]}, {other['members'][member]}")
    if not set(other["members"]) & {column.source for column in kind.columns}:
        found.append(f"{kind.struct}: nothing in common with its family")
    return found


def invented(kind: Kind, mine: Structs, theirs: Structs, version: int) -> list[str]:
    """Columns that would be read out of what an older header calls padding: without a
    ``since`` they are taken for present, because the record is long enough."""
    struct, other = mine[kind.struct]["members"], newest(theirs, kind.struct)
    return [
        f"{kind.table}.{column.name} in {version}"
        for column in kind.columns
        if column.source
        and column.source not in other["members"]
        and sum(struct[column.source]) <= other["size"]
        and column.since <= version
    ]


def missing(kind: Kind, theirs: Structs) -> list[str]:
    """Members that a kind's columns name and the newest struct of its family lacks."""
    struct = newest(theirs, kind.struct) or {"members": {}}
    return sorted({c.source for c in kind.columns if c.source} - struct["members"].keys())


def recorded(release: str) -> Structs:
    """The structs of a release as the tests' own facts give them."""
    layouts = (FACTS["layouts"][key] for key in FACTS["releases"][release]["kinds"].values())
    return {layout["struct"]: layout for layout in layouts}


def planted(structs: Structs) -> Structs:
    moved = copy.deepcopy(structs)
    newest(moved, "CUpti_ActivityKernel13")["members"]["streamId"][0] += 4
    return moved


def test_a_moved_member_is_seen() -> None:
    mine = load_facts()["structs"]
    kernel = next(kind for kind in KINDS if kind.table == "kernel")
    assert differences(kernel, mine, mine) == []
    (found,) = differences(kernel, mine, planted(mine))
    assert "streamId" in found
    renamed = copy.deepcopy(mine)
    renamed[kernel.struct]["members"]["stream"] = renamed[kernel.struct]["members"].pop("streamId")
    assert missing(kernel, mine) == []
    assert missing(kernel, renamed) == ["streamId"]
    gone = {k: v for k, v in mine.items() if family(k) != "CUpti_ActivityKernel"}
    assert differences(kernel, mine, gone) != []


@pytest.mark.parametrize("release", FACTS["releases"])
def test_no_release_moves_a_member(release: str) -> None:
    mine, theirs = load_facts()["structs"], recorded(release)
    kinds = [kind for kind in KINDS if newest(theirs, kind.struct)]
    assert len(kinds) >= 8
    assert [d for kind in kinds for d in differences(kind, mine, theirs)] == []
    assert any(differences(kind, planted(mine), theirs) for kind in kinds)
    version = FACTS["releases"][release]["api"]
    assert [i for kind in kinds for i in invented(kind, mine, theirs, version)] == []


def test_a_member_that_was_padding_is_seen() -> None:
    mine, memcpy = load_facts()["structs"], next(kind for kind in KINDS if kind.table == "memcpy")
    assert memcpy.columns[-1].since > 0
    careless = replace(memcpy, columns=tuple(replace(c, since=0) for c in memcpy.columns))
    (found,) = invented(careless, mine, recorded("12.9.79"), 28)
    assert "is_device_launched" in found


@pytest.mark.network
@pytest.mark.parametrize("major", [12, 13])
def test_newest_header(major: int) -> None:
    try:
        headers = fetch_headers(major, ROOT / ".cache" / "headers")
    except SchemaError as error:
        pytest.skip(f"no headers to compare with: {error}")
    facts, mine = extract(headers.include_dirs), load_facts()
    # Some kinds are newer than CUDA 12.
    there = [kind for kind in KINDS if newest(facts["structs"], kind.struct)]
    assert len(there) >= 20
    assert [d for kind in there for d in differences(kind, mine["structs"], facts["structs"])] == []
    version = facts["version"]
    assert [i for k in there for i in invented(k, mine["structs"], facts["structs"], version)] == []
    if major == max(PACKAGES):
        assert [m for kind in KINDS for m in missing(kind, facts["structs"])] == []
    shared = mine["enumerators"].keys() & facts["enumerators"].keys()
    assert len(shared) > 50
    assert {k: mine["enumerators"][k] for k in shared} == {
        k: facts["enumerators"][k] for k in shared
    }
    if facts["version"] == mine["version"]:
        assert facts == mine
