"""``cupti_etl.callbacks()`` and ``capture --callbacks`` on a GPU: exact, and what they cost.

    python callbacks.py --out DIR --work DIR [--newer-cupti PATH]

Writes DIR/callbacks.json; exits with 1 if anything is wrong.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from machine import machine
from runs import PYTHON, Runner

HERE = Path(__file__).resolve().parent
SECONDS = 240


def case(runner: Runner, name: str, what: str, *options: str) -> dict[str, Any]:
    """One run of ``called_back.py``."""
    out = runner.folder / f"callbacks-{name}.json"
    command = (PYTHON, str(HERE / "called_back.py"), what, str(out), *options)
    done = runner.run(command)
    found: dict[str, Any] = {"name": name, "status": done.status, "seconds": done.seconds}
    if done.status or not out.exists():
        return {**found, "wrong": ["the program failed"], "output": done.last_lines}
    return {**found, **json.loads(out.read_text())}


def main() -> None:
    """Run all cases and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--newer-cupti", type=Path)
    parser.add_argument("--launch-loop", type=Path)
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "callbacks.log", SECONDS)
    found = [case(runner, "exact", "exact", "--records", "fixed")]
    if options.newer_cupti:
        newer = ("--cupti", str(options.newer_cupti))
        for records in ("fixed", "selected"):
            name = f"exact_newer_{records}"
            found.append(case(runner, name, "exact", *newer, "--records", records))
    found.append(case(runner, "price", "price"))
    report = {"machine": machine(), "cases": found}
    (options.out / "callbacks.json").write_text(json.dumps(report, indent=1) + "\n")
    sys.exit(any(each["wrong"] for each in found))


if __name__ == "__main__":
    main()
