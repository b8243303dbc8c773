"""Which API calls a capture records: the levels ``all``, ``default``, ``launch``, ``none``.

``default`` is every runtime call except the noise, plus the driver calls of ``LAUNCH`` and
``DRIVER``: 87 % of a PyTorch program's runtime records are calls that only ask something (1.73 M
records for 153 k kernels, measured on an H200), and recording them is what makes tracing slow.
Of the driver's, CUPTI records only those that the runtime did not make itself, but libraries ask
it as often.  A trailing ``*`` stands for any ending.
"""

from __future__ import annotations

# Calls that only ask; none of them makes the GPU or the caller wait.
NOISE = (
    "cudaCtxGet*",
    "cudaDeviceCanAccessPeer",
    "cudaDeviceGet*",
    "cudaDriverGetVersion",
    "cudaEventQuery",
    "cudaFuncGet*",
    "cudaFuncSet*",
    "cudaGet*",
    "cudaHostGet*",
    "cudaMemPoolGet*",
    "cudaOccupancy*",
    "cudaPeekAtLastError",
    "cudaPointerGetAttributes",
    "cudaRuntimeGetVersion",
    "cudaSetDevice",
    "cudaStreamGet*",
    "cudaStreamIsCapturing",
    "cudaStreamQuery",
    "cudaThreadExchangeStreamCaptureMode",
    "cudaThreadGet*",
)

# Calls that put work on a device: a launch, a copy, a set.  Triton and programs of the
# driver API launch through the driver's.
LAUNCH = (
    "cuGraphLaunch*",
    "cuLaunch*",
    "cuMemcpy*",
    "cuMemset*",
    "cudaGraphLaunch*",
    "cudaLaunch*",
    "cudaMemcpy*",
    "cudaMemset*",
)

# Calls in which a program of the driver API, such as JAX, spends time: waiting, allocating, loading
# code (the runtime does it this way, too), and setting up.
DRIVER = (
    "cuCtxCreate*",
    "cuCtxDestroy*",
    "cuCtxSynchronize*",
    "cuDevicePrimaryCtxRelease*",
    "cuDevicePrimaryCtxReset*",
    "cuDevicePrimaryCtxRetain",
    "cuEventSynchronize",
    "cuGraphExecUpdate*",
    "cuGraphInstantiate*",
    "cuGraphUpload*",
    "cuLibraryLoad*",
    "cuLibraryUnload",
    "cuLink*",
    "cuMemAlloc*",
    "cuMemCreate",
    "cuMemFree*",
    "cuMemHostAlloc*",
    "cuMemHostRegister*",
    "cuMemHostUnregister",
    "cuMemMap*",
    "cuMemPoolCreate",
    "cuMemPoolDestroy",
    "cuMemPoolTrimTo",
    "cuMemPrefetch*",
    "cuMemRelease",
    "cuMemSetAccess",
    "cuMemUnmap",
    "cuModuleLoad*",
    "cuModuleUnload",
    "cuStreamCreate*",
    "cuStreamDestroy*",
    "cuStreamSynchronize*",
)

# Of which driver calls --python-stacks keeps the stack; each level includes those before it.
# The runtime's calls come to the driver's, where alone they are met once.
_LAUNCHES = ("cuGraphLaunch*", "cuLaunch*")
_COPIES = (*_LAUNCHES, "cuMemcpy*", "cuMemset*", "cuMemPrefetch*")
_ALL = (
    *_COPIES,
    "cuCtxSynchronize*",
    "cuEventSynchronize",
    "cuMemAlloc*",
    "cuMemFree*",
    "cuStreamSynchronize*",
    "cuStreamWaitEvent*",
)
STACKS = {"launches": _LAUNCHES, "copies": _COPIES, "all": _ALL}
