"""Facts taken from NVIDIA's public CUPTI header: member offsets and enumerator values.

The header is never copied: a C program is made that includes it and prints
``offsetof`` and ``sizeof`` of what the header declares, and the numbers are kept in
``generated/records.json``.  Needs a C compiler and the header wheels
(``nvidia-cuda-cupti``, ``nvidia-cuda-runtime``, ``nvidia-cuda-crt``); only
``make headers`` and the contract test call it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from cupti_etl.errors import SchemaError

RECORDS = Path(__file__).with_name("generated") / "records.json"

_TYPEDEF = re.compile(r"typedef (struct|enum)\b[^{;]*\{")
_MEMBER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*(?::\s*\d+\s*)?\Z")
_ENUMERATOR = re.compile(r"^\s*([A-Z][A-Z0-9_]*)\s*(?:=|,|\Z)", re.M)
# Kinds, labels and fields are all that the specification names.
_WANTED = re.compile(
    r"CUPTI_(ACTIVITY_(KIND|MEMCPY_KIND|MEMORY|LAUNCH_TYPE|OBJECT|COMPUTE_API|FLAG"
    r"|SYNCHRONIZATION_TYPE|OVERHEAD|JIT|UNIFIED_MEMORY|ENVIRONMENT|STREAM_CREATE_FLAG)_"
    r"|CHANNEL_TYPE_|CONTEXT_CIG_MODE_|METRIC_VALUE_KIND_|EXTERNAL_CORRELATION_KIND_"
    r"|DEVICE_GRAPH_LAUNCH_MODE_|COMPUTE_ENGINE_CTX_SWITCH_OPERATION_|CONFIDENTIAL_COMPUTE_"
    r"|PCIE_DEVICE_TYPE_|OPENACC_(EVENT|CONSTRUCT)_KIND_|OPENMP_EVENT_KIND_)"
    r"|[A-Z][A-Z0-9_]*_FIELD_"  # ids of the fields of user-defined records
)


class Facts(TypedDict):
    """What a header says: ``structs[name] = {size, members: {name: [offset, size]}}``."""

    version: int
    structs: dict[str, Any]
    enumerators: dict[str, int]


def _members(body: str) -> list[str]:
    """Names of the members at the outermost level of a struct's body."""
    names, depth, start = [], 0, 0
    for at, char in enumerate(body):
        depth += (char == "{") - (char == "}")
        if char == ";" and depth == 0:
            match = _MEMBER.search(body[start:at].strip())
            if match:
                names.append(match[1])
            start = at + 1
    return names


def _typedefs(text: str) -> dict[str, dict[str, str]]:
    """Bodies of ``typedef struct`` and ``typedef enum``, by the typedef's name."""
    found: dict[str, dict[str, str]] = {"struct": {}, "enum": {}}
    for match in _TYPEDEF.finditer(text):
        depth, at = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        name = text[at : text.index(";", at)].split()[-1]
        found[match[1]][name] = text[match.end() : at - 1]
    return found


def _probe(text: str) -> str:
    """C text that prints the facts as JSON; ``text`` is the preprocessed header."""
    lines = ["#include <cupti.h>", "#include <stdio.h>", "#include <stddef.h>", "int main(void) {"]
    lines.append('printf("{\\"version\\": %d, \\"structs\\": {", CUPTI_API_VERSION);')
    found = _typedefs(text)
    structs = {
        name: body for name, body in found["struct"].items() if name.startswith("CUpti_Activity")
    }
    comma = ""
    for name, body in structs.items():
        lines.append(
            f'printf("{comma}\\"{name}\\": {{\\"size\\": %zu, \\"members\\": {{", sizeof({name}));'
        )
        for i, member in enumerate(_members(body)):
            lines.append(
                f'printf("{", " if i else ""}\\"{member}\\": [%zu, %zu]", '
                f"offsetof({name}, {member}), sizeof((({name} *)0)->{member}));"
            )
        lines.append('printf("}}");')
        comma = ", "
    lines.append('printf("}, \\"enumerators\\": {");')
    names = {
        n for body in found["enum"].values() for n in _ENUMERATOR.findall(body) if _WANTED.match(n)
    }
    for i, name in enumerate(
        sorted(n for n in names if not n.endswith(("FORCE_INT", "KIND_COUNT")))
    ):
        lines.append(f'printf("{", " if i else ""}\\"{name}\\": %lld", (long long){name});')
    lines.append('printf("}}\\n"); return 0; }')
    return "\n".join(lines)


def extract(include_dirs: Sequence[Path], cc: str | None = None) -> Facts:
    """Compile and run the probe against a header.

    Raises:
        SchemaError: the header is missing or the probe does not compile.
    """
    if not any((directory / "cupti_activity.h").exists() for directory in include_dirs):
        raise SchemaError("cupti_activity.h is in none of the include folders")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text("#include <cupti.h>\n")
        plain = _run([*_compiler(include_dirs, cc), "-E", "-P", str(source)])
    facts: Facts = compile_and_run(include_dirs, _probe(plain), cc)
    return facts


def compile_and_run(include_dirs: Sequence[Path], text: str, cc: str | None = None) -> Any:
    """The JSON that a C program prints which includes the headers in some folders.

    Raises:
        SchemaError: it does not compile.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text(text)
        _run([*_compiler(include_dirs, cc), "-o", str(program), str(source)])
        return json.loads(_run([str(program)]))


def _compiler(include_dirs: Sequence[Path], cc: str | None = None) -> list[str]:
    folders = (f"-I{directory}" for directory in include_dirs)
    return [cc or os.environ.get("CC", "cc"), "-w", *folders]


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SchemaError(f"the header probe fails: {done.stderr[:2000]}")
    return done.stdout


def load_facts() -> Facts:
    """The facts that the repository keeps."""
    facts: Facts = json.loads(RECORDS.read_text())
    return facts


def dump(facts: Facts) -> str:
    """The facts as they are kept: one struct or group a line, sorted."""
    lines = ["{", f'"version": {facts["version"]},', '"structs": {']
    structs = [
        f"{json.dumps(name)}: {json.dumps(facts['structs'][name])}"
        for name in sorted(facts["structs"])
    ]
    lines.append(",\n".join(structs))
    lines.append('},\n"enumerators": {')
    lines.append(
        ",\n".join(f"{json.dumps(k)}: {v}" for k, v in sorted(facts["enumerators"].items()))
    )
    lines.append("}\n}\n")
    return "\n".join(lines)


if __name__ == "__main__":
    RECORDS.write_text(dump(extract([Path(argument) for argument in sys.argv[1:]])))
