"""Why CUPTI does not count or sample on a machine, in words that all its ways to do so share."""

from __future__ import annotations

import errno
from collections.abc import Mapping

# CUPTI's results (cupti_result.h), and what can be done.
_RESULTS = {
    8: "CUPTI had no memory for it",
    26: "another profiler has the GPU's counters (HARDWARE_BUSY); end it, such as DCGM's profiling",
    27: "this GPU, or the way it is shared (MIG, MPS, a virtual GPU, WSL), does not support it",
    33: "a virtual GPU does not support it",
    35: "this needs more privileges: run as root, or load the nvidia driver with"
    " NVreg_RestrictProfilingToAdminUsers=0",
    40: "the host does not allow it on this virtual GPU; enable profiling for it there (the vGPU"
    " plugin's enable_profiling)",
    41: "confidential computing is on, which does not allow it; use a machine without it",
    42: "a mining processor does not support it",
    43: "a GPU that is partitioned (MIG) does not support it",
    44: "GPUs that are linked by SLI do not support it",
    45: "WSL does not support it",
    46: "this libcupti does not know the chip; name a newer one with --cupti",
}


def obstacle(code: int, results: Mapping[int, str], numbers: Mapping[int, str]) -> str:
    """A sentence without its end.

    Args:
        code: CUPTI's result, or a negative errno.
        results: of one way to count, before those of all; by CUPTI's results.
        numbers: the same, by errno.
    """
    if code < 0:
        return numbers.get(-code, f"{errno.errorcode.get(-code, 'error')} ({code})")
    return results.get(code) or _RESULTS.get(code, f"CUPTI answered {code}")
