"""Why CUPTI does not count instructions, in words."""

from __future__ import annotations

import errno

from cupti_etl.capture.obstacles import obstacle

# Beside those that all share (obstacles.py): CUPTI's results, and what can be done.
_RESULTS = {
    7: "another tool in the program counts instructions already; end it",
    8: "CUPTI had no memory for it; ask for fewer metrics",
}
_ERRNO = {
    errno.ENOENT: "CUPTI does not know one of the metrics on this chip; leave it out, or name the"
    " libcupti of a newer CUDA with --cupti",
    errno.ENOSYS: "this libcupti has no functions for it; use that of CUDA 12.2 or later",
    errno.ENOSPC: "the program has more than 16 contexts, or 64 GPUs",
    errno.ENOMEM: "the program had no memory for it",
    errno.E2BIG: "the list of metrics is too long",
    errno.EINVAL: "the regular expression of --sass-filter is none",
    errno.EOWNERDEAD: "counts are taken at the end of the program, and it destroyed its context"
    " before; let it end without cudaDeviceReset or cuCtxDestroy",
    errno.EOVERFLOW: "CUPTI tells of more counts than can be; ask for fewer metrics",
}


def sass_obstacle(code: int) -> str:
    """A sentence without its end.

    Args:
        code: CUPTI's result, or a negative errno.
    """
    return obstacle(code, _RESULTS, _ERRNO)
