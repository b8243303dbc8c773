"""That the fake samples as CUPTI was seen to on an H200: sizes, orders, what runs over."""

from __future__ import annotations

import ctypes as c
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.fake_client import FakeCupti, in_process
from support.fakes import Fakes

OK, INVALID_PARAMETER, INVALID_OPERATION, OUT_OF_MEMORY, NOT_SUPPORTED = 0, 1, 7, 8, 27
FULL, END_OF_RECORDS = 1, 2
INTERVAL = 100_000
METRIC = b"sm__cycles_active.avg"


class Calls:
    """The functions of a fake libcupti, by name: each takes a struct of 64-bit members.

    Smaller members are given by ``sizes``; the struct's size is that of the newest release.
    """

    def __init__(self, path: str) -> None:
        self._loaded = c.CDLL(path)
        c.CDLL("libcuda.so.1").cuInit(0)
        assert self("cuptiProfilerInitialize")[0] == OK

    def __call__(self, function: str, *values: int, size: int = 0) -> tuple[int, list[int]]:
        words = (c.c_uint64 * (2 + len(values)))(0, 0, *values)
        words[0] = size or c.sizeof(words)
        result = getattr(self._loaded, function)(words)
        return result, list(words)[2:]


def config(calls: Calls, metric: bytes = METRIC) -> tuple[int, Any]:
    """A configuration that counts a metric; its size and bytes."""
    chip = c.c_char_p(b"GH100")
    words = [1, c.cast(chip, c.c_void_p).value or 0, 0, 0]
    result, (*_, host) = calls("cuptiProfilerHostInitialize", *words)
    assert result == OK
    names = (c.c_char_p * 1)(metric)
    assert calls("cuptiProfilerHostConfigAddMetrics", host, c.addressof(names), 1)[0] == OK
    _, (_, size) = calls("cuptiProfilerHostGetConfigImageSize", host, 0)
    image = c.create_string_buffer(size)
    assert calls("cuptiProfilerHostGetConfigImage", host, size, c.addressof(image))[0] == OK
    return size, image


def set_config(calls: Calls, device: int, size: int = 60) -> int:
    """Configure for samples by time; ``size`` of the struct as the client knows it."""
    length, image = config(calls)
    words = (device, length, c.addressof(image), 1 << 26, INTERVAL, 1)
    return calls("cuptiPmSamplingSetConfig", *words, size=size)[0]


class Device:
    """A device that is being sampled, and an image for its samples."""

    def __init__(self, path: str, samples: int = 4000) -> None:
        self.calls = Calls(path)
        _, (_, self.object) = self.calls("cuptiPmSamplingEnable", 0, 0)
        assert set_config(self.calls, self.object) == OK
        names = (c.c_char_p * 1)(METRIC)
        words = (self.object, c.addressof(names), 1, samples, 0)
        _, (*_, self.size) = self.calls("cuptiPmSamplingGetCounterDataSize", *words)
        self.image = c.create_string_buffer(self.size)
        words = (self.object, self.size, c.addressof(self.image))
        assert self.calls("cuptiPmSamplingCounterDataImageInitialize", *words)[0] == OK
        assert self.calls("cuptiPmSamplingStart", self.object)[0] == OK

    def stop(self) -> int:
        return self.calls("cuptiPmSamplingStop", self.object)[0]

    def decode(self) -> tuple[int, int, int]:
        """Result, reason to stop, and samples in the image by now."""
        words = (self.object, c.addressof(self.image), self.size, 0)
        result, found = self.calls("cuptiPmSamplingDecodeData", *words, size=45)
        return result, found[3] & 0xFFFFFFFF, self.count()

    def count(self) -> int:
        words = (c.addressof(self.image), self.size, 0, 0, 0)
        return self.calls("cuptiPmSamplingGetCounterDataInfo", *words)[1][-1]

    def sample(self, index: int) -> tuple[int, int]:
        words = (self.object, c.addressof(self.image), self.size, index, 0, 0)
        *_, start, end = self.calls("cuptiPmSamplingCounterDataGetSampleInfo", *words)[1]
        return start, end


Inside = Callable[..., Any]


@pytest.fixture
def inside(fakes: Fakes) -> Inside:
    """Runs a function of the library's path in a child, against a release."""

    def run(scenario: Callable[[str], Any], release: str = "13.5.25", **options: Any) -> Any:
        path = str(fakes.cupti(release))

        def with_path(_: FakeCupti) -> Any:
            return scenario(path)

        return in_process(fakes, with_path, release, **options)

    return run


@pytest.mark.parametrize(
    ("release", "size", "result"),
    [
        ("12.6.80", 60, OK),
        ("12.6.80", 64, INVALID_PARAMETER),  # what the append mode made it later
        ("12.8.90", 60, OK),
        ("12.8.90", 64, OK),
        ("13.5.25", 56, INVALID_PARAMETER),
    ],
)
def test_sizes_are_those_of_the_release(
    inside: Inside, release: str, size: int, result: int
) -> None:
    def scenario(path: str) -> int:
        calls = Calls(path)
        _, (_, device) = calls("cuptiPmSamplingEnable", 0, 0)
        return set_config(calls, device, size)

    assert inside(scenario, release) == result


def test_samples_are_contiguous_and_the_first_has_no_start(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        device = Device(path)
        time.sleep(0.05)
        result, reason, count = device.decode()
        return result, reason, [device.sample(at) for at in range(count)]

    result, reason, samples = inside(scenario)
    assert (result, reason) == (OK, END_OF_RECORDS)
    assert len(samples) >= 500
    assert samples[0][0] == 0
    ends = [end for _, end in samples]
    assert [start for start, _ in samples[1:]] == ends[:-1]
    assert {end - start for start, end in samples[1:]} == {INTERVAL}


def test_an_image_that_is_not_as_at_first_goes_on_and_gets_full(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        device = Device(path, samples=3000)
        time.sleep(0.01)
        first = device.decode()
        time.sleep(0.4)
        return first, device.decode()

    (_, reason, count), (_, then, at_most) = inside(scenario)
    assert reason == END_OF_RECORDS
    assert 90 < count < 3000
    assert (then, at_most) == (FULL, 3000)


def test_a_buffer_that_ran_over_gives_nothing_until_a_restart(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        device = Device(path)
        time.sleep(0.02)
        found = [device.decode()]
        time.sleep(0.02)
        found.append(device.decode())
        assert device.stop() == OK
        assert device.calls("cuptiPmSamplingStart", device.object)[0] == OK
        time.sleep(0.002)
        found.append(device.decode())
        return found

    found = inside(scenario, pm_buffer=50)
    # The oldest are kept.
    assert [(result, count) for result, _, count in found[:2]] == [(OUT_OF_MEMORY, 50)] * 2
    assert found[2][2] > 50


def test_after_a_stop_comes_a_sample_of_no_length(inside: Inside) -> None:
    def scenario(path: str) -> Any:
        device = Device(path)
        time.sleep(0.01)
        again = device.stop(), device.stop()
        _, _, count = device.decode()
        return again, device.sample(count - 1)

    again, (start, end) = inside(scenario)
    assert again == (OK, INVALID_OPERATION)
    assert start == end > 0


def test_what_it_gave_is_logged(inside: Inside, tmp_path: Path) -> None:
    from support.pm import sampled

    def scenario(path: str) -> int:
        device = Device(path)
        time.sleep(0.01)
        count = device.decode()[2]
        device.stop()
        return count

    count = inside(scenario, log=tmp_path)
    given = sampled(tmp_path)[0]
    assert len(given.starts) == count - 1
    assert given.gaps == []
    assert given.is_stopped
