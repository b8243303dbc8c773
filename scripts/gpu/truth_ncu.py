"""Nsight Compute's figures for the same kernels, to stand beside ours."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

METRICS = {
    "dram__bytes_read.sum": "read_bytes",
    "dram__bytes_write.sum": "write_bytes",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "tensor pipe",
}


def command(ncu: str, program: Sequence[str]) -> list[str]:
    """The program under Nsight Compute, with the clocks that we have.

    Caches are left as they are, too: emptied before each kernel, they would hold what it writes.
    """
    options = [
        "--clock-control",
        "none",
        "--cache-control",
        "none",
        "--csv",
        "--print-units",
        "base",
    ]
    options += ["--print-kernel-base", "function", "--metrics", ",".join(METRICS)]
    return [ncu, *options, *program]


def parse(output: str) -> list[dict[str, Any]]:
    """Means over the launches of each kernel and grid; what is no CSV is passed over."""
    lines = output.splitlines()
    heads = [at for at, line in enumerate(lines) if line.startswith('"ID"')]
    if not heads:
        return []
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in csv.DictReader(line for line in lines[heads[0] :] if line.startswith('"')):
        quantity = METRICS.get(row.get("Metric Name") or "")
        try:
            value = float((row.get("Metric Value") or "").replace(",", ""))
        except ValueError:
            continue  # "n/a"
        if quantity:
            grid = "x".join(re.findall(r"\d+", row.get("Grid Size") or ""))
            kernel = found.setdefault((row.get("Kernel Name") or "", grid), {})
            kernel.setdefault(quantity, []).append(value)
    return [
        {
            "kernel": kernel,
            "grid": grid,
            "launches": max(map(len, values.values())),
            **{quantity: sum(each) / len(each) for quantity, each in values.items()},
        }
        for (kernel, grid), values in found.items()
    ]


def beside(
    theirs: Iterable[Mapping[str, Any]], captures: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Every figure of theirs that we have too, with what was counted; nothing is judged here."""
    by_kernel = {(row["kernel"], row["grid"]): row for row in theirs}
    found = []
    for capture in captures:
        for row in capture.get("rows", ()):
            other = by_kernel.get((row["kernel"], row["grid"]), {}).get(row["quantity"])
            if other is not None and row["query"] == "kernel_metrics":
                keys = ("kernel", "grid", "quantity", "metric", "counted", "measured")
                apart = None
                if other and row["measured"] is not None:
                    apart = 100 * (row["measured"] - other) / other
                found.append(
                    {
                        "capture": capture.get("capture"),
                        **{key: row[key] for key in keys},
                        "ncu": other,
                        "apart_pct": apart,
                    }
                )
    return found
