"""Charts: bars say whose they are, and each GPU has a line of its own."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cupti_etl.queries.catalog import library
from cupti_etl.render.chart import chart as plotted
from cupti_etl.render.svg import chart
from cupti_etl.render.table import Shown, Table, View, table

STEPS = {
    "kernel": "process_id device_id correlation_id start_ns end_ns name\n"
    + "\n".join(
        f"1 {gpu} {10 * step + gpu} {1000 * step + 10} {1000 * step + 500 + gpu} k"
        for step in range(3)
        for gpu in (0, 1)
    ),
    "device": "process_id device_id device_uuid\n1 0 GPU-0\n1 1 GPU-1",
    "marker": "process_id thread_id marker_id event timestamp_ns name\n"
    + "\n".join(
        f"1 5 {step} start {1000 * step} step\n1 5 {step} end {1000 * step + 990} -"
        for step in range(3)
    ),
    "api_call": "process_id thread_id domain correlation_id name start_ns end_ns\n"
    + "\n".join(
        f"1 5 runtime {10 * step + gpu} cudaLaunchKernel {1000 * step + 1 + gpu}"
        f" {1000 * step + 2 + gpu}"
        for step in range(3)
        for gpu in (0, 1)
    ),
}


def drawn(trace: Any, name: str) -> str:
    rows = trace.query(name).arrow().to_pylist()
    return chart(library()[name], table(trace.query(name), View()), rows)


@pytest.mark.slow
def test_bars_and_lines_name_their_gpu(trace: Any) -> None:
    both = trace(**STEPS)
    bars = re.findall(r"<title>(.*?):", drawn(both, "idle_summary"))
    assert sorted(set(bars)) == ["GPU 0", "GPU 1"]
    lines = re.findall(r"<polyline.*?<title>(.*?)</title>", drawn(both, "step_summary"))
    assert lines == ["GPU 0", "GPU 1"]
    data = plotted(both.query("idle_summary")).to_dict()["data"]["values"]
    assert len({each["x"] for each in data}) == len(data)
    assert {each["x"].split(":")[0] for each in data} == {"GPU 0", "GPU 1"}


def test_of_one_gpu_there_is_nothing_to_say(trace: Any) -> None:
    tables = {
        name: "\n".join(line for line in text.splitlines() if not line.startswith("1 1 "))
        for name, text in STEPS.items()
    }
    assert "GPU" not in drawn(trace(**tables), "idle_summary")


def test_bars_have_units() -> None:
    rows = [{"name": "mm", "tflops_per_s": 107.4}, {"name": "add", "tflops_per_s": 0.5}]
    shown = [
        Shown("name", "name", ["mm", "add"], False),
        Shown("tflops_per_s", "tflops_per_s", ["107", "0.50"], True, unit="Tflop/s"),
    ]
    picture = chart(library()["operator_flops"], Table(shown, [], 0), rows)
    assert re.findall("<title>(.*?)</title>", picture) == ["mm: 107 Tflop/s", "add: 0.50 Tflop/s"]
    assert ">107 Tflop/s<" in picture


STALLED = """
    function samples stall_reason pc_offset
    near     60      wait         16
    near     20      barrier      16
    far      40      wait         16
"""


def test_bars_have_parts_in_one_order(trace: Any) -> None:
    """The longest bar, of 80 samples, is 460 wide; a reason has one colour in all bars."""
    opened = trace(pc_sample=STALLED)
    picture = drawn(opened, "kernel_stall")
    parts = re.findall(r'width="([\d.]+)" height="15" fill="(.*?)"><title>(.*?)</title>', picture)
    assert [(width, title) for width, _, title in parts] == [
        ("345.0", "near: wait 60"),
        ("115.0", "near: barrier 20"),
        ("230.0", "far: wait 40"),
    ]
    assert parts[0][1] == parts[2][1] != parts[1][1]
    data = plotted(opened.query("kernel_stall")).to_dict()["data"]["values"]
    assert {(each["x"], each["of"], each["y"]) for each in data} == {
        ("near", "wait", 60.0), ("near", "barrier", 20.0), ("far", "wait", 40.0),
    }  # fmt: skip


def test_small_parts_share_a_colour(trace: Any) -> None:
    rows = "\n".join(f"f {100 - at} r{at} 16" for at in range(9))
    opened = trace(pc_sample=f"function samples stall_reason pc_offset\n{rows}")
    picture = drawn(opened, "kernel_stall")
    fills = re.findall(r'height="15" fill="(.*?)"', picture)
    assert len(set(fills)) == 8
    assert fills[-1] == fills[-2]
    assert ">others<" in picture
