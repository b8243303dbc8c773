"""User-defined records of the fake CUPTI: fields, layouts, values."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from support.fake_build import field_facts, field_ids, layouts
from support.fake_client import Client, FakeCupti, in_process
from support.fakes import KERNEL, RUNTIME, Fakes

USER_DEFINED, MULTIPLE_STATE = 11, 12
LAUNCH = 211
# The fields that a record was measured with; 104 and 48 bytes.
KERNEL_FIELDS = [
    "kind",
    "start",
    "end",
    "deviceId",
    "contextId",
    "streamId",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "registersPerThread",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "correlationId",
    "name",
    "graphId",
    "graphNodeId",
]
API_FIELDS = ["kind", "cbid", "start", "end", "threadId", "correlationId", "returnValue"]


def numbers(kind: int, members: list[str]) -> list[int]:
    return [field_ids(kind)[member] for member in members]


def user_defined(cupti: FakeCupti) -> Client:
    client, _ = cupti.subscribe_v2("test")
    assert client.set(USER_DEFINED, 1) == 0
    assert client.register() == 0
    return client


def test_user_defined_records(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> Any:
        client = user_defined(cupti)
        assert client.enable(KERNEL, numbers(KERNEL, KERNEL_FIELDS)) == 0
        assert client.enable(RUNTIME, numbers(RUNTIME, API_FIELDS)) == 0
        cupti.launch(2)
        cupti.flush()
        return client.records, client.layouts, client.layout_count, client.threads

    records, found, count, threads = in_process(fakes, scenario)
    assert [len(record) for record in records] == [48, 104, 48, 104]  # measured
    assert count == 60
    assert set(found) == {KERNEL, RUNTIME}
    assert found[RUNTIME] == [(0, 0, 4), (1, 4, 4), (2, 8, 8), (3, 16, 8), (5, 24, 8), (6, 32, 8),
                              (7, 40, 4)]  # fmt: skip
    runtime = struct.unpack_from("<IIQQQQI", records[0])
    assert runtime[:2] == (RUNTIME, LAUNCH)
    assert 0 < runtime[2] < runtime[3]
    assert threads == {runtime[4]}
    assert runtime[4] > 2**32
    assert runtime[5] == 1
    assert struct.unpack_from("<Q", records[1], 72)[0] == 1  # the kernel's correlation id


def test_user_defined_records_hold_what_predefined_ones_do(fakes: Fakes) -> None:
    members = ["kind", "gridX", "priority", "sharedMemoryExecuted", "launchType", "clusterX"]

    def predefined(cupti: FakeCupti) -> list[bytes]:
        client, _ = cupti.subscribe_v2()
        client.register()
        client.enable(KERNEL)
        cupti.launch(20)
        cupti.flush()
        return client.records

    def selected(cupti: FakeCupti) -> Any:
        client = user_defined(cupti)
        client.enable(KERNEL, numbers(KERNEL, members))
        cupti.launch(20)
        cupti.flush()
        return client.records, client.layouts[KERNEL]

    places = layouts("13.5.25")[KERNEL]["members"]
    whole = in_process(fakes, predefined)
    assert {len(record) for record in whole} == {248}
    records, found = in_process(fakes, selected)
    for record, original in zip(records, whole, strict=True):
        for member, (_, offset, size) in zip(members, found, strict=True):
            at, width = places[member]
            assert (size, record[offset : offset + size]) == (width, original[at : at + width])


@pytest.mark.parametrize("release", ["13.2.86", "13.3.75", "13.4.92", "13.5.25"])
def test_every_field_of_every_kind(fakes: Fakes, release: str) -> None:
    """Each kind can be asked for with all its fields, and the layout says where they are."""
    api = {"13.2.86": 130200, "13.3.75": 130300, "13.4.92": 130400, "13.5.25": 130500}[release]
    wanted = {
        kind: [field[1] for field in group["fields"] if field[7] <= api]
        for group in field_facts().values()
        for kind in group["kinds"]
    }

    def scenario(cupti: FakeCupti) -> Any:
        client = user_defined(cupti)
        refused = {k for k, fields in wanted.items() if client.enable(k, fields or [0]) != 0}
        cupti.launch()
        cupti.flush()
        return refused, client.layouts, client.layout_count

    refused, found, count = in_process(fakes, scenario, release)
    assert refused == {kind for kind, fields in wanted.items() if not fields}
    if release == "13.2.86":
        assert (found, count) == ({}, 0)  # filled from 13.3 on
        return
    assert {k: [entry[0] for entry in fields] for k, fields in found.items()} == wanted
    for fields in found.values():
        ends = [offset + size for _, offset, size in fields]
        starts = [offset for _, offset, _ in fields]
        assert all(s >= e for s, e in zip(starts[1:], ends, strict=False))
        assert all(offset % min(size, 8) == 0 for _, offset, size in fields)


def test_selections_that_are_refused(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> list[int]:
        client = user_defined(cupti)
        start = field_ids(KERNEL)["start"]
        answers = [
            client.enable(KERNEL, [start, 0]),  # the first must be the kind
            client.enable(KERNEL, [0, start, start]),
            client.enable(KERNEL, [0, 77]),
            client.enable(KERNEL, []),
            client.enable(KERNEL),
            client.enable(28, [0]),  # has no fields
            client.enable(6, [0]),  # a legacy kind
        ]
        assert client.enable(KERNEL, [0, start]) == 0
        return [*answers, client.set(USER_DEFINED, 0), client.set(MULTIPLE_STATE, 1)]

    assert in_process(fakes, scenario) == [1, 1, 1, 1, 1, 14, 21, 7, 1]


def test_fields_change_behind_a_fence(fakes: Fakes, tmp_path: Any) -> None:
    def scenario(cupti: FakeCupti) -> list[int]:
        client = user_defined(cupti)
        few, more = [0], numbers(KERNEL, KERNEL_FIELDS)
        client.enable(KERNEL, few)
        cupti.launch()
        cupti.flush()
        client.enable(KERNEL, more)
        cupti.launch()
        client.enable(KERNEL, few)  # without a flush
        cupti.launch()
        cupti.flush()
        return [len(record) for record in client.records]

    first, *others = in_process(fakes, scenario, log=tmp_path)
    # Two buffers are out at the end, and two threads hand them over.
    assert (first, sorted(others)) == (8, [8, 104])
    (log,) = fakes.log(tmp_path)
    assert log.counters["unfenced"] == 1
    assert log.delivered[KERNEL] == 3


def test_user_defined_records_of_the_beta(fakes: Fakes) -> None:
    def scenario(cupti: FakeCupti) -> list[int]:
        client = user_defined(cupti)
        client.enable(KERNEL, numbers(KERNEL, KERNEL_FIELDS))
        cupti.launch(2)
        cupti.flush()
        return [len(record) for record in client.records]

    assert in_process(fakes, scenario, "13.2.86") == [104, 104]


def test_logged_rows_of_user_defined_records(fakes: Fakes, tmp_path: Any) -> None:
    def scenario(cupti: FakeCupti) -> None:
        client = user_defined(cupti)
        client.enable(KERNEL, numbers(KERNEL, ["kind", "name", "correlationId"]))
        client.enable(RUNTIME, numbers(RUNTIME, API_FIELDS))
        cupti.launch(2)
        cupti.flush()

    in_process(fakes, scenario, log=tmp_path, log_rows=True)
    (log,) = fakes.log(tmp_path)
    first, _ = log.rows(KERNEL)
    assert first == {"kind": KERNEL, "name": "_Z8kernel_0Pfi", "correlationId": 1}
    assert log.sum_correlation == {KERNEL: 3, RUNTIME: 3}
    assert log.enabled == {KERNEL: 1, RUNTIME: 1}
