"""What a failure of PM sampling means, and what to do about it."""

from __future__ import annotations

import errno

# CUPTI's results, and errors of our own as negative numbers.
_ADVICE = {
    8: (
        "CUPTI has no memory for it",
        "sample fewer metrics, or at a longer --pm-interval",
    ),
    17: (
        "CUPTI does not know a metric on this chip",
        "`cupti-etl metrics list` has those that it knows",
    ),
    26: (
        "another tool holds the GPU's counters",
        "end it (Nsight, another capture with --pm), for DCGM: dcgmi profile --pause; or take"
        " --pm gpm, which does not need them",
    ),
    27: (
        "this GPU or driver cannot sample its counters",
        "it needs compute capability 7.5 or later, and neither MPS nor WSL",
    ),
    33: (
        "the GPU is a virtual one (vGPU), which has no counters",
        "let the administrator allow profiling for the VM, or use a GPU that is passed through",
    ),
    35: (
        "hardware counters are for administrators here (RmProfilingAdminOnly: 1)",
        "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run with CAP_SYS_ADMIN",
    ),
    43: (
        "the GPU is partitioned (MIG), and parts have no counters of the whole",
        "sample GPUs without MIG: --pm-devices",
    ),
    46: (
        "this libcupti does not know the chip",
        "use a newer one: --cupti, or pip install -U nvidia-cuda-cupti-cu13",
    ),
    999: (
        "CUPTI gave up with an error of its own",
        "is the GPU lost (dmesg, nvidia-smi)? otherwise try another libcupti with --cupti",
    ),
    -errno.E2BIG: (
        "the metrics do not fit one pass",
        "choose fewer; `cupti-etl metrics check` says how many passes they need",
    ),
    -errno.ENOENT: (
        "there is no libcupti of CUDA 12.6 or later",
        "pip install nvidia-cuda-cupti-cu13, or name one with --cupti",
    ),
    -errno.ENODEV: (
        "there is no GPU that can be used",
        "look at nvidia-smi, and at CUDA_VISIBLE_DEVICES if it is set",
    ),
    -errno.ENOTSUP: (
        "this libcupti is too old for it",
        "use that of CUDA 13.2 or later: --cupti",
    ),
}


def advice(result: int, detail: str) -> tuple[str, str]:
    """A sentence on what is wrong, with CUPTI's words in it, and one on what to do.

    Args:
        result: what the native function gave: CUPTI's result, or a negative errno.
        detail: what it said.
    """
    meaning, hint = _ADVICE.get(result, ("", "`cupti-etl doctor` looks at what sampling needs"))
    if not meaning:
        return detail, hint
    return f"{meaning} ({detail})", hint
