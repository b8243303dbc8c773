"""Where the fake CUPTI's facts come from, and how to check them.

``record_layouts.json`` says for each public CUPTI release where the members of its
activity records lie.  ``callback_names.json`` says which number stands for which API
function.  Both are measurements: a probe compiled against the headers of NVIDIA's
wheels prints ``offsetof`` and ``sizeof``.  No text of a header is kept.

    make_facts.py extract RELEASE INCLUDE...   print one release's layouts as JSON
    make_facts.py add RELEASE INCLUDE...       measure a release and put it into the file
    make_facts.py verify RELEASE INCLUDE...    fail where the file and the headers differ
    make_facts.py names 12=INCLUDE 13=INCLUDE  rebuild callback_names.json from header folders
    make_facts.py reduce SIZES.json            rebuild the file from many releases' sizes
    make_facts.py fields RELEASE=INCLUDE ...   rebuild record_fields.json, oldest release first

INCLUDE are folders that hold ``cupti.h`` and ``cuda.h``, as unpacked from the
wheels nvidia-cuda-cupti(-cu12), nvidia-cuda-runtime(-cu12), nvidia-cuda-crt or -nvcc.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from record_fields import write_fields

HERE = Path(__file__).resolve().parent
LAYOUTS = HERE / "record_layouts.json"
NAMES = HERE / "callback_names.json"

# Activity kind number -> stem of its record's struct.  The library writes the newest
# struct that its release has, whatever the client was compiled with.
KINDS = {
    1: "Memcpy",
    2: "Memset",
    3: "Kernel",
    4: "API",
    5: "API",
    8: "Device",
    9: "Context",
    10: "Kernel",
    11: "Name",
    12: "Marker",
    13: "MarkerData",
    17: "Overhead",
    20: "Environment",
    22: "MemcpyPtoP",
    25: "UnifiedMemoryCounter",
    26: "Function",
    33: "OpenAccData",
    34: "OpenAccLaunch",
    35: "OpenAccOther",
    36: "CudaEvent",
    37: "Stream",
    38: "Synchronization",
    39: "ExternalCorrelation",
    46: "Pcie",
    47: "OpenMp",
    49: "Memory",
    50: "MemoryPool",
    51: "GraphTrace",
    52: "Jit",
    53: "DeviceGraphTrace",
    54: "MemDecompress",
    55: "ConfidentialComputeRotation",
    56: "GraphHostNode",
    57: "ComputeEngineCtxSwitch",
    58: "HostLaunch",
    59: "GreenContext",
}
# What cuptiGetVersion answers in each release.
API_VERSIONS = {
    "11.8.87": 18,
    "12.0.146": 18,
    "12.1.105": 18,
    "12.2.142": 20,
    "12.3.101": 21,
    "12.4.127": 22,
    "12.5.82": 23,
    "12.6.80": 24,
    "12.8.90": 26,
    "12.9.79": 28,
    "13.0.85": 130001,
    "13.1.115": 130100,
    "13.2.86": 130200,
    "13.3.75": 130300,
    "13.4.92": 130400,
    "13.5.25": 130500,
}
# First API version of the functions that not every release has.
FUNCTIONS = {
    "cuptiActivityEnableAllSyncRecords": 26,
    "cuptiActivityEnableAllocationSource": 24,
    "cuptiActivityEnableCudaEventDeviceTimestamps": 130000,
    "cuptiActivityEnableDeviceGraph": 21,
    "cuptiActivityEnableDriverApi": 23,
    "cuptiActivityEnableRuntimeApi": 23,
    "cuptiActivityGetStructSize": 130200,
    "cuptiGetErrorMessage": 20,
    "cuptiSubscribe_v2": 130000,
    "cuptiActivityDisable_v2": 130200,
    "cuptiActivityEnable_v2": 130200,
    "cuptiActivityGetAttribute_v2": 130200,
    "cuptiActivityGetEnabledKinds": 130200,
    "cuptiActivityRegisterCallbacks_v2": 130200,
    "cuptiActivitySetAttribute_v2": 130200,
    "cuptiActivityEnableDriverApi_v2": 130300,
    "cuptiActivityEnableRuntimeApi_v2": 130300,
    "cuptiActivityGetNextRecord_v2": 130300,
    "cuptiActivityGetNumDroppedRecords_v2": 130300,
    "cuptiActivityPopExternalCorrelationId_v2": 130300,
    "cuptiActivityPushExternalCorrelationId_v2": 130300,
    "cuptiGetTimestamp_v2": 130300,
    "cuptiProfilerHostInitialize": 24,
    "cuptiProfilerHostDeinitialize": 24,
    "cuptiProfilerHostGetSupportedChips": 24,
    "cuptiProfilerHostGetBaseMetrics": 24,
    "cuptiProfilerHostGetSubMetrics": 24,
    "cuptiProfilerHostGetMetricProperties": 24,
    "cuptiProfilerHostEvaluateToGpuValues": 24,
    "cuptiProfilerHostConfigAddMetrics": 24,
    "cuptiProfilerHostGetConfigImageSize": 24,
    "cuptiProfilerHostGetConfigImage": 24,
    "cuptiProfilerHostGetNumOfPasses": 24,
    "cuptiProfilerHostGetMaxNumHardwareMetricsPerPass": 24,
    "cuptiPmSamplingSetConfig": 24,
    "cuptiPmSamplingEnable": 24,
    "cuptiPmSamplingDisable": 24,
    "cuptiPmSamplingStart": 24,
    "cuptiPmSamplingStop": 24,
    "cuptiPmSamplingDecodeData": 24,
    "cuptiPmSamplingGetCounterAvailability": 24,
    "cuptiPmSamplingGetCounterDataSize": 24,
    "cuptiPmSamplingCounterDataImageInitialize": 24,
    "cuptiPmSamplingGetCounterDataInfo": 24,
    "cuptiPmSamplingCounterDataGetSampleInfo": 24,
    "cuptiProfilerHostGetSinglePassSets": 130200,
    "cuptiProfilerHostGetMetricsInSinglePassSet": 130200,
}
# The API functions whose names the tests care about: what launches, copies, sets,
# allocates and waits, and what programs call all the time without any work behind it.
NAMED = re.compile(
    r"(__)?cu(da)?(Launch|Memcpy|Memset|MemAlloc|MemFree|Malloc|Free|Graph(Launch|Instantiate|Create|Clone|Add|ExecUpdate)"
    r"|(Stream|Device|Ctx)Synchronize|Event(Record|Query|Sync|Create)|StreamIsCapturing"
    r"|StreamGetCaptureInfo|StreamWaitEvent|GetDevice|SetDevice|GetLastError|PeekAtLastError"
    r"|DeviceGetAttribute|DriverGetVersion|RuntimeGetVersion|FuncGetAttributes|Occupancy"
    r"|CtxGetCurrent|CtxSetCurrent|CtxGetDevice|DevicePrimaryCtxGetState|KernelGetAttribute"
    r"|PointerGetAttribute|GetProcAddress|GetDriverEntryPoint|ThreadExchangeStreamCaptureMode"
    r"|Profiler(Start|Stop)|Init|DeviceGet|ModuleGetFunction|PopCallConfiguration|PushCallConfiguration)"
)

Layout = dict[str, Any]


def struct_for(stem: str, structs: dict[str, Any]) -> str | None:
    """The newest struct of a stem: Kernel13 before Kernel9 before Kernel; None without one."""
    found = [name for name in structs if re.fullmatch(rf"CUpti_Activity{stem}\d*", name)]
    return max(
        found,
        key=lambda name: int(name.removeprefix(f"CUpti_Activity{stem}") or 1),
        default=None,
    )


def parse_structs(text: str) -> dict[str, list[str]]:
    """Member names of each ``CUpti_Activity*`` struct of preprocessed text."""
    structs: dict[str, list[str]] = {}
    for match in re.finditer(r"typedef\s+struct\b[^{;]*\{", text):
        depth, members, statement = 1, [], ""
        position = match.end()
        while depth:
            char = text[position]
            depth += {"{": 1, "}": -1}.get(char, 0)
            statement += char if depth == 1 else ""
            if char == ";" and depth == 1:
                name = re.search(r"(\w+)\s*(\[[^\]]*\]\s*)?;$", statement)
                if name:
                    members.append(name[1])
                statement = ""
            position += 1
        tail = re.match(r"\s*(CUpti_Activity\w+)\s*;", text[position:])
        if tail:
            structs[tail[1]] = members
    return structs


def measure(includes: list[Path]) -> dict[str, Layout]:
    """Compile and run a probe; return kind -> {struct, size, members: {name: [offset, size]}}."""
    compiler = os.environ.get("CC", "cc")
    flags = [f"-I{path}" for path in includes]
    preprocess = [compiler, *flags, "-E", "-P", "-include", "cupti.h", "-xc", os.devnull]
    text = subprocess.run(preprocess, check=True, capture_output=True, text=True).stdout
    structs = parse_structs(text)
    wanted = {struct for stem in KINDS.values() if (struct := struct_for(stem, structs))}
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <cupti.h>", "int main(void){"]
    for struct in sorted(wanted):
        lines.append(f'printf("{struct} . 0 %zu\\n", sizeof({struct}));')
        for member in structs[struct]:
            place = f"offsetof({struct}, {member}), sizeof((({struct} *)0)->{member})"
            lines.append(f'printf("{struct} {member} %zu %zu\\n", {place});')
    lines.append("return 0;}")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "probe.c"), Path(folder, "probe")
        source.write_text("\n".join(lines))
        subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
        output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    layouts: dict[str, Layout] = {s: {"size": 0, "members": {}} for s in wanted}
    for struct, member, offset, size in (line.split() for line in output.splitlines()):
        if member == ".":
            layouts[struct]["size"] = int(size)
        else:
            layouts[struct]["members"][member] = [int(offset), int(size)]
    return {
        str(kind): _named(struct, layouts)
        for kind, stem in KINDS.items()
        if (struct := struct_for(stem, layouts))
    }


def _named(struct: str, layouts: dict[str, Layout]) -> Layout:
    return {"struct": struct, **layouts[struct]}


def put(facts: dict[str, Any], release: str, kinds: dict[str, Layout]) -> None:
    """Store a release; a layout that an earlier release has too is stored once."""
    entry: dict[str, Any] = {"api": API_VERSIONS[release], "kinds": {}}
    for kind, layout in kinds.items():
        same = [key for key, known in facts["layouts"].items() if known == layout]
        key = same[0] if same else f"{layout['struct']}@{release}"
        facts["layouts"][key] = layout
        entry["kinds"][kind] = key
    facts["releases"][release] = entry


def load() -> dict[str, Any]:
    """The facts file, or an empty one."""
    if LAYOUTS.exists():
        facts: dict[str, Any] = json.loads(LAYOUTS.read_text())
        return facts
    return {"functions": FUNCTIONS, "releases": {}, "layouts": {}}


def save(facts: dict[str, Any]) -> None:
    """Write the facts file with one layout a line."""
    facts["functions"] = FUNCTIONS
    blocks = []
    for part in ("functions", "releases", "layouts"):
        rows = (f" {json.dumps(k)}: {json.dumps(v)}" for k, v in facts[part].items())
        blocks.append(f"{json.dumps(part)}: {{\n" + ",\n".join(rows) + "\n}")
    LAYOUTS.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def reduce_sizes(path: Path) -> None:
    """Rebuild the facts from {release: {struct: {size, f: [[member, offset, size]]}}}."""
    facts: dict[str, Any] = {"functions": FUNCTIONS, "releases": {}, "layouts": {}}
    for release, structs in json.loads(path.read_text()).items():
        kinds = {}
        for kind, stem in KINDS.items():
            struct = struct_for(stem, structs)
            if struct is None:
                continue
            members = {name: [offset, size] for name, offset, size in structs[struct]["f"]}
            kinds[str(kind)] = {
                "struct": struct,
                "size": structs[struct]["size"],
                "members": members,
            }
        put(facts, release, kinds)
    save(facts)


def verify(release: str, includes: list[Path]) -> list[str]:
    """Differences between the stored facts of a release and its headers."""
    facts = load()
    differences = []
    for kind, layout in measure(includes).items():
        stored = facts["layouts"][facts["releases"][release]["kinds"][kind]]
        if stored != layout:
            differences.append(f"kind {kind}: stored {stored}, header says {layout}")
    return differences


def callback_names(includes: dict[str, Path]) -> None:
    """Keep the numbers of the API functions that the tests use, and how many there are.

    ``includes`` maps a major version to its header folder; the last gives the names.
    """
    known: dict[str, Any] = {"sizes": {major: {} for major in includes}}
    for major, include in includes.items():
        for api in ("runtime", "driver"):
            text = (include / f"cupti_{api}_cbid.h").read_text()
            found = re.findall(rf"CUPTI_{api.upper()}_TRACE_CBID_(\w+)\s*=\s*(\d+)", text)
            numbers = {name: int(number) for name, number in found}
            known["sizes"][major][api] = numbers["SIZE"]
            known[api] = {str(n): name for name, n in numbers.items() if NAMED.match(name)}
    blocks = (f"{json.dumps(key)}: {json.dumps(value, indent=0)}" for key, value in known.items())
    NAMES.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def main(arguments: list[str]) -> int:
    """Run one of the commands of the module's docstring; return its exit status."""
    command, *rest = arguments or ["help"]
    if command == "reduce":
        reduce_sizes(Path(rest[0]))
    elif command == "names":
        callback_names({major: Path(path) for major, path in (item.split("=") for item in rest)})
    elif command == "fields":
        include_dirs = dict(item.split("=") for item in rest)
        write_fields({release: Path(path) for release, path in include_dirs.items()})
    elif command == "extract":
        print(json.dumps(measure([Path(path) for path in rest[1:]])))
    elif command == "add":
        facts = load()
        put(facts, rest[0], measure([Path(path) for path in rest[1:]]))
        save(facts)
    elif command == "verify":
        differences = verify(rest[0], [Path(path) for path in rest[1:]])
        print("\n".join(differences) or f"{rest[0]}: the facts agree with the headers")
        return 1 if differences else 0
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
