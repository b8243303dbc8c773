"""Why CUPTI does not sample PCs, count instructions, or measure launches and ranges, in words."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from cupti_etl.native.headers import constant

# CUPTI's results (cupti_result.h), and what can be done.
_RESULTS = {
    8: "CUPTI had no memory for it; ask for fewer metrics",
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
_ERRNO = {
    errno.ENOMEM: "the program had no memory for it",
    errno.E2BIG: "the list of metrics is too long",
    errno.ENOSPC: "the program has more than 16 contexts",
}
_PC_SAMPLING = {
    8: "CUPTI had no memory for it",
    -errno.ENOSYS: "this libcupti has no functions for it; use that of CUDA 12.8 or later",
    -errno.EOPNOTSUPP: "before CUDA 12.8, libcupti samples nothing while kernels are recorded;"
    " name a newer one with --cupti",
    -errno.ENOSPC: "the program has more than 64 contexts",
    -errno.EAGAIN: "no thread could be started for it",
}
_SASS_METRICS = {
    7: "another tool in the program counts instructions already; end it",
    -errno.ENOENT: "CUPTI does not know one of the metrics on this chip; leave it out, or name the"
    " libcupti of a newer CUDA with --cupti",
    -errno.ENOSYS: "this libcupti has no functions for it; use that of CUDA 12.2 or later",
    -errno.ENOSPC: "the program has more than 16 contexts, or 64 GPUs",
    -errno.EINVAL: "the regular expression of --sass-filter is none",
    -errno.EOWNERDEAD: "counts are taken at the end of the program, and it destroyed its context"
    " before; let it end without cudaDeviceReset or cuCtxDestroy",
    -errno.EOVERFLOW: "CUPTI tells of more counts than can be; ask for fewer metrics",
    -errno.ENODATA: "CUPTI has counted nothing, though the program launched kernels; leave out the"
    " other tools in the program that record, or name the libcupti of a newer CUDA with --cupti",
}
_RANGE_METRICS = {
    17: "CUPTI does not know one of the metrics on this chip; `cupti-etl metrics check --range`"
    " says which",
    -errno.ENOSYS: "this libcupti has no range profiler; use that of CUDA 12.6 or later",
    -errno.EBUSY: "a launch of the capture before is still being measured",
    -errno.EINVAL: "the regular expression of --range-filter is none",
    -errno.ERANGE: "each of the metrics needs several passes by itself, and what is executed once"
    " has one; leave out --range-by range and --range-replay application",
    -errno.EMLINK: "one execution counts so few of the metrics that they need more than"
    f" {constant('ETL_MOST_RANGE_GROUPS')} groups; ask for fewer metrics",
    -errno.EOVERFLOW: "CUPTI wants more memory than is given; ask for fewer metrics",
}
# Why launches and ranges are not measured, by members of etl_process_info.
LEFT_OUT = {
    "range_cooperative": "they are cooperative: their blocks wait for each other, and"
    " CUPTI does not replay them; --range-replay application measures them",
    "range_graphs": "they are CUDA graphs, which are not replayed; run the program without graphs",
    "range_communication": "they communicate with other GPUs, which do not replay with this one",
    "range_others": "they were not launched by cuLaunchKernel or cuLaunchKernelEx, or came while"
    " another launch was measured for more than a minute, or are ranges that a thread opened before"
    " it had a CUDA context",
}


def pc_obstacle(code: int) -> str:
    """Why no PCs are sampled, as a sentence without its end.

    Args:
        code: CUPTI's result, or a negative errno.
    """
    return _said(code, _PC_SAMPLING)


def sass_obstacle(code: int) -> str:
    """The same of counts of instructions."""
    return _said(code, _SASS_METRICS)


def range_obstacle(code: int) -> str:
    """The same of launches and ranges."""
    return _said(code, _RANGE_METRICS)


def _said(code: int, ours: Mapping[int, str]) -> str:
    if code in ours:
        return ours[code]
    if code < 0:
        return _ERRNO.get(-code, f"{errno.errorcode.get(-code, 'error')} ({code})")
    return _RESULTS.get(code, f"CUPTI answered {code}")
