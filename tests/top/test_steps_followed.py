"""Steps of traces that grow: found in some parts, then followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.growing import S, end, kernels, running
from support.trace import add_part

from cupti_etl.top.growing import Part, latest
from cupti_etl.top.reader import Reader


@pytest.mark.slow
def test_steps_are_found_and_followed(tmp_path: Path) -> None:
    path = running(tmp_path / "run")
    reader = Reader(path)
    at = 0
    for _ in range(2):
        # They are looked for in the third reading.
        assert list(reader.read().steps) == []
        rows = []
        for _ in range(5):  # steps of 100 ms
            rows += [
                (0, at, at + 1, "_Zb"),
                *((0, at + i, at + i + 1, "_Za") for i in (10, 20, 30)),
            ]
            at += 100
        add_part(path, "kernel", kernels(*rows))
    (step,) = reader.read().steps
    assert (step["source"], step["name"], step["gpu"]) == ("kernels", "b", 0)
    assert (step["last_ns"], step["median_ns"]) == (S // 10, S // 10)
    add_part(path, "kernel", kernels((0, at, at + 1, "_Zb"), (0, at + 300, at + 301, "_Zb")))
    add_part(path, "clock", f"realtime_ns\n{(at + 350) * 10**6}")
    (step,) = reader.read().steps
    assert (step["last_ns"], step["median_ns"], step["current_ns"]) == (
        300 * 10**6,
        100 * 10**6,
        50 * 10**6,
    )


@pytest.mark.slow
def test_steps_by_ranges(tmp_path: Path) -> None:
    markers = ["process_id thread_id marker_id event timestamp_ns name"]
    calls = ["process_id thread_id correlation_id domain name start_ns end_ns"]
    work = ["process_id device_id correlation_id start_ns end_ns name"]
    for n in range(6):
        begin = n * 1000
        markers += [f"1 5 {n} start {begin} 'step {n}'", f"1 5 {n} end {begin + 900} -"]
        calls += [f"1 5 {n} runtime cudaLaunchKernel {begin + 10} {begin + 20}"]
        work += [f"1 0 {n} {begin + 50} {begin + 80} _Za"]
    path = running(
        tmp_path / "run",
        marker="\n".join(markers),
        api_call="\n".join(calls),
        kernel="\n".join(work),
    )
    end(path, 7000)
    (step,) = Reader(path).read().steps
    assert (step["source"], step["name"], step["steps"]) == ("nvtx", "step ", 5)
    assert (step["median_ns"], step["current_ns"]) == (1000, None)


def test_only_the_last_parts_are_searched() -> None:
    parts: list[Part] = [("kernel", f"part-{n}", n, size, 0) for n, size in enumerate([9, 9, 9])]
    assert latest(parts) == parts
    large = ("kernel", "part-3", 3, 2 << 20, 0)
    assert latest([*parts, large]) == [large]
    huge = ("kernel", "part-4", 4, 1 << 30, 0)
    assert latest([*parts, huge]) == []
