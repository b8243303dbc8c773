"""Which kinds a capture records: presets, names, graphs, and those that cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from support.captures import Capturer
from support.fakes import CUPTI_12, CUPTI_13

# What the fake makes of each table's kind.
KINDS = {
    "environment": 20,
    "kernel": 10,
    "memory": 49,
    "overhead": 17,
    "stream": 37,
    "synchronization": 38,
}
ALL_SWITCHES = 1 + 4 + 8 + 8 * 256


@pytest.mark.slow
@pytest.mark.parametrize("release", [CUPTI_12, CUPTI_13])
def test_full_preset(capturer: Capturer, release: str) -> None:
    capture = capturer.run(
        release, ["--kinds", "full"], launches=200, malloc_every=10, sync_every=20
    )
    (log,) = capture.log
    for table, kind in KINDS.items():
        assert capture.count(table) == log.made[kind] > 0, table
    capture.check_sums()
    memory = capture.rows("memory")
    assert {row["source"] for row in memory} == {"libfake.so"}
    assert {row["name"] for row in memory} == {"allocation", None}
    # CUPTI would stop giving the nodes of graphs.
    assert not (capture.trace / "graph_trace").exists()
    # Device times of events came with 13.0.
    assert log.counters["switches"] == ALL_SWITCHES - (4 if release == CUPTI_12 else 0)


def test_parts_of_a_union_are_null_in_other_records(capturer: Capturer) -> None:
    options = ["--kinds", "environment"]
    capture = capturer.run(CUPTI_13, options, {"log_rows": True}, launches=160, sync_every=10)
    parts = {
        "speed": {"sm_clock_mhz", "memory_clock_mhz", "pcie_link_generation"}
        | {"pcie_link_width", "throttle_reasons"},
        "temperature": {"gpu_temperature_c"},
        "power": {"power_mw", "power_limit_mw"},
        "cooling": {"fan_speed_pct"},
    }
    rows = capture.rows("environment")
    assert {row["environment_kind"] for row in rows} == parts.keys()
    for row in rows:
        filled = {name for name in set().union(*parts.values()) if row[name] is not None}
        assert filled == parts[row["environment_kind"]]
    made: list[Any] = [row["data"] for row in capture.log.rows(20)]
    powers = [int.from_bytes(data[:4], "little", signed=True) for data in made[2::4]]
    assert [row["power_mw"] for row in rows if row["power_mw"] is not None] == powers


@pytest.mark.slow
def test_light_preset_and_default_switch_nothing(capturer: Capturer) -> None:
    for preset in ("light", "default"):
        capture = capturer.run(CUPTI_13, ["--kinds", preset], launches=50)
        assert capture.count("kernel") == 50
        assert capture.log[0].counters["switches"] == 0
        assert (capture.trace / "api_call").exists() == (preset == "default")


@pytest.mark.slow
@pytest.mark.parametrize("graph", ["node", "graph"])
def test_graphs_by_node_or_as_a_whole(capturer: Capturer, graph: str) -> None:
    fake = {"graph_every": 4}
    options = ["--kinds", "full", "--graph", graph]
    capture = capturer.run(CUPTI_13, options, fake, launches=100, sync_every=10)
    capture.check_sums()
    in_graphs = [row for row in capture.rows("kernel") if row["graph_id"] == 9]
    wholes = capture.rows("graph_trace")
    assert len(in_graphs) == (75 if graph == "node" else 0)
    assert len(wholes) == (0 if graph == "node" else 25)
    assert capture.count("kernel") - len(in_graphs) == 75
    assert capture.log[0].counters["switches"] == ALL_SWITCHES + 16 * (graph == "graph")
    launches = {r["correlation_id"] for r in capture.rows("api_call") if "GraphLaunch" in r["name"]}
    assert {row["correlation_id"] for row in wholes or in_graphs} == launches
    assert capture.rows("process")[0]["detail"] is None or graph == "graph"


def test_presets_and_names_together(capturer: Capturer) -> None:
    options = ["--kinds", "light,synchronization", "--graph", "graph"]
    capture = capturer.run(CUPTI_13, options, launches=50, sync_every=10)
    assert capture.count("synchronization") == 5
    assert (capture.trace / "graph_trace").exists()
    assert capture.log[0].counters["switches"] == 1 + 16


def test_each_kind_that_cupti_does_not_have_is_noted(capturer: Capturer) -> None:
    fake = {"fail": "cuptiActivityEnable:20=27,cuptiActivityConfigureUnifiedMemoryCounter=35"}
    capture = capturer.run(CUPTI_12, ["--kinds", "full"], fake, launches=100, sync_every=10)
    assert capture.status == 0
    (process,) = capture.rows("process")
    head, rest = process["detail"].split(": ", 1)
    assert head == "records that cannot be enabled"
    notes = rest.split("; ")
    missing = {note.split(":")[0] for note in notes}
    # 12.9 ends before host functions and green contexts.
    assert missing >= {"environment", "unified_memory", "host_launch", "green_context"}
    assert len(missing) == len(notes)
    assert "environment: CUPTI_ERROR_NOT_SUPPORTED (27)" in notes
    assert capture.count("kernel") == 100
    assert capture.count("synchronization") == 10
    capture.check_sums()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nvlink", "cannot be recorded"),
        ("module", "CUPTI lets no client enable it"),
        ("nothing", "there is no kind 'nothing'"),
        ("graph_trace", "takes the place of the kernels"),
    ],
)
def test_kinds_that_cannot_be(capturer: Capturer, name: str, words: str) -> None:
    capture = capturer.run(CUPTI_13, ["--kinds", name], launches=1)
    assert capture.status == 2
    assert words in capture.stderr


@pytest.mark.slow
def test_a_kind_that_is_not_ready_is_asked_for_again(capturer: Capturer) -> None:
    # What CUPTI answers for unified memory before there is a context: here, for ever.
    refused = {"fail": "cuptiActivityConfigureUnifiedMemoryCounter=13"}
    capture = capturer.run(
        options=["--kinds", "kernel,unified_memory"], fake=refused, launches=300, rate=1000
    )
    assert capture.count("kernel") == 300
    assert "unified_memory" in capture.rows("process")[0]["detail"]
    # 100 ms between two attempts.
    assert capture.log[0].counters["enables"] >= 1
