"""Which way of switching records on and off CUPTI stands, and what each costs a launch.

    python switching_ways.py --out DIR --work DIR --launch-loop FILE --newer-cupti FILE
        [--seconds 12] [--at-once 12] [--rounds 8] [--ways WAY ...]

Runs programs under switching_client.c, which is compiled here.  Writes DIR/switching_ways.json: of
each run how it ended and what the client counted, and the time of a launch in turns.  Nothing is
judged: it says what a release of CUPTI does.
"""

from __future__ import annotations

import json
import statistics
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from machine import machine
from runs import PYTHON, Runner, arguments

HERE = Path(__file__).resolve().parent
SECONDS = 540
WAYS = (
    "entry",
    "rare",
    "armed",
    "patient",
    "gpu",
    "gpu-rare",
    "calls",
    "finalize",
    "return",
    "thread",
)
PROGRAMS = ("small", "llama", "graph", "threads", "loop")
COUNTS = (
    "switches",
    "kernels",
    "untimed",
    "of_other_clock",
    "refused",
    "launches",
    "repeated",
    "calls",
    "untimed_calls",
    "repeated_calls",
)
# Of the time of a launch: what the client does, and for how long it records, and does not.
FOREVER_US = 10**9
COSTS: dict[str, tuple[str, int, int] | None] = {
    "without": None,
    "closed": ("closed", 0, 0),
    "whole": ("whole", 0, 0),
    "after 700 ms": ("armed", 700_000, FOREVER_US),
    "after 700 ms, finalized": ("finalize", 700_000, FOREVER_US),
    "4 of 400 ms": ("armed", 4_000, 400_000),
    "4 of 400 ms, finalized": ("finalize", 4_000, 400_000),
}
LOOP = ("400000", "2", "1")


class Client:
    """Programs under the client.

    Args:
        runner: runs them.
        launch_loop: the program that only launches.
        newer: another libcupti.
    """

    def __init__(self, runner: Runner, launch_loop: str, newer: str | None) -> None:
        self._runner = runner
        self._loop = launch_loop
        self._newer = newer
        self._library = runner.folder / "switching_client.so"
        source = HERE / "switching_client.c"
        command = [
            "cc",
            "-O2",
            "-shared",
            "-fPIC",
            "-o",
            self._library,
            source,
            "-ldl",
            "-lpthread",
        ]
        subprocess.run(list(map(str, command)), check=True)

    def environ(self, name: str, way: str, on_us: int, off_us: int, new: bool) -> dict[str, str]:
        """What the client is told by."""
        return {
            "CUDA_INJECTION64_PATH": str(self._library),
            "SWITCH_WAY": way,
            "SWITCH_ON_US": str(on_us),
            "SWITCH_OFF_US": str(off_us),
            "SWITCH_OUT": str(self._runner.folder / f"{name}.counts"),
            **({"SWITCH_CUPTI": str(self._newer)} if new else {}),
        }

    def run(self, way: str, program: str, new: bool, seconds: float) -> dict[str, Any]:
        """One program, switched every 2 ms, or, as that takes long, finalized every 50."""
        name = f"{way}-{program}-{'new' if new else 'own'}"
        period = 50_000 if way == "finalize" else 2_000
        log = self._runner.folder / f"{name}.json"
        command = [PYTHON, str(HERE / "switching_app.py"), program, str(seconds), str(log)]
        if program == "loop":
            command = [self._loop, str(log), "2000000", "2", "4"]
        environ = self.environ(name, way, period, period, new)
        done = self._runner.run(command, limit=seconds + 60, environ=environ)
        case = {"way": way, "program": program, "newer_cupti": new, "status": done.status}
        counts = Path(environ["SWITCH_OUT"])
        if counts.exists():
            case |= dict(
                zip(COUNTS, struct.unpack(f"{len(COUNTS)}Q", counts.read_bytes()), strict=True)
            )
        return case

    def launch_ns(self, number: int, how: tuple[str, int, int] | None) -> float | None:
        """What a launch takes in the loop."""
        log = self._runner.folder / f"cost-{number}.json"
        log.unlink(missing_ok=True)
        environ = {} if how is None else self.environ(f"cost-{number}", *how, new=False)
        self._runner.run([self._loop, str(log), *LOOP], environ=environ)
        return json.loads(log.read_text())["enqueue_ns_per_launch"] if log.exists() else None


def main() -> None:
    """Run all and write the report."""
    parser = arguments(__doc__, "--launch-loop")
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--at-once", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    options = parser.parse_args()
    runner = Runner(options.work, options.out / "switching_ways.log", SECONDS)
    client = Client(runner, options.launch_loop, options.newer_cupti)
    report: dict[str, Any] = {"machine": machine(), "launch_ns": {}, "runs": []}
    for number in range(options.rounds):
        for name, how in COSTS.items():
            report["launch_ns"].setdefault(name, []).append(client.launch_ns(number, how))
            runner.write(report)
    chosen = [
        (way, program, new)
        for new in ((False, True) if options.newer_cupti else (False,))
        for way in options.ways
        for program in PROGRAMS
    ]
    with ThreadPoolExecutor(options.at_once) as pool:
        for case in pool.map(lambda each: client.run(*each, options.seconds), chosen):
            report["runs"].append(case)
            runner.write(report)
    for name, times in report["launch_ns"].items():
        known = [each for each in times if each is not None]
        print(f"{name:26} {statistics.median(known):8.0f} ns" if known else f"{name:26} failed")
    for case in report["runs"]:
        print(json.dumps(case))


if __name__ == "__main__":
    main()
