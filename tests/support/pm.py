"""What the fake CUPTI sampled: the samples that a trace must hold, to the last one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Sampled:
    """What the fake gave of a device.

    Attributes:
        starts: start of each sample that has one, in ns.
        interval_ns: time between two.
        begins: how often sampling was started.
        gaps: (start, end) of the ranges without samples between two of them.
        is_stopped: whether it was stopped in the end.
    """

    starts: list[int] = field(default_factory=list)
    interval_ns: int = 0
    begins: int = 0
    is_stopped: bool = False

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Ranges without samples between two of them."""
        ends = [start + self.interval_ns for start in self.starts]
        return [
            (end, start)
            for end, start in zip(ends, self.starts[1:], strict=False)
            if start - end > self.interval_ns // 2
        ]


def sampled(log: Path) -> dict[int, Sampled]:
    """What the fakes of a run gave, by number of the device."""
    found: dict[int, Sampled] = {}
    is_first: dict[int, bool] = {}
    for path in sorted(log.glob("*.pm")):
        for line in path.read_text().splitlines():
            what, number, *numbers = line.split()
            one, two, _ = map(int, numbers)
            key = int(number)
            device = found.setdefault(key, Sampled())
            if what == "start":
                device.interval_ns = two
                device.begins += 1
                is_first[key] = True
            elif what == "decode":
                starts = [one + device.interval_ns * at for at in range(two)]
                # The first sample after a start does not say when it began.
                device.starts += starts[is_first[key] and bool(starts) :]
                is_first[key] = is_first[key] and not starts
            device.is_stopped = what == "stop" or (device.is_stopped and what == "decode")
    return found


def value(base: str, unit: str, start_ns: int, interval_ns: int) -> float:
    """What the fake's profiler host makes of a sample; see fake_cupti_metrics.c.

    Args:
        base: the metric's name, without a rollup.
        unit: ``%``, ``Hz``, or another for a count.
        start_ns: of the sample.
        interval_ns: how long it is.
    """
    seed = 2166136261
    for byte in base.encode():
        seed = (seed ^ byte) * 16777619 % (1 << 32)
    own = 0.5 + (seed % 1000) / 2000
    load = 1.0 if "cycles_elapsed" in base else start_ns // 1000 % 1000 / 1000
    return own * load * {"%": 100.0, "Hz": 1e9}.get(unit, float(interval_ns))
