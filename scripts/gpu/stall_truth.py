"""Why warps of known kernels wait: what PC samples say, beside the cause and Nsight Compute.

Each kernel of ``stalls.cu`` waits for one thing (EXPECTED); ncu samples, too, and its shares by
reason have to be as ours within APART_POINTS.  Both sample, and a loop in step with the period is
sampled wrong by both: where they differ, the range profiler's counters, which count every cycle of
every warp, say who is nearer, and that has to be ours.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# What the kernel was written to wait for.
EXPECTED = {
    "stall_chase": ("long_scoreboard",),
    "stall_barrier": ("barrier",),
    "stall_pipe": ("math_pipe_throttle",),
    "stall_branch": ("branch_resolving",),
    "stall_fetch": ("no_instructions", "no_instruction"),
}
APART_POINTS = 5.0
# Of fewer samples, a share is not known to so many points.
LEAST_SAMPLES = 2000
PREFIX = "smsp__pcsamp_warps_issue_stalled_"
_COUNTED = "smsp__warps_issue_stalled_"
# CUPTI has a plural in the name of a sample, and none in that of the counter.
_REASONS = (
    "barrier branch_resolving dispatch_stall drain gmma imc_miss lg_throttle long_scoreboard"
    " math_pipe_throttle membar mio_throttle misc no_instruction not_selected selected"
    " short_scoreboard sleeping tex_throttle wait"
)
EXACT_METRICS = tuple(f"{_COUNTED}{reason}.sum" for reason in _REASONS.split())
EXACT = """
    SELECT coalesce(short, function) AS name, metric, sum(value) AS value
    FROM launch_metric LEFT JOIN kernel_name ON mangled = function
    GROUP BY ALL"""


def ncu_command(ncu: str, program: Sequence[str], launches: int) -> list[str]:
    """Nsight Compute's samples of the first launches, with clocks and caches as they are."""
    return [
        ncu, "--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "function",
        "--clock-control", "none", "--cache-control", "none", "--launch-count", str(launches),
        "--metrics", "group:smsp__pcsamp_warp_stall_reasons", *program,
    ]  # fmt: skip


def ncu_shares(output: str) -> dict[str, dict[str, float]]:
    """Shares of reasons in percent, by kernel, summed over launches; empty if it is no CSV."""
    lines = output.splitlines()
    heads = [at for at, line in enumerate(lines) if line.startswith('"ID"')]
    samples: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(lines[heads[0] :]) if heads else ():
        kernel = samples.setdefault(row.get("Kernel Name") or "", {})
        for name, value in row.items():
            reason = (name or "").removeprefix(PREFIX)
            if reason == name or reason.endswith("_not_issued") or not value:
                continue
            try:
                kernel[reason] = kernel.get(reason, 0) + float(value.replace(",", ""))
            except ValueError:
                continue  # "n/a"
    return {kernel: shares(reasons) for kernel, reasons in samples.items() if any(reasons.values())}


def exact_shares(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Shares of reasons in percent, by kernel, of rows of EXACT."""
    cycles: dict[str, dict[str, float]] = {}
    for row in rows:
        reason = row["metric"].removeprefix(_COUNTED).removesuffix(".sum")
        reason = "no_instructions" if reason == "no_instruction" else reason
        cycles.setdefault(row["name"], {})[reason] = row["value"] or 0.0
    return {kernel: shares(reasons) for kernel, reasons in cycles.items() if any(reasons.values())}


def shares(samples: Mapping[str, float]) -> dict[str, float]:
    """Each reason's share in percent."""
    whole = sum(samples.values())
    return {reason: 100 * count / whole for reason, count in samples.items()}


def judge(
    rows: Iterable[Mapping[str, Any]],
    theirs: Mapping[str, Mapping[str, float]],
    exact: Mapping[str, Mapping[str, float]] | None = None,
) -> Any:
    """Whether the causes are found and ncu agrees, or is farther from what was counted.

    Args:
        rows: of ``kernel_stall``.
        theirs: of :func:`ncu_shares`.
        exact: of :func:`exact_shares`; None if nothing was counted.
    """
    counted = exact or {}
    ours: dict[str, dict[str, float]] = {}
    count: dict[str, int] = {}
    for row in rows:
        ours.setdefault(row["name"], {})[row["reason"]] = row["percent"]
        count[row["name"]] = row["kernel_samples"]
    causes = {}
    for kernel, expected in EXPECTED.items():
        waits = {r: p for r, p in ours.get(kernel, {}).items() if r != "selected"}
        found = max(waits, key=lambda reason: waits[reason], default=None)
        causes[kernel] = {
            "found": found,
            "ok": found in expected,
            "percent": waits.get(found or ""),
        }
    apart = [
        {
            "kernel": kernel, "reason": reason, "ours": ours[kernel].get(reason, 0.0),
            "ncu": of_ncu.get(reason, 0.0), "samples": count[kernel],
            "exact": counted[kernel].get(reason, 0.0) if kernel in counted else None,
        }
        for kernel, of_ncu in theirs.items()
        if kernel in ours and count[kernel] >= LEAST_SAMPLES
        for reason in sorted({*ours[kernel], *of_ncu})
        if abs(ours[kernel].get(reason, 0.0) - of_ncu.get(reason, 0.0)) > APART_POINTS
    ]  # fmt: skip
    worse = [
        row for row in apart
        if row["exact"] is None
        or abs(row["ours"] - row["exact"]) > abs(row["ncu"] - row["exact"])
    ]  # fmt: skip
    compared = [kernel for kernel in theirs if count.get(kernel, 0) >= LEAST_SAMPLES]
    return {
        "causes": causes, "apart": apart, "compared": compared,
        "ours": ours, "ncu": {kernel: dict(each) for kernel, each in theirs.items()},
        "exact": {kernel: dict(each) for kernel, each in counted.items()},
        "ok": bool(compared) and not worse and all(each["ok"] for each in causes.values()),
    }  # fmt: skip
