"""The fields of user-defined records: number, member of the predefined record, width.

A header numbers the fields of a kind in an enumeration and says in a comment before each
which type and member it stands for.  Where that is in the record is measured, as for the
records themselves; see make_facts.py.

Ids of threads and correlation have 64 bits in a user-defined record.  The header says so
of the context and stream of a kernel too, but there a record measured on an H200 (19
fields, 104 bytes; libcupti 13.5) has the 32 bits of the predefined one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FIELDS = Path(__file__).resolve().parent / "record_fields.json"

# What an enumeration's names begin with -> activity kinds, stem of the record's struct.
# NVLINK is left out: the fakes have no record of it.
GROUPS = {
    "MEMCPY": ((1,), "Memcpy"),
    "MEMSET": ((2,), "Memset"),
    "KERNEL": ((3, 10), "Kernel"),
    "API": ((4, 5), "API"),
    "DEVICE": ((8,), "Device"),
    "CONTEXT": ((9,), "Context"),
    "NAME": ((11,), "Name"),
    "MARKER": ((12,), "Marker"),
    "MARKER_DATA": ((13,), "MarkerData"),
    "OVERHEAD": ((17,), "Overhead"),
    "ENVIRONMENT": ((20,), "Environment"),
    "MEMCPY2": ((22,), "MemcpyPtoP"),
    "UVM_COUNTER": ((25,), "UnifiedMemoryCounter"),
    "OPENACC_DATA": ((33,), "OpenAccData"),
    "OPENACC_LAUNCH": ((34,), "OpenAccLaunch"),
    "OPENACC_OTHER": ((35,), "OpenAccOther"),
    "CUDA_EVENT": ((36,), "CudaEvent"),
    "STREAM": ((37,), "Stream"),
    "SYNCHRONIZATION": ((38,), "Synchronization"),
    "EXTERNAL_CORRELATION": ((39,), "ExternalCorrelation"),
    "PCIE": ((46,), "Pcie"),
    "OPENMP": ((47,), "OpenMp"),
    "MEMORY": ((49,), "Memory"),
    "MEMORY_POOL": ((50,), "MemoryPool"),
    "GRAPH_TRACE": ((51,), "GraphTrace"),
    "JIT": ((52,), "Jit"),
    "DEVICE_GRAPH_TRACE": ((53,), "DeviceGraphTrace"),
    "MEM_DECOMPRESS": ((54,), "MemDecompress"),
    "CONFIDENTIAL_COMPUTE_ROTATION": ((55,), "ConfidentialComputeRotation"),
    "GRAPH_HOST_NODE": ((56,), "GraphHostNode"),
    "COMPUTE_ENGINE_CTX_SWITCH": ((57,), "ComputeEngineCtxSwitch"),
    "HOST_LAUNCH": ((58,), "HostLaunch"),
    "GREEN_CONTEXT": ((59,), "GreenContext"),
}
# Where the comment does not name a member of the record.
PLACES = {
    # Half a byte each in the predefined record: here the whole byte stands for both.
    "KERNEL_FIELD_CACHE_CONFIG_REQUESTED": "cacheConfig.both",
    "KERNEL_FIELD_CACHE_CONFIG_EXECUTED": "cacheConfig.both",
    "KERNEL_FIELD_PARTITIONED_GLOBAL_CACHE_REQUESTED": "partitionedGlobalCacheRequested",
    "KERNEL_FIELD_PARTITIONED_GLOBAL_CACHE_EXECUTED": "partitionedGlobalCacheExecuted",
    "MARKER_FIELD_PROCESS_ID": "objectId.pt.processId",
    "MARKER_FIELD_THREAD_ID": "objectId.pt.threadId",
    "OVERHEAD_FIELD_PROCESS_ID": "objectId.pt.processId",
    "OVERHEAD_FIELD_THREAD_ID": "objectId.pt.threadId",
    "MEMORY_FIELD_POOL_SIZE": "memoryPoolConfig.pool.size",
    "MEMORY_FIELD_POOL_PROCESS_ID": "memoryPoolConfig.pool.processId",
    "SYNCHRONIZATION_FIELD_END": "end",
    "MEM_DECOMPRESS_FIELD_CHANNEL_ID": "channelID",
}
_ENUMERATION = re.compile(r"typedef enum\s*\{([^{}]*?_FIELD_MAX[^{}]*?)\}\s*CUpti_\w+\s*;")
_ENTRY = re.compile(r"/\*\*((?:(?!\*/).)*)\*/\s*(\w+?_FIELD_\w+)\b", re.S)
_WIDE = re.compile(r"(correlationId|[tT]hreadId)$")


def _entries(header: str) -> dict[str, list[tuple[str, str, str]]]:
    """Group -> (enumerator, type, member) in the order of their numbers."""
    found = {}
    for enumeration in _ENUMERATION.finditer(header):
        entries = []
        for comment, name in _ENTRY.findall(enumeration[1]):
            text = re.search(r"([\w ]+?[ *]+)([\w.]+)(\[\d+\])?;", comment)
            kind, member = (text[1].strip(), text[2]) if text else ("", "kind")
            entries.append((name, kind, PLACES.get(name, member)))
        group = entries[0][0].removesuffix("_FIELD_KIND")
        found[group] = [entry for entry in entries if not entry[0].endswith("_FIELD_MAX")]
    return found


def _measure(include: Path, places: set[tuple[str, str]]) -> dict[tuple[str, str], list[int]]:
    """Offset of the outermost member, offset and size of each (struct, path)."""
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <cupti.h>", "int main(void){"]
    for struct, path in sorted(places):
        outer = path.split(".")[0]
        lines.append(
            f'printf("{struct} {path} %zu %zu %zu\\n", offsetof({struct}, {outer}), '
            f"offsetof({struct}, {path}), sizeof((({struct} *)0)->{path}));"
        )
    lines.append("return 0;}")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text("\n".join(lines))
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, f"-I{include}", str(source), "-o", str(program)], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    words = (line.split() for line in output.splitlines())
    return {(struct, path): list(map(int, numbers)) for struct, path, *numbers in words}


def write_fields(includes: dict[str, Path]) -> None:
    """Rebuild the facts.

    Args:
        includes: release -> folder with its headers, oldest first; the last is measured.
    """
    from make_facts import API_VERSIONS, struct_for

    headers = {
        release: (include / "cupti_activity.h").read_text() for release, include in includes.items()
    }
    since: dict[str, int] = {}
    for release, header in headers.items():
        for entries in _entries(header).values():
            for name, _, _ in entries:
                since.setdefault(name, API_VERSIONS[release])
    *_, newest = headers
    structs = dict.fromkeys(re.findall(r"\}\s*(CUpti_Activity\w+)\s*;", headers[newest]))
    groups = {g: e for g, e in _entries(headers[newest]).items() if g in GROUPS}
    records = {group: struct_for(GROUPS[group][1], structs) or "" for group in groups}
    places = {(records[g], path) for g, entries in groups.items() for _, _, path in entries}
    measured = _measure(includes[newest], places)
    lines = []
    for group, entries in groups.items():
        rows: list[list[Any]] = []
        for number, (name, kind, path) in enumerate(entries):
            outer, inner, size = measured[records[group], path]
            width = 8 if kind == "uint64_t" and size == 4 and _WIDE.search(path) else size
            member = path.removeprefix("objectId.pt.")
            rows.append(
                [name, number, member, path.split(".")[0], inner - outer, size, width, since[name]]
            )
        block = ",\n  ".join(map(json.dumps, rows))
        lines.append(f' "{group}": {{"kinds": {list(GROUPS[group][0])}, "fields": [\n  {block}]}}')
    FIELDS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
