"""Other tools that want the same place: only one CUPTI client records activity at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cupti_etl.config import CUDA_INJECTION, NCCL_PLUGIN, NVTX_INJECTION
from cupti_etl.doctor.findings import Area, Finding, System

_CONFLICT = Area("conflict")

_OWN_LIBRARY = "libcupti_etl_inject.so"
_TOOL_VARIABLES = re.compile(
    r"NSYS_|NV_NSIGHT_|NV_COMPUTE_PROFILER_|COMPUTE_SANITIZER|CUDBG_|PROTON_"
)
_TOOL_LIBRARIES = re.compile(
    r"nsys|nsight|toolsinjection|sanitizer|cupti|libdlprof|proton", re.IGNORECASE
)
# Names as /proc shows them, 15 characters.
_DCGM = {"nv-hostengine", "dcgm-exporter", "dcgmproftester"}
_MPS = {"nvidia-cuda-mps"}
_PROFILERS = {"nsys", "ncu", "nsys-launcher", "nsight-sys", "ncu-ui", "compute-sanitiz"}


def check_conflicts(system: System) -> Iterator[Finding]:
    """Environment variables and processes of other tools."""
    environ = system.environ
    for name in (CUDA_INJECTION, NVTX_INJECTION):
        value = environ.get(name, "")
        if value and not value.endswith(_OWN_LIBRARY):
            yield _CONFLICT.fail(
                f"{name} is set: {value} is loaded into CUDA programs",
                f"unset {name}: a capture needs this place and refuses to take it from another",
            )
    plugin = environ.get(NCCL_PLUGIN, "")
    if plugin and not plugin.endswith(_OWN_LIBRARY):
        yield _CONFLICT.warn(
            f"{NCCL_PLUGIN} is set: a capture leaves it at {plugin}",
            f"unset {NCCL_PLUGIN} to have them in the table nccl_event",
        )
    tools = sorted(name for name in environ if _TOOL_VARIABLES.match(name))
    if tools:
        yield _CONFLICT.warn(
            f"variables of another profiler are set: {', '.join(tools)}",
            "run the capture outside that tool: only one client can record activity",
        )
    preload = environ.get("LD_PRELOAD", "")
    if _TOOL_LIBRARIES.search(preload):
        yield _CONFLICT.warn(
            f"LD_PRELOAD holds another tool: {preload}",
            "unset LD_PRELOAD for the capture",
        )
    names = system.process_names()
    if names & _DCGM:
        yield _CONFLICT.warn(
            f"DCGM ({', '.join(sorted(names & _DCGM))}) runs and may hold the hardware counters",
            "nothing for activity; for counters pause it: dcgmi profile --pause",
        )
    if names & _MPS or environ.get("CUDA_MPS_PIPE_DIRECTORY"):
        yield _CONFLICT.warn(
            "MPS is in use: activity is recorded, whole-GPU counters are not",
            "nothing for activity; for counters stop MPS: echo quit | nvidia-cuda-mps-control",
        )
    if names & _PROFILERS:
        yield _CONFLICT.warn(
            f"another profiler is running: {', '.join(sorted(names & _PROFILERS))}",
            "let it end first if it looks at the same program",
        )
