"""Callbacks and subscribers of the fake CUPTI."""

from __future__ import annotations

import ctypes as c
import struct
from typing import Any

import pytest
from support.fake_client import ApiOptions, CbidOptions, FakeCupti, in_process
from support.fakes import KERNEL, RUNTIME, Fakes

API_DRIVER, API_RUNTIME = 1, 2
START, STOP, LAUNCH = 171, 172, 211
USER_DEFINED, MULTIPLE_STATE = 11, 12
INVALID, NOT_COMPATIBLE, REFUSED = 1, 14, 39


def test_callbacks_of_the_profiler_api(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> list[Any]:
        client = cupti.subscribe()
        for cbid in (START, STOP):
            assert cupti.call("cuptiEnableCallback", 1, client.handle, API_RUNTIME, cbid) == 0
        cupti.cuda.fakeProfiler(1)
        cupti.launch()
        assert cupti.call("cuptiEnableDomain", 1, client.handle, API_DRIVER) == 0
        cupti.cuda.fakeProfiler(0)
        assert cupti.call("cuptiEnableCallback", 0, client.handle, API_RUNTIME, START) == 0
        assert cupti.call("cuptiEnableDomain", 0, client.handle, API_DRIVER) == 0
        cupti.cuda.fakeProfiler(1)
        assert cupti.call("cuptiEnableCallback", 1, client.handle, 9, START) == INVALID
        assert cupti.call("cuptiEnableCallback", 1, client.handle, API_RUNTIME, 9999) == INVALID
        assert cupti.call("cuptiUnsubscribe", client.handle) == 0
        cupti.cuda.fakeProfiler(0)
        assert cupti.call("cuptiEnableCallback", 1, client.handle, API_RUNTIME, START) == INVALID
        return client.heard

    assert in_process(fakes, scenario) == [
        (API_RUNTIME, START, 0, "cudaProfilerStart", 1),
        (API_RUNTIME, START, 1, "cudaProfilerStart", 1),
        (API_RUNTIME, STOP, 0, "cudaProfilerStop", 3),
        (API_DRIVER, 309, 0, "cuProfilerStop", 3),
        (API_DRIVER, 309, 1, "cuProfilerStop", 3),
        (API_RUNTIME, STOP, 1, "cudaProfilerStop", 3),
    ]


def test_clients_may_flush_and_switch_in_callbacks(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> list[int]:
        client = cupti.subscribe()
        client.register()

        def on_call(domain: int, cbid: int, site: int) -> None:
            if site == 1:
                switch = "cuptiActivityEnable" if cbid == START else "cuptiActivityDisable"
                assert cupti.call(switch, KERNEL) == 0
                cupti.flush()

        client.on_call = on_call
        for cbid in (START, STOP):
            cupti.call("cuptiEnableCallback", 1, client.handle, API_RUNTIME, cbid)
        for start in (1, 0, 1, 0):
            cupti.launch(3)
            cupti.cuda.fakeProfiler(start)
        return client.kinds()

    assert in_process(fakes, scenario) == [KERNEL] * 6


def test_correlation_data_and_symbols(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> list[Any]:
        client = cupti.subscribe()
        client.register()
        cupti.call("cuptiActivityEnable", RUNTIME)
        cupti.call("cuptiEnableCallback", 1, client.handle, API_RUNTIME, LAUNCH)
        cupti.launch(2)
        cupti.flush()
        ids = [struct.unpack_from("<I", r, 32)[0] for r in client.records]
        return [sorted({call[4] for call in client.heard}), ids]

    heard, recorded = in_process(fakes, scenario)
    assert heard == recorded == [1, 2]


@pytest.mark.parametrize(
    ("release", "answer"), [("12.9.79", -1), ("13.0.85", 1), ("13.1.115", 1), ("13.2.86", 0)]
)
def test_releases_with_version_2(fakes: Fakes, release: str, answer: int) -> None:
    def scenario(cupti: FakeCupti) -> int:
        return cupti.subscribe_v2()[0].status

    assert in_process(fakes, scenario, release) == answer


def test_functions_of_the_releases(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> list[bool]:
        names = ("Enable_v2", "GetEnabledKinds", "GetNextRecord_v2", "EnableRuntimeApi_v2")
        return [hasattr(cupti.handle, f"cuptiActivity{name}") for name in names]

    assert in_process(fakes, scenario, "13.1.115") == [False, False, False, False]
    assert in_process(fakes, scenario, "13.2.86") == [True, True, False, False]
    assert in_process(fakes, scenario, "13.3.75") == [True, True, True, True]


@pytest.mark.parametrize("allow", [True, False])
def test_filters_of_callback_ids(fakes: Fakes, allow: bool) -> None:
    def scenario(cupti: FakeCupti) -> list[int]:
        client, _ = cupti.subscribe_v2()
        client.register()
        cbids = (c.c_uint32 * 1)(17)
        options = CbidOptions(c.sizeof(CbidOptions), cbids, 1, allow)
        client.enable(RUNTIME, options=ApiOptions(c.sizeof(ApiOptions), c.pointer(options)))
        cupti.cuda.fakeCall(API_RUNTIME, 17)
        cupti.launch()
        cupti.flush()
        return [struct.unpack_from("<I", record, 4)[0] for record in client.records]

    assert in_process(fakes, scenario, "13.4.92") == ([17] if allow else [LAUNCH])
    assert in_process(fakes, scenario, "13.3.75") == [17, LAUNCH]  # not there yet


def test_version_1_beside_version_2(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> Any:
        first, _ = cupti.subscribe_v2("first")
        second, old = cupti.subscribe_v2("second", multiple=True)
        stamp, dropped, client = c.c_uint64(), c.c_size_t(), cupti.client()
        answers = [
            cupti.call("cuptiGetTimestamp", c.byref(stamp)),
            cupti.call("cuptiActivityGetNumDroppedRecords", None, 0, c.byref(dropped)),
            cupti.call("cuptiActivityPushExternalCorrelationId", 1, c.c_uint64(1)),
            client.register(),
            cupti.call("cuptiActivityEnable", KERNEL),
        ]
        assert cupti.call("cuptiUnsubscribe", first.handle) == 0
        return [cupti.subscribe().status, second.status, old, answers, client.register()]

    refused = [NOT_COMPATIBLE] * 5
    assert in_process(fakes, scenario) == [0, REFUSED, "CUPTI for first", refused, 0]
    assert in_process(fakes, scenario, "13.2.86") == [0, REFUSED, "CUPTI for first", [0] * 5, 0]

    def other_way(cupti: FakeCupti) -> Any:
        first = cupti.subscribe()
        second, old = cupti.subscribe_v2("second")
        return first.status, cupti.subscribe().status, second.status, old

    assert in_process(fakes, other_way) == (0, REFUSED, REFUSED, "CUPTI")


def test_several_subscribers(fakes: Fakes, tmp_path: Any) -> None:
    def scenario(cupti: FakeCupti) -> Any:
        first, none = cupti.subscribe_v2("first", multiple=True)
        second, old = cupti.subscribe_v2("second", multiple=True)
        third, _ = cupti.subscribe_v2("third", multiple=False)
        assert (none, old, third.status) == ("", "CUPTI for first", REFUSED)
        for client, kinds in ((first, (KERNEL,)), (second, (KERNEL, RUNTIME))):
            assert client.register() == 0
            assert [client.enable(kind) for kind in kinds] == [0] * len(kinds)
        cupti.launch(3)
        assert cupti.call("cuptiActivityDisable_v2", first.handle, KERNEL, None) == 0
        assert cupti.call("cuptiFinalize") == 0
        cupti.launch()
        cupti.flush()
        found, kinds, size = c.c_uint32(), (c.c_int * 8)(), c.c_uint32(32)
        enabled = []
        for handle in (first.handle, second.handle, None):
            cupti.call("cuptiActivityGetEnabledKinds", handle, kinds, c.byref(size), c.byref(found))
            enabled.append(list(kinds[: found.value]))
        states = first.get(MULTIPLE_STATE), second.get(MULTIPLE_STATE)
        return first.kinds(), second.kinds(), enabled, states

    first, second, enabled, states = in_process(fakes, scenario, "13.3.75", log=tmp_path)
    assert first == [KERNEL] * 3
    assert second == [RUNTIME, KERNEL] * 4
    assert enabled == [[], [RUNTIME, KERNEL], [RUNTIME, KERNEL]]
    assert states == (1, 1)
    (log,) = fakes.log(tmp_path)
    assert log.clients[:2] == [3, 8]
    assert log.enabled == {KERNEL: 1, RUNTIME: 1}
    counted = {name: log.counters[name] for name in ("subscriptions", "enables", "disables",
               "refused_subscriptions", "finalizes")}  # fmt: skip
    assert list(counted.values()) == [2, 3, 1, 1, 1]


@pytest.mark.parametrize(
    ("release", "driver"), [("13.2.86", 13050), ("13.5.25", 13020), ("13.5.25", 12080)]
)
def test_several_subscribers_need_release_and_driver(
    fakes: Fakes, release: str, driver: int
) -> None:
    def scenario(cupti: FakeCupti) -> tuple[int, int]:
        refused, _ = cupti.subscribe_v2("first", multiple=True)
        return refused.status, cupti.subscribe_v2("first")[0].status

    assert in_process(fakes, scenario, release, driver_version=driver) == (REFUSED, 0)


def test_ids_of_others_precede_calls(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> Any:
        client, _ = cupti.subscribe_v2()
        client.register()
        client.enable(RUNTIME), client.enable(39)
        push, pop = (f"cuptiActivity{w}ExternalCorrelationId_v2" for w in ("Push", "Pop"))
        answers = [cupti.call(pop, client.handle, 3, None), cupti.call(push, client.handle, 9, 1)]
        cupti.call(push, client.handle, 3, c.c_uint64(2**40))
        cupti.launch()
        last = c.c_uint64()
        answers.append(cupti.call(pop, client.handle, 3, c.byref(last)))
        cupti.launch()
        cupti.flush()
        return client.kinds(), answers, last.value

    assert in_process(fakes, scenario) == ([39, RUNTIME, RUNTIME], [18, 1, 0], 2**40)


def test_attributes_are_kept(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> list[int]:
        client = cupti.client()
        before = [client.get(0), client.get(2), client.get(9), client.get(USER_DEFINED)]
        assert client.set(2, 8, 8) == client.set(0, 6400000, 8) == 0
        assert client.set(2, 8, 4) == 10
        return [*before, client.get(0), client.get(2)]

    assert in_process(fakes, scenario) == [3200000, 250, 1, -1, 6400000, 8]


def test_outstanding_buffers_go_to_whoever_is_registered(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> Any:
        first, second = cupti.client(), cupti.client()
        first.register()
        cupti.call("cuptiActivityEnable", KERNEL)
        cupti.launch(2)
        second.register()
        cupti.launch(3)
        cupti.flush()
        cupti.launch()
        cupti.flush()
        return len(first.records), len(second.records), second.foreign

    assert in_process(fakes, scenario) == (0, 1, 1)
