"""Whether the GPUs allow what counts: samples, replay, and counts of instructions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cupti_etl.doctor.findings import Area, Finding

_COUNTERS = Area("counters")
# CUpti_Profiler_API, and the option of capture that uses it.
_OPTIONS = ("--range-metrics", "--pc-sampling", "--sass-metrics", "--pm")
# CUpti_Profiler_Support_Level.
_UNSUPPORTED, _DISABLED = 1, 2
# Members that say why not, and what can be done; another than these is not explained by CUPTI.
_WHY = {
    "vgpu": (
        "it is a virtual GPU",
        "enable profiling for it on the host (the vGPU plugin's enable_profiling), if its type can",
    ),
    "confidential_compute": (
        "confidential computing is on",
        "use a machine without it, or record activity only",
    ),
    "architecture": ("its architecture is too old", "use a GPU of compute capability 7.5 or later"),
    "sli": ("it is linked by SLI", "switch SLI off"),
    "cmp": ("it is a mining processor", "use another GPU"),
    "wsl": ("this is WSL", "use a driver and a CUPTI that support it there"),
    "sku": ("this model does not allow it", "use another GPU, or a newer CUPTI"),
}


def check_support(answer: dict[str, Any]) -> Iterator[Finding]:
    """What CUPTI does not support on each device.

    Args:
        answer: of the probe ``support``; where it could not ask, nothing is said.
    """
    refused: dict[tuple[int, str, str], list[str]] = {}
    for row in answer.get("devices", ()):
        if row["all"] not in (_UNSUPPORTED, _DISABLED):
            continue
        what, todo = next(
            (_WHY[name] for name in _WHY if row[name] in (_UNSUPPORTED, _DISABLED)),
            ("CUPTI does not say why", "record activity only"),
        )
        refused.setdefault((row["device"], what, todo), []).append(_OPTIONS[row["api"]])
    for (device, what, todo), options in refused.items():
        yield _COUNTERS.warn(
            f"device {device} does not allow {', '.join(options)}: {what}; activity is recorded",
            todo,
        )
    if answer.get("devices") and not refused:
        yield _COUNTERS.ok(f"CUPTI supports {', '.join(_OPTIONS)} on these devices")
