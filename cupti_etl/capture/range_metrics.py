"""Why CUPTI's range profiler does not measure launches or ranges, in words."""

from __future__ import annotations

import errno

from cupti_etl.capture.obstacles import obstacle

# Beside those that all share (obstacles.py): CUPTI's results, and what can be done.
_RESULTS = {
    8: "CUPTI had no memory for it; ask for fewer metrics",
    17: "CUPTI does not know one of the metrics on this chip; `cupti-etl metrics check --range`"
    " says which",
}
_ERRNO = {
    errno.ENOSYS: "this libcupti has no range profiler; use that of CUDA 12.6 or later",
    errno.ENOSPC: "the program has more than 16 contexts",
    errno.ENOMEM: "the program had no memory for it",
    errno.E2BIG: "the list of metrics is too long",
    errno.EBUSY: "a launch of the capture before is still being measured",
    errno.EINVAL: "the regular expression of --range-filter is none",
    errno.ERANGE: "each of the metrics needs several passes by itself, and what is executed once"
    " has one; leave out --range-by range and --range-replay application",
    errno.EOVERFLOW: "CUPTI wants more memory than is given; ask for fewer metrics",
}
# Members of etl_process_info.
LEFT_OUT = {
    "range_cooperative": "they are cooperative: their blocks wait for each other, and"
    " CUPTI does not replay them; --range-replay application measures them",
    "range_graphs": "they are CUDA graphs, which are not replayed; run the program without graphs",
    "range_communication": "they communicate with other GPUs, which do not replay with this one",
    "range_others": "they were not launched by cuLaunchKernel or cuLaunchKernelEx, or came while"
    " another launch was measured for more than a minute, or are ranges that a thread opened before"
    " it had a CUDA context",
}


def range_obstacle(code: int) -> str:
    """A sentence without its end.

    Args:
        code: CUPTI's result, or a negative errno.
    """
    return obstacle(code, _RESULTS, _ERRNO)
