"""Write what people see of the demo's trace at three widths of a terminal.

    python scripts/update_golden.py [--check]

With ``--check`` nothing is written, and the status is 1 if something would be.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cupti_etl
from cupti_etl.render.table import View
from cupti_etl.render.text import drawn

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "render" / "golden"
RECORDING = ROOT / "cupti_etl" / "demo" / "h200.etlrec"
WIDTHS = (80, 120, 200)
ROWS = 8
QUERIES = (
    "run_summary", "kernel_summary", "memcpy_summary", "gap_attribution", "nvtx_projection",
    "step_breakdown", "kernel_worst", "sync_cost", "api_summary", "busy_breakdown",
)  # fmt: skip


def pages() -> dict[str, str]:
    """The answers by the names of the queries."""
    os.environ["NO_COLOR"] = "1"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo-trace"
        command = [sys.executable, "-m", "cupti_etl", "import", str(RECORDING), "-o", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
        with cupti_etl.open(folder, confined=True) as trace:
            return {name: "\n".join(_page(trace, name)) for name in QUERIES}


def _page(trace: cupti_etl.Trace, name: str) -> list[str]:
    lines = []
    for width in WIDTHS:
        os.environ["COLUMNS"] = str(width)
        table, notes = drawn(trace.query(name), View(limit=ROWS), terminal=True)
        lines += [f"{width} columns", "", *table, *notes, ""]
    return lines


def main(arguments: list[str]) -> int:
    """Entry point."""
    stale = []
    for name, page in pages().items():
        file = GOLDEN / f"{name}.txt"
        if not file.exists() or file.read_text() != page:
            stale.append(name)
            if "--check" in arguments:
                print(f"{file.name}: run scripts/update_golden.py", file=sys.stderr)
            else:
                file.write_text(page)
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
