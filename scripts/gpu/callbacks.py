"""``cupti_etl.callbacks()`` and ``capture --callbacks`` on a GPU: exact, and what they cost.

    python callbacks.py --out DIR --work DIR [--newer-cupti PATH]

Writes DIR/callbacks.json; exits with 1 if anything is wrong.  See ``scripts/gpu_acceptance.sh``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from machine import machine
from runs import PYTHON, Runner, arguments

HERE = Path(__file__).resolve().parent
SECONDS = 240


def case(runner: Runner, name: str, what: str, *options: str) -> dict[str, Any]:
    """One run of ``called_back.py``."""
    out = runner.folder / f"callbacks-{name}.json"
    command = (PYTHON, str(HERE / "called_back.py"), what, str(out), *options)
    found, log = runner.logged(name, command, out)
    return {**found, **(log or {})}


def main() -> None:
    """Run all cases and write the report."""
    options = arguments(__doc__).parse_args()
    runner = Runner(options.work, options.out / "callbacks.log", SECONDS)
    found = [case(runner, "exact", "exact", "--records", "fixed")]
    if options.newer_cupti:
        newer = ("--cupti", str(options.newer_cupti))
        for records in ("fixed", "selected"):
            name = f"exact_newer_{records}"
            found.append(case(runner, name, "exact", *newer, "--records", records))
    found.append(case(runner, "price", "price"))
    runner.write({"machine": machine(), "cases": found})
    sys.exit(any(each["wrong"] for each in found))


if __name__ == "__main__":
    main()
