"""What NVML counts beside what CUPTI samples of the same time: --pm gpm and --pm.

    python gpm.py --out DIR --work DIR

A capture with --pm keeps a GPU busy with matrix products, and `sample --pm gpm` runs beside it.
Writes DIR/gpm.json; exits with 1 if a mean of the common time is more than APART_POINTS apart.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

from machine import machine
from runs import CUPTI_ETL, PYTHON, arguments

import cupti_etl

APART_POINTS = 5.0
COMPARED = {
    "sm_active_pct": "sm_active_pct",
    "tensor_active_pct": "tensor_active_pct",
    "warps_active_pct": "warps_active_pct",
    "dram_pct": "dram_read_pct + dram_write_pct",
}
LOAD = """
import time, torch
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
end = time.monotonic() + 12
while time.monotonic() < end:
    for _ in range(20):
        a @ a
    torch.cuda.synchronize()
"""


def judge(gpm: dict[str, Any], cupti: dict[str, Any]) -> dict[str, Any]:
    """Means of both beside each other."""
    apart = {
        name: {"gpm": gpm[name], "cupti": cupti[name]}
        for name in COMPARED
        if gpm.get(name) is None
        or cupti.get(name) is None
        or abs(gpm[name] - cupti[name]) > APART_POINTS
    }
    return {"gpm": gpm, "cupti": cupti, "apart": apart, "ok": not apart}


def means(trace: cupti_etl.Trace, columns: dict[str, str], span: tuple[int, int]) -> dict[str, Any]:
    """The mean of each column between two times, and how many samples that are."""
    words = ", ".join(f"avg({expression}) AS {name}" for name, expression in columns.items())
    (row,) = trace.sql(
        f"SELECT count(*) AS samples, {words} FROM pm_sample"
        f" WHERE start_ns >= {span[0]} AND end_ns <= {span[1]}"
    )
    return dict(row)


def main() -> int:
    """Entry point."""
    options = arguments(__doc__).parse_args()
    ours, theirs = options.work / "gpm-nvml", options.work / "gpm-cupti"
    capture = subprocess.Popen(
        [*CUPTI_ETL, "capture", "--pm", "-o", str(theirs), "--", PYTHON, "-c", LOAD],
        cwd=options.work, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    time.sleep(6)  # PyTorch starts, and then computes for 12 s
    sample = subprocess.run(
        [*CUPTI_ETL, "sample", "--pm", "gpm", "--duration", "5s", "-o", str(ours)],
        cwd=options.work, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = {"capture": capture.communicate()[1], "sample": sample.stderr}
    with cupti_etl.open(ours) as one, cupti_etl.open(theirs) as other:
        (span,) = one.sql('SELECT min(start_ns) AS start, max(end_ns) AS "end" FROM pm_sample')
        between = (span["start"], span["end"])
        report = judge(
            means(one, {name: name for name in COMPARED}, between),
            means(other, COMPARED, between),
        )
        report["loss"] = [*one.sql("FROM loss"), *other.sql("FROM loss")]
        report["metrics"] = [*one.sql("SELECT metric, hardware_name FROM pm_metric")]
    report |= {"machine": machine(), "said": said}
    (options.out / "gpm.json").write_text(json.dumps(report, indent=1, default=str))
    print("gpm", report["ok"], flush=True)
    return 0 if report["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
