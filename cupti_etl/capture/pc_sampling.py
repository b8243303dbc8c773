"""Why CUPTI does not sample PCs, in words."""

from __future__ import annotations

import errno

from cupti_etl.capture.obstacles import obstacle

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
    return obstacle(code, {}, _ERRNO)
