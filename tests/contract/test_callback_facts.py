"""Arguments of calls: what is kept of NVIDIA's headers, what is taken of it, and the fakes' own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cupti_etl.errors import SchemaError
from cupti_etl.schema.callbacks import COPY_KINDS, DOMAINS, known_names
from tools.codegen.callback_facts import (
    CALLBACKS,
    dump_callbacks,
    extract_callbacks,
    load_callbacks,
)
from tools.codegen.callbacks import arguments, callback_names, callbacks_inc
from tools.codegen.header_wheels import fetch_headers
from tools.codegen.headers import compile_and_run

ROOT = Path(__file__).parents[2]
FAKE = ROOT / "tests" / "native" / "fake_cupti_params.c"


def taken(function: str) -> dict[str, tuple[int, int]]:
    """Offset and width of each value that is taken of a function's arguments."""
    facts = load_callbacks()
    (members,) = [of[function] for of in facts["functions"].values() if function in of]
    return {what: (at, width) for what, width, at, _ in arguments(function, members, facts)}


def test_what_is_taken_of_a_launch() -> None:
    """Worked out by hand from the declarations, with C's rules of alignment."""
    assert taken("cuLaunchKernel") == {
        **{f"GRID_{axis}": (8 + 4 * i, 4) for i, axis in enumerate("XYZ")},
        **{f"BLOCK_{axis}": (20 + 4 * i, 4) for i, axis in enumerate("XYZ")},
        "SHARED": (32, 4),
        "STREAM": (40, 8),
    }
    assert taken("cudaMemcpyAsync_v3020") == {
        "DST": (0, 8),
        "SRC": (8, 8),
        "BYTES": (16, 8),
        "KIND": (24, 4),
        "STREAM": (32, 8),
    }


@pytest.mark.parametrize(
    "function",
    [
        "cuMemcpyBatchAsync",
        "cudaGetDeviceCount_v3020",
        "cuFuncSetCacheConfig",
        "cuStreamWaitValue32",
    ],
)
def test_what_only_looks_like_bytes_is_not_taken(function: str) -> None:
    assert not taken(function).keys() & {"BYTES", "GRID_X", "VALUE", "DST"}


def test_every_launch_and_copy_has_its_arguments() -> None:
    functions = [name for of in load_callbacks()["functions"].values() for name in of]
    # One for several devices has a list of them.
    launches = [
        name
        for name in functions
        if re.match(r"cu(da)?Launch(Cooperative)?Kernel(?!MultiDevice)", name)
    ]
    assert len(launches) > 8
    for name in launches:
        assert taken(name).keys() >= {"GRID_X", "BLOCK_Z", "STREAM", "SHARED"}, name
    copies = [name for name in functions if re.match(r"cu(da)?Memcpy(HtoD|DtoH|DtoD|Async)", name)]
    assert len(copies) > 20
    for name in copies:
        assert "BYTES" in taken(name), name


def test_directions_are_those_of_the_names() -> None:
    text = callbacks_inc(load_callbacks())
    found = dict(re.findall(r'\{ "cuMemcpy([HDA]to[HDA])_v2", \w+, \d+, \d+, (\d+) \}', text))
    assert {name: COPY_KINDS[int(number) - 1] for name, number in found.items()} == {
        name: name for name in found
    }
    assert len(found) > 4


def test_names_are_known_in_each_domain() -> None:
    assert {domain: bool(known_names(domain)) for domain in DOMAINS} == dict.fromkeys(DOMAINS, True)
    assert not [name for name in known_names("runtime") if re.search(r"_v\d{4}", name)]


@pytest.mark.slow
@pytest.mark.network
def test_facts_are_those_of_the_headers(tmp_path: Path) -> None:
    headers = fetch_headers(13, ROOT / ".cache" / "headers")
    theirs, mine = extract_callbacks(headers.include_dirs), load_callbacks()
    if theirs["version"] != mine["version"]:
        pytest.skip("the headers are newer: `make headers`")
    assert dump_callbacks(theirs) == CALLBACKS.read_text()
    assert callback_names(theirs) == (ROOT / "cupti_etl/schema/callback_names.py").read_text()


@pytest.mark.network
def test_the_fakes_arguments_lie_as_the_headers_say() -> None:
    """Each struct of the fake CUPTI's beside the one that it is called after."""
    headers = fetch_headers(13, ROOT / ".cache" / "headers")
    structs = re.findall(r"^struct (\w+)_params \{\n(.*?)^\};", FAKE.read_text(), re.M | re.S)
    assert len(structs) == 10
    lines = ["#include <cupti.h>", "#include <stdio.h>", "#include <stddef.h>"]
    lines.append("struct fake_dim3 { unsigned int x, y, z; };")
    rows = []
    for name, body in structs:
        lines.append(f"struct fake_{name} {{ {body.replace('struct dim3', 'struct fake_dim3')} }};")
        members = re.findall(r"(\w+)(?=[,;])", body)
        rows += [(f"struct fake_{name}", f"{name}_params", member) for member in members]
    lines.append('int main(void) { printf("[0");')
    for fake, real, member in rows:
        lines.append(
            f'printf(", %d", offsetof({fake}, {member}) == offsetof({real}, {member}) &&'
            f" sizeof((({fake} *)0)->{member}) == sizeof((({real} *)0)->{member}));"
        )
    lines.append('printf("]"); return 0; }')
    same = compile_and_run(headers.include_dirs, "\n".join(lines))[1:]
    assert len(same) == len(rows) > 30
    assert [row for row, is_same in zip(rows, same, strict=True) if not is_same] == []


def test_folders_without_the_headers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="in none of the include folders"):
        extract_callbacks([tmp_path])
