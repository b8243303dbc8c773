"""How NumPy is loaded in our processes: without a thread for each processor."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.trace import write_trace

# Stands for NumPy, whose OpenBLAS looks at the variable while it is loaded.
NUMPY = """
import os
seen = os.environ.get("OPENBLAS_NUM_THREADS")
loader = type(__spec__.loader).__name__
"""
ASK = """
import os
{}
import numpy
print(numpy.seen, numpy.loader, os.environ.get("OPENBLAS_NUM_THREADS"))
"""
LOAD = "from cupti_etl.commands import _numpy; _numpy.load_with_one_thread()"


def _environment(modules: Path) -> dict[str, str]:
    others = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    return others | {"PYTHONPATH": f"{modules}:{Path(__file__).parents[2]}"}


@pytest.mark.parametrize(
    ("before", "given", "told"),
    [
        (LOAD, {}, "1 SourceFileLoader None"),
        (f"{LOAD}; import json.tool", {}, "1 SourceFileLoader None"),
        (f"{LOAD}\n{LOAD}", {}, "1 SourceFileLoader None"),
        (LOAD, {"OPENBLAS_NUM_THREADS": "3"}, "3 SourceFileLoader 3"),
        ("", {}, "None SourceFileLoader None"),
    ],
)
def test_the_variable_is_there_only_while_numpy_is_loaded(
    tmp_path: Path, before: str, given: dict[str, str], told: str
) -> None:
    (tmp_path / "numpy.py").write_text(NUMPY)
    done = subprocess.run(
        [sys.executable, "-c", ASK.format(before)],
        env=_environment(tmp_path) | given,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == told


def test_a_command_loads_it_so(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text(f"{NUMPY}\nraise SystemExit(f'seen: {{seen}}')")
    run = write_trace(tmp_path / "run", kernel="start_ns end_ns\n 1 2")
    done = subprocess.run(
        [sys.executable, "-m", "cupti_etl", "query", "kernel_summary", str(run)],
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip() == "seen: 1"
