"""Devices and contexts of a capture that begins when CUDA is initialised already."""

from __future__ import annotations

from collections import Counter

import pytest
from support.fakes import CUPTI_12, CUPTI_13
from support.from_inside import Inside

pytestmark = pytest.mark.slow

_TWICE = """
driver.cuInit(0)
for name in ("first", "second"):
    with capture(name) as run:
        launch(3)
"""


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_what_cupti_told_an_earlier_capture_the_driver_says(inside: Inside, release: str) -> None:
    inside(_TWICE, release, fake={"driver_devices": 2, "devices": 2})
    first, second = inside.trace("first"), inside.trace("second")
    # CUPTI told the first, and would not tell the second.
    assert {row["name"] for row in first.rows("device")} == {"Fake GPU"}
    devices = sorted(second.rows("device"), key=lambda row: row["device_id"])
    assert [(row["device_id"], row["name"]) for row in devices] == [
        (0, "Fake GPU 0"),
        (1, "Fake GPU 1"),
    ]
    assert devices[1]["device_uuid"] == "GPU-fa4e0000-0000-0000-0000-000000000001"
    assert devices[1]["multiprocessors"] == 11016
    assert devices[1]["max_warps_per_multiprocessor"] == 11039 // 11010
    assert devices[1]["global_memory_bytes"] == (64 << 30) + 1
    assert devices[1]["global_memory_bandwidth_kbps"] == 11036 * 2 * 11037 // 8
    assert devices[1]["ecc_enabled"] is True
    # What the driver does not know, and what is not asked.
    assert devices[1]["max_blocks_per_multiprocessor"] is None
    assert devices[1]["tpcs"] is None
    (context,) = second.rows("context")
    assert (context["context_id"], context["device_id"], context["null_stream_id"]) == (1, 0, 7)
    assert (context["compute_api"], context["is_green_context"]) == ("cuda", False)
    for trace in (first, second):
        trace.check_sums()
        assert not trace.losses()


def test_what_cupti_tells_is_not_told_twice(inside: Inside) -> None:
    inside(_TWICE, fake={"driver_devices": 1})
    (device,) = inside.trace("first").rows("device")
    assert device["name"] == "Fake GPU"
    assert len(inside.trace("first").rows("context")) == 1


def test_a_program_that_has_not_begun_with_cuda_is_not_asked(inside: Inside) -> None:
    inside('with capture("run"): driver.cuInit(0); launch(1)')
    (device,) = inside.trace("run").rows("device")
    assert device["name"] == "Fake GPU"
    with_nothing = 'with capture("none"): pass'
    inside(with_nothing)
    assert inside.trace("none").rows("device") == []


def test_kernels_have_a_gpu_in_the_second_capture_too(inside: Inside) -> None:
    text = f"{_TWICE}\ntell(*[(r['gpu'], r['activities']) for r in run.trace.query('range_gpu')])"
    text = text.replace("        launch(3)", "        with cupti_etl.range('r'): launch(3)")
    assert inside(text) == [[[0, 3]]]


@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_single_functions_asked_for_when_cuda_is_initialised(inside: Inside, release: str) -> None:
    program = """
driver.cuInit(0)
launch()
for name in ("first", "second"):
    with capture(name, api="launch") as run:
        launch(3)
        driver.fakeMalloc(1)
"""
    inside(program, release)
    for name in ("first", "second"):
        calls = Counter(row["name"] for row in inside.trace(name).rows("api_call"))
        assert calls == {"cudaLaunchKernel": 3, "cuLaunchKernel": 3}
