"""What CUPTI calls back about, and where the arguments of those calls lie.

CUPTI hands a callback of the driver's or the runtime's API a pointer to a struct with the call's
arguments, one struct a function (``generated_cuda_meta.h`` and its like).  As with records
(``headers.py``), a C program is made that includes the headers and prints numbers, and the numbers
are kept in ``generated/callbacks.json``: of each function, the place of each member that a column
of ``callback_event`` comes from.  Only ``make headers`` and the contract test call it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

from cupti_etl.errors import SchemaError
from tools.codegen.headers import compile_and_run

CALLBACKS = Path(__file__).with_name("generated") / "callbacks.json"

_HEADERS = ("generated_cuda_meta.h", "generated_cuda_runtime_api_meta.h")
_PARAMS = re.compile(r"typedef struct (\w+)_params_st \{(.*?)\}", re.DOTALL)
_MEMBER = re.compile(r"\A(.*?)(\w+)\Z", re.DOTALL)
_ID = re.compile(r"CUPTI_(DRIVER|RUNTIME)_TRACE_CBID_(\w+)\s*=\s*(\d+)")
_OTHER = re.compile(r"CUPTI_CBID_(RESOURCE|SYNCHRONIZE|NVTX|STATE)_(\w+)\s*=\s*(\d+)")
_NOT_ONE = ("INVALID", "SIZE", "FORCE_INT")

# Members whose place is kept: of plain types, and behind pointers, where the struct they point to
# has the members.
_PLAIN = re.compile(
    r"gridDim[XYZ]?|blockDim[XYZ]?|sharedMem(Bytes)?|hStream|stream|ByteCount|bytesize|count|size|N"
    r"|[Ww]idth|[Hh]eight|WidthInBytes|kind|dst|dstDevice|dstHost|src|srcDevice|srcHost|devPtr|dptr"
    r"|ptr|p|uc|us|ui|value|config|pCopy"
)
_BEHIND = {
    "CUlaunchConfig": "gridDimX gridDimY gridDimZ blockDimX blockDimY blockDimZ sharedMemBytes"
    " hStream",
    "cudaLaunchConfig_t": "gridDim blockDim dynamicSmemBytes stream",
    "CUDA_MEMCPY2D": "WidthInBytes Height",
    "CUDA_MEMCPY3D": "WidthInBytes Height Depth",
}


class CallbackFacts(TypedDict):
    """``functions[domain][name] = {member: [type, offset, size]}``; kept if it has any;
    ``ids[domain][name]`` of the domains whose callbacks CUPTI does not name;
    ``structs[name] = {member: [offset, size]}`` of what members point to."""

    version: int
    functions: dict[str, dict[str, dict[str, Any]]]
    ids: dict[str, dict[str, int]]
    structs: dict[str, dict[str, list[int]]]


def extract_callbacks(include_dirs: Sequence[Path]) -> CallbackFacts:
    """The facts of the headers in some folders.

    Raises:
        SchemaError: a header is missing, or the probe does not compile.
    """
    params = dict(_params(include_dirs))
    functions, ids = _ids(include_dirs)
    wanted = [
        (function, member)
        for function, members in params.items()
        for member in members
        if _PLAIN.fullmatch(member)
    ]
    behind = [(name, member) for name, words in _BEHIND.items() for member in words.split()]
    rows = [(f"{function}_params", member) for function, member in wanted] + behind
    numbers = compile_and_run(include_dirs, _probe(rows))
    places = dict(zip(rows, zip(numbers[1::2], numbers[2::2], strict=True), strict=True))
    for domain in functions.values():
        for name, members in domain.items():
            for member, kind in params.get(name, {}).items():
                if (f"{name}_params", member) in places:
                    members[member] = [kind, *places[(f"{name}_params", member)]]
    structs: dict[str, dict[str, list[int]]] = {}
    for name, member in behind:
        structs.setdefault(name, {})[member] = [*places[(name, member)]]
    return {"version": numbers[0], "functions": functions, "ids": ids, "structs": structs}


def _text(include_dirs: Sequence[Path], name: str) -> str:
    for folder in include_dirs:
        if (folder / name).exists():
            return (folder / name).read_text()
    raise SchemaError(f"{name} is in none of the include folders")


def _params(include_dirs: Sequence[Path]) -> Iterator[tuple[str, dict[str, str]]]:
    """Of each function with a struct of arguments, the types of its members."""
    for header in _HEADERS:
        for function, body in _PARAMS.findall(_text(include_dirs, header)):
            members = {}
            for declaration in body.split(";"):
                match = _MEMBER.match(declaration.strip())
                if match and match[1].strip():
                    members[match[2]] = " ".join(match[1].split())
            yield function, members


def _ids(
    include_dirs: Sequence[Path],
) -> tuple[dict[str, dict[str, dict[str, Any]]], dict[str, dict[str, int]]]:
    functions: dict[str, dict[str, dict[str, Any]]] = {"driver": {}, "runtime": {}}
    for header in ("cupti_driver_cbid.h", "cupti_runtime_cbid.h"):
        for domain, name, _ in _ID.findall(_text(include_dirs, header)):
            if name not in _NOT_ONE:
                functions[domain.lower()][name] = {}
    ids: dict[str, dict[str, int]] = {}
    for header in ("cupti_callbacks.h", "cupti_nvtx_cbid.h"):
        for domain, name, number in _OTHER.findall(_text(include_dirs, header)):
            if name not in _NOT_ONE:
                ids.setdefault(domain.lower(), {})[name] = int(number)
    return functions, ids


def _probe(rows: list[tuple[str, str]]) -> str:
    """C text that prints CUPTI's version, and the offset and the size of each member."""
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <cupti.h>"]
    lines.append('int main(void) { printf("[%d", CUPTI_API_VERSION);')
    for name, member in rows:
        lines.append(
            f'printf(", %zu, %zu", offsetof({name}, {member}), sizeof((({name} *)0)->{member}));'
        )
    lines.append('printf("]\\n"); return 0; }')
    return "\n".join(lines)


def load_callbacks() -> CallbackFacts:
    """The facts that the repository keeps."""
    facts: CallbackFacts = json.loads(CALLBACKS.read_text())
    return facts


def dump_callbacks(facts: CallbackFacts) -> str:
    """The facts as they are kept: one function with members a line."""
    lines = ["{", f'"version": {facts["version"]},', '"functions": {']
    domains = []
    for domain, functions in facts["functions"].items():
        rows = [
            f"{json.dumps(name)}: {json.dumps(functions[name])}"
            for name in sorted(functions)
            if functions[name]
        ]
        domains.append(f"{json.dumps(domain)}: {{\n" + ",\n".join(rows) + "\n}")
    lines.append(",\n".join(domains))
    lines.append(f'}},\n"ids": {json.dumps(facts["ids"], indent=1)},')
    lines.append(f'"structs": {json.dumps(facts["structs"], indent=1)}')
    return "\n".join([*lines, "}"]) + "\n"
