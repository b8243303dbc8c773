"""What PM sampling costs and what it misses on this machine's GPU, by preset and interval.

    python scripts/gpu/pm.py --out FOLDER [--seconds 5] [--presets overview,minimal]
        [--intervals 100us,50us,20us,10us] [--launch-loop PROGRAM] [--cupti PATH]

Samples each preset at each interval, and writes FOLDER/pm.json: samples, missing ones by cause,
cores that decode and evaluate, size of the counter data.  With a launch loop
(scripts/gpu/launch_loop.cu, compiled) also what a launch costs without a sampler, with one that
only takes samples from the hardware, and with a whole one, in alternating rounds.  Needs
cupti-etl, and the right to read counters; with the defaults takes two to three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import machine

from cupti_etl.config import CaptureOptions, PmOptions
from cupti_etl.pm.presets import PRESETS
from cupti_etl.pm.sampling import Sampling, check
from cupti_etl.units import duration_ns


def sample_while(goes_on: Callable[[], bool], pm: PmOptions, cupti: Path | None) -> dict[str, Any]:
    """Sample, and take the samples as a collector does; how it went."""
    check(pm)
    before = _children_s()
    sampling = Sampling(pm, CaptureOptions(Path(), cupti=cupti), os.environ)
    try:
        sampling.wait_until_ready()
        begin = time.monotonic()
        while not sampling.is_over and goes_on():
            sampling.drain()
            for _ in sampling.batches(everything=True):
                pass
            time.sleep(0.02)
        seconds = time.monotonic() - begin
        sampling.stop()
    finally:
        sampling.close()
    return {**_report(sampling, seconds), "process_cpu_s": round(_children_s() - before, 2)}


def _children_s() -> float:
    """Time of the CPU that children that have ended used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _report(sampling: Sampling, seconds: float) -> dict[str, Any]:
    missing: dict[str, int] = {}
    for loss in sampling.losses():
        missing[loss.cause] = missing.get(loss.cause, 0) + (loss.records or 0)
    gpus = [_of_gpu(each, seconds) for each in sampling.results()]
    return {
        "seconds": round(seconds, 2),
        "cores": round(sum(gpu["decode_cores"] + gpu["evaluate_cores"] for gpu in gpus), 3),
        "missing": missing,
        "failure": " ".join(sampling.failure) if sampling.failure else None,
        "gpus": gpus,
    }


def _of_gpu(result: dict[str, Any], seconds: float) -> dict[str, Any]:
    samples = result["samples"]
    facts = {
        "gpu": result["name"],
        "metrics": len(result["columns"]),
        "samples": samples,
        "missing": result["missing"],
        "restarts": result["restarts"],
        "bytes_a_sample": round(result["image_bytes"] / result["image_slots"]),
        "image_mib": round(result["image_bytes"] / 2**20, 1),
    }
    for thread in ("decode", "evaluate"):
        spent_ns = result[f"{thread}_ns"]
        facts[f"{thread}_cores"] = round(spent_ns / 1e9 / seconds, 3)
        facts[f"{thread}_us_a_sample"] = round(spent_ns / 1e3 / samples, 2) if samples else None
    return facts


def sweep(
    presets: list[str], intervals: list[str], seconds: float, cupti: Path | None
) -> list[dict[str, Any]]:
    """Every preset at every interval."""
    found = []
    for preset in presets:
        for interval in intervals:
            row = sample_while(_for(seconds), PmOptions(preset, duration_ns(interval)), cupti)
            found.append({"preset": preset, "interval": interval, **row})
            print(json.dumps(found[-1]), flush=True)
    return found


def _for(seconds: float) -> Callable[[], bool]:
    """True for so long, from the first time that it is asked."""
    begun: list[float] = []

    def goes_on() -> bool:
        begun.append(time.monotonic())
        return begun[-1] - begun[0] < seconds

    return goes_on


class LaunchLoop:
    """The program that launches, and what a launch cost in it.

    Args:
        program: scripts/gpu/launch_loop.cu, compiled.
        log: where it writes.
        launches: how many.
    """

    def __init__(self, program: Path, log: Path, launches: int) -> None:
        self._words = [str(program), str(log), str(launches), "4", "1"]
        self._log = log

    def run(self, pm: PmOptions | None, cupti: Path | None) -> float:
        """Nanoseconds a launch; while the GPU is sampled, if it is to be."""
        self._log.unlink(missing_ok=True)
        if pm is None:
            subprocess.run(self._words, check=True)
        else:
            process: list[subprocess.Popen[bytes]] = []

            def goes_on() -> bool:
                if not process:
                    process.append(subprocess.Popen(self._words))
                return process[0].poll() is None

            went = sample_while(goes_on, pm, cupti)
            if not process or process[0].wait() or went["failure"]:
                raise SystemExit(f"the launch loop was not sampled: {went['failure']}")
        return float(json.loads(self._log.read_text())["enqueue_ns_per_launch"])


def slow_down(
    loop: LaunchLoop, preset: str, interval: str, rounds: int, cupti: Path | None
) -> dict[str, Any]:
    """What a launch costs: plain, while samples are only drained, and while they are evaluated."""
    pm = PmOptions(preset, duration_ns(interval))
    draining = PmOptions(preset, duration_ns(interval), is_draining_only=True)
    variants = {"plain": None, "drained": draining, "sampled": pm}
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, variant in variants.items():
            times[name].append(loop.run(variant, cupti))
    pairs = list(zip(times["drained"], times["sampled"], strict=True))
    return {
        "preset": preset,
        "interval": interval,
        "ns_a_launch": times,
        "median": {name: statistics.median(values) for name, values in times.items()},
        # Neighbours are compared, as the machine's speed drifts.
        "sampled_minus_drained": statistics.median(b - a for a, b in pairs),
    }


def main(arguments: list[str]) -> int:
    """Command line; 1 if nothing could be sampled."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--presets", default=",".join(PRESETS))
    parser.add_argument("--intervals", default="100us,50us,20us,10us")
    parser.add_argument("--cupti", type=Path)
    parser.add_argument("--launch-loop", type=Path)
    parser.add_argument("--launches", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    presets, intervals = asked.presets.split(","), asked.intervals.split(",")
    report: dict[str, Any] = {"machine": machine()}
    report["sweep"] = sweep(presets, intervals, asked.seconds, asked.cupti)
    if asked.launch_loop:
        loop = LaunchLoop(asked.launch_loop, asked.out / "launch_loop.json", asked.launches)
        report["launch_loop"] = slow_down(loop, presets[0], intervals[0], asked.rounds, asked.cupti)
    (asked.out / "pm.json").write_text(json.dumps(report, indent=1))
    return 0 if any(gpu["samples"] for row in report["sweep"] for gpu in row["gpus"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
