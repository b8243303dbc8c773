"""Why CUPTI does not sample PCs, in words."""

from __future__ import annotations

import errno

# CUPTI's results (cupti_result.h), and what can be done.
_RESULTS = {
    26: "another profiler has the GPU's counters (HARDWARE_BUSY); end it, such as DCGM's profiling",
    27: "this GPU, or the way it is shared (MIG, a virtual GPU, WSL), does not support it",
    35: "this needs more privileges: run as root, or load the nvidia driver with"
    " NVreg_RestrictProfilingToAdminUsers=0",
    33: "a virtual GPU does not support it",
    8: "CUPTI had no memory for it",
}
_ERRNO = {
    errno.ENOSYS: "this libcupti has no functions for it; use that of CUDA 12.8 or later",
    errno.EOPNOTSUPP: "before CUDA 12.8, libcupti samples nothing while kernels are recorded;"
    " name a newer one with --cupti",
    errno.ENOSPC: "the program has more than 64 contexts",
    errno.ENOMEM: "the program had no memory for it",
    errno.EAGAIN: "no thread could be started for it",
}


def pc_obstacle(code: int) -> str:
    """A sentence without its end.

    Args:
        code: CUPTI's result, or a negative errno.
    """
    if code < 0:
        return _ERRNO.get(-code, f"{errno.errorcode.get(-code, 'error')} ({code})")
    return _RESULTS.get(code, f"CUPTI answered {code}")
