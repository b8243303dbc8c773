"""What a range of the program's own code costs, idle and recorded."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import median, rounded

_TESTS = Path(__file__).parents[1] / "tests"
# Nanoseconds of CPU time of each statement less those of an empty loop, the least of some rounds,
# so that others on the machine count little.
_PROGRAM = """
import json, sys, time, timeit
import cupti_etl
class Empty:
    def __enter__(self): return self
    def __exit__(self, *error): pass
empty, made = Empty(), cupti_etl.range("forward")
def plain(): pass
@made
def decorated(): pass
STATEMENTS = {
    "empty_with_ns": "with empty: pass",
    "with_made_ns": "with made: pass",
    "with_range_ns": 'with cupti_etl.range("forward"): pass',
    "with_attribute_ns": 'with cupti_etl.range("forward", index=3): pass',
    "step_ns": "cupti_etl.step()",
    "decorator_ns": "decorated()",
}
try:
    import nvtx
    STATEMENTS["nvtx_annotate_ns"] = 'with nvtx.annotate("forward"): pass'
except ImportError:
    pass
def measure(calls, rounds):
    def best(text):
        with_cpu = timeit.Timer(text, globals=globals(), timer=time.process_time)
        return min(with_cpu.repeat(rounds, calls)) / calls * 1e9
    nothing, call = best("pass"), best("plain()")
    times = {name: best(text) - nothing for name, text in STATEMENTS.items()}
    times["decorator_ns"] -= call - nothing
    return times
"""
_IDLE = _PROGRAM + "print(json.dumps(measure(200_000, 9)))"
# Few at a time, so that the collector keeps up.
_RECORDED = (
    _PROGRAM
    + """
with cupti_etl.capture("run", cupti=sys.argv[1], buffer_mb=512) as run:
    times = measure(5_000, 40)
times["lost"] = run.trace.sql("SELECT coalesce(sum(records), 0)::BIGINT AS n FROM loss"
                              " WHERE cause = 'ring_full'").arrow()["n"][0].as_py()
print(json.dumps(times))
"""
)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="processes of each sort")
    parser.add_argument("--cupti", help="a libcupti, on a machine with a GPU; else the tests' fake")


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    sys.path.insert(0, str(_TESTS))
    from support.fakes import Fakes

    env, cupti = dict(os.environ), arguments.cupti
    if not cupti:
        fakes = Fakes()
        cupti = str(fakes.cupti())
        env |= fakes.env()
    env["PYTHONPATH"] = str(_TESTS.parent)
    figures: dict[str, Any] = {}
    for prefix, program in (("idle", _IDLE), ("recorded", _RECORDED)):
        rounds = []
        for _ in range(arguments.rounds):
            with tempfile.TemporaryDirectory() as folder:
                words = [sys.executable, "-c", program, cupti]
                out = subprocess.run(
                    words, env=env, cwd=folder, capture_output=True, text=True, check=True
                ).stdout
            rounds.append(json.loads(out))
        for name in rounds[0]:
            figures[f"{prefix}_{name}"] = rounded(median([each[name] for each in rounds]))
        empty = figures[f"{prefix}_empty_with_ns"]
        figures[f"{prefix}_range_of_empty"] = rounded(figures[f"{prefix}_with_range_ns"] / empty)
    return {**figures, "rounds": arguments.rounds}
