"""Callbacks as C and as names: ``native/generated/callbacks.inc`` and ``schema/callback_names.py``.

Which member of a call's arguments becomes which value stands here; where it lies, in
``generated/callbacks.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cupti_etl.schema.callbacks import COPY_KINDS, DOMAINS
from tools.codegen.callback_facts import CallbackFacts
from tools.codegen.cdecl import BANNER

_NONE = 65535
_POINTERS = ("void *", "const void *", "CUdeviceptr", "CUdeviceptr_v1")
_STREAMS = ("CUstream", "cudaStream_t")
_NUMBERS = ("size_t", "unsigned int")
# Members by name: the value that they are, the types that they have then, and of which functions.
_PLAIN = (
    *((f"gridDim{axis}", f"GRID_{axis}", _NUMBERS, "") for axis in "XYZ"),
    *((f"blockDim{axis}", f"BLOCK_{axis}", _NUMBERS, "") for axis in "XYZ"),
    ("sharedMemBytes|sharedMem|dynamicSmemBytes", "SHARED", _NUMBERS, ""),
    ("hStream|stream", "STREAM", _STREAMS, ""),
    ("ByteCount|bytesize", "BYTES", _NUMBERS, ""),
    ("count", "BYTES", _NUMBERS, r"cu(da)?Mem(cpy|set|Prefetch|Advise)(?!.*Batch)"),
    ("size", "BYTES", _NUMBERS, r"cuda(Malloc|HostAlloc|HostRegister)|cuMem(Create|Map|AddressR)"),
    ("N|Width|WidthInBytes", "BYTES", _NUMBERS, ""),
    ("width", "BYTES", _NUMBERS, r"cuda(Memcpy2D|Memset2D|MallocPitch)"),
    ("Height", "ROWS", _NUMBERS, ""),
    ("height", "ROWS", _NUMBERS, r"cuda(Memcpy2D|Memset2D|MallocPitch)"),
    ("Depth", "LAYERS", _NUMBERS, ""),
    ("kind", "KIND", ("enum cudaMemcpyKind",), ""),
    ("src|srcDevice|srcHost", "SRC", _POINTERS, ""),
    ("dst|dstDevice|dstHost", "DST", _POINTERS, ""),
    ("devPtr|dptr|ptr|p", "DST", _POINTERS, r"cu(da)?Mem(set|Prefetch|Free|Advise)|cudaFree"),
    (
        "value|uc|us|ui",
        "VALUE",
        ("int", "unsigned char", "unsigned short", "unsigned int"),
        "Memset",
    ),
)
_DIM3 = {"gridDim": "GRID", "blockDim": "BLOCK"}
_BEHIND = re.compile(r"const (\w+) \*")
# Of a struct that is pointed to only offsets are kept; these are its members' types.
_TYPES = {"hStream": "CUstream", "stream": "cudaStream_t", "gridDim": "dim3", "blockDim": "dim3"}

_Argument = tuple[str, int, int, int]  # value, width, offset, offset of the pointer to it


def arguments(
    function: str, members: dict[str, list[object]], facts: CallbackFacts
) -> list[_Argument]:
    """What is taken from a function's arguments."""
    found: list[_Argument] = []
    for member, (kind, offset, width) in members.items():
        found += _values(function, member, str(kind), int(str(offset)), int(str(width)), _NONE)
        behind = _BEHIND.fullmatch(str(kind))
        for name, (at, size) in facts["structs"].get(behind[1] if behind else "", {}).items():
            kind_there = _TYPES.get(name, "size_t")
            found += _values(function, name, kind_there, at, size, int(str(offset)))
    return found


def _values(
    function: str, member: str, kind: str, offset: int, width: int, via: int
) -> Iterator[_Argument]:
    if member in _DIM3 and kind == "dim3":
        for number, axis in enumerate("XYZ"):
            yield f"{_DIM3[member]}_{axis}", 4, offset + 4 * number, via
    for names, value, kinds, functions in _PLAIN:
        if re.fullmatch(names, member) and kind in kinds and re.search(functions, function):
            yield value, width, offset, via


def _scale(function: str) -> int:
    """Bytes of an element that a driver's memset counts."""
    match = re.match(r"cuMemsetD(?:2D)?(8|16|32)", function)
    return int(match[1]) // 8 if match else 1


def _copy_kind(function: str) -> int:
    """The direction that a driver's copy has in its name, from 1; 0 for none."""
    match = re.match(r"cuMemcpy([HDA]to[HDA])", function)
    return COPY_KINDS.index(match[1]) + 1 if match else 0


def callbacks_inc(facts: CallbackFacts) -> str:
    """Text of ``native/generated/callbacks.inc``."""
    lists: dict[tuple[_Argument, ...], str] = {}
    rows = []
    for functions in facts["functions"].values():
        for name, members in functions.items():
            found = tuple(arguments(name, members, facts))
            if not found:
                continue
            place = lists.setdefault(found, f"arguments_{len(lists)}")
            rows.append(
                f'\t{{ "{name}", {place}, {len(found)}, {_scale(name)}, {_copy_kind(name)} }},\n'
            )
    out = [BANNER]
    for found, place in lists.items():
        items = ", ".join(f"{{ ARGUMENT_{v}, {w}, {o}, {via} }}" for v, w, o, via in found)
        out.append(f"static const struct argument {place}[] = {{ {items} }};\n")
    out.append("\n/* Sorted by name. */\nstatic const struct etl_shape shapes[] = {\n")
    out += sorted(rows)
    out.append("};\n\n/* Of the domains whose callbacks CUPTI does not name. */\n")
    out.append("static const struct id ids[] = {\n")
    for domain, names in facts["ids"].items():
        number = DOMAINS.index(domain) + 1
        out += [f'\t{{ {number}, {cbid}, "{name}" }},\n' for name, cbid in names.items()]
    out.append("};\n")
    return "".join(out)


_VERSION = re.compile(r"_v\d{4,}\Z")


def callback_names(facts: CallbackFacts) -> str:
    """Text of ``cupti_etl/schema/callback_names.py``."""
    version = f"{facts['version'] // 10000}.{facts['version'] // 100 % 100}"
    out = [f'"""What CUPTI {version} calls back about, by domain; made by tools.codegen."""']
    out += ["", "NAMES: dict[str, str] = {"]
    for domain in DOMAINS:
        names = facts["functions"].get(domain) or facts["ids"][domain]
        bare = sorted({_VERSION.sub("", name) for name in names})
        out += [f'    "{domain}": """', *_filled(bare), '""",']
    return "\n".join([*out, "}"]) + "\n"


def _filled(names: list[str]) -> Iterator[str]:
    line = ""
    for name in names:
        if line and len(line) + len(name) > 98:
            yield line
            line = ""
        line += f" {name}" if line else name
    yield line
