"""What the test program can do: NVTX ranges, the profiler API, another client, graphs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.fake_run import Run, received
from support.fakes import KERNEL, MARKER, MARKER_DATA, RUNTIME, ProcessLog

BEGIN, END = 2, 4  # flags of a marker
MARKERS = {"kinds": "12,13"}


def ranges(log: ProcessLog) -> list[tuple[Any, Any]]:
    """Name and domain of each range, once it is closed."""
    markers = log.rows(MARKER)
    opened = {row["id"]: (row["name"], row["domain"]) for row in markers if row["flags"] == BEGIN}
    closed = [row for row in markers if row["flags"] == END]
    assert all(row["name"] is None for row in closed)
    assert all(row["domain"] == opened[row["id"]][1] for row in closed)
    return [opened[row["id"]] for row in closed]


@pytest.mark.parametrize("form", ["push", "wide", "ex", "registered", "start", "start-ex"])
def test_ranges(run: Run, form: str) -> None:
    wanted = {"range_every": 2, "range_gap": 3, "range_name": "step", "range_form": form}
    report, (log,) = run(tiny=MARKERS, options={"log_rows": True}, launches=20, **wanted)
    assert report["nvtx"] == 0  # CUPTI's success
    assert ranges(log) == [("step", None)] * 4
    coloured = form not in ("push", "wide", "start")
    data = log.rows(MARKER_DATA)
    assert len(data) == 4
    if coloured:
        expected = [(0xFF336699, 7, 2)] * 4
        assert [(row["color"], row["category"], row["flags"]) for row in data] == expected


@pytest.mark.parametrize("form", ["ex", "registered", "start-ex"])
def test_ranges_in_a_domain(run: Run, form: str) -> None:
    wanted = {"range_every": 4, "range_domain": "train", "range_form": form}
    _, (log,) = run("12.9.79", MARKERS, {"log_rows": True}, launches=12, threads=2, **wanted)
    assert ranges(log) == [("range", "train")] * 6


def test_domains_have_stacks_of_their_own(run: Run) -> None:
    wanted = {"range_every": 3, "range_domain": "train", "range_form": "ex", "nvtx_every": 2}
    _, (log,) = run(tiny=MARKERS, options={"log_rows": True}, launches=6, **wanted)
    found = ranges(log)
    assert found.count(("range", "train")) == 2
    others = [("range 0", None), ("range 1", "fake.domain"), ("range 2", None)]
    assert [name for name in found if name != ("range", "train")] == others


def test_range_from_before_cuda(run: Run) -> None:
    """The library gets its NVTX call first; what it does there must not need a driver."""
    rows = {"log_rows": True}
    report, (log,) = run("12.9.79", MARKERS, rows, launches=2, range_before="all")
    assert report["nvtx"] == 0
    assert [row["flags"] for row in log.rows(MARKER)] == [END]  # no client at its start


def test_injected_library_wraps_what_cupti_installed(run: Run) -> None:
    tiny = {**MARKERS, "wrap": 1}
    report, (log,) = run(tiny=tiny, options={"log_rows": True}, launches=6, range_every=2)
    assert report["wrapped"] == 3
    assert len(ranges(log)) == 3


def test_library_that_refuses_nvtx_is_left_alone(run: Run) -> None:
    report, (log,) = run(
        tiny=MARKERS, options={"fail": "cuptiNvtxInitialize2=15"}, launches=4, nvtx_every=2
    )
    assert report["nvtx"] == 15
    assert MARKER not in log.made


def test_profiler_api(run: Run) -> None:
    _, (log,) = run(tiny={"kinds": "4,5"}, launches=10, threads=2, profiler_every=3)
    counts = {name: log.api.get(name, 0) for name in (("runtime", 171), ("runtime", 172),
              ("driver", 308), ("driver", 309))}  # fmt: skip
    assert list(counts.values()) == [2, 2, 2, 2]
    assert log.api["runtime", 211] == 20


def take_over(run: Run, folder: Path, release: str = "13.5.25", **options: Any) -> Any:
    """Report of the first client and of the other, and the fake's log."""
    tiny = {key[5:]: options.pop(key) for key in list(options) if key.startswith("tiny_")}
    fake = {"driver_version": options.pop("driver_version", 13050)}
    path = folder / "peer.json"
    program = {"takeover_at": 500, "takeover_for": 300, "takeover_kinds": "5,10", **options}
    path.unlink(missing_ok=True)
    report, logs = run(
        release,
        {"bytes": 4096, **tiny},
        fake,
        launches=1000,
        rate=20_000,  # so that full buffers are handed over before the other comes
        takeover_report=path,
        **program,
    )
    return report, json.loads(path.read_text()), max(logs, key=lambda log: log.path.stat().st_ctime)


def test_client_that_comes_and_goes(run: Run, tmp_path: Path) -> None:
    """Its flush hands it everything; then the kinds are off and nobody gets anything."""
    report, peer, log = take_over(run, tmp_path)
    assert {peer[name] for name in ("register", "enable", "flush", "disable")} == {0}
    assert peer["subscribe"] == peer["unsubscribe"] == peer["finalize"] == -1
    assert peer["foreign_buffers"] >= 1  # that the first client gave
    assert sum(received(report).values()) == log.clients[0] < 1000
    assert sum(log.clients) == sum(log.delivered.values()) == 1600
    assert log.enabled == {}
    assert (log.counters["enables"], log.counters["disables"]) == (4, 2)


def test_client_that_subscribes_and_finalizes(run: Run, tmp_path: Path) -> None:
    options = {"takeover_subscribe": 1, "takeover_unsubscribe": 1, "takeover_finalize": 1}
    _, peer, log = take_over(run, tmp_path, **options)
    assert (peer["subscribe"], peer["unsubscribe"], peer["finalize"]) == (0, 0, 0)
    counted = ("subscriptions", "unsubscriptions", "finalizes")
    assert [log.counters[name] for name in counted] == [1, 1, 1]
    assert log.enabled == {}


def test_subscription_keeps_others_out(run: Run, tmp_path: Path) -> None:
    report, peer, log = take_over(run, tmp_path, tiny_subscribe=1, takeover_subscribe=1)
    assert (peer["subscribe"], peer["register"]) == (39, -1)
    assert received(report) == {RUNTIME: 1000, KERNEL: 1000}
    assert log.counters["refused_subscriptions"] == 1
    _, peer, _ = take_over(run, tmp_path, tiny_subscribe=1, takeover_v2=1)
    assert (peer["subscribe"], peer["old_name"]) == (39, "CUPTI")
    _, peer, _ = take_over(run, tmp_path, tiny_subscribe=1)  # who does not ask gets in
    assert peer["register"] == 0


def test_client_of_version_2_beside_one_of_version_1(run: Run, tmp_path: Path) -> None:
    report, peer, log = take_over(run, tmp_path, takeover_v2=1)
    assert (peer["subscribe"], peer["register"]) == (39, -1)
    assert received(report) == {RUNTIME: 1000, KERNEL: 1000}
    assert log.counters["refused_subscriptions"] == 1


def test_client_of_version_2_comes_and_goes(run: Run, tmp_path: Path) -> None:
    options = {"takeover_v2": 1, "takeover_unsubscribe": 1, "takeover_finalize": 1}
    report, peer, log = take_over(run, tmp_path, tiny_kinds="0", **options)
    assert {peer[name] for name in ("subscribe", "register", "enable", "disable")} == {0}
    assert (peer["unsubscribe"], peer["finalize"], peer["records"]) == (0, 0, 600)
    assert received(report) == {}
    assert log.enabled == {}
    _, peer, _ = take_over(run, tmp_path, "13.0.85", **options)
    assert peer["subscribe"] == 1
    _, peer, _ = take_over(run, tmp_path, "12.9.79", **options)
    assert peer["subscribe"] == -2


def test_graphs_that_outgrow_the_device_buffers(run: Run) -> None:
    options = {"graph_every": 1, "graph_nodes": 4, "pool": 2, "log_rows": True}
    report, (log,) = run(tiny={"kinds": "10", "pool_limit": 5}, options=options, launches=4)
    untimed = [row for row in log.rows(KERNEL) if row["start"] == row["end"] == 0]
    assert received(report) == {KERNEL: 16}
    assert len(untimed) == log.counters["untimed"] == 6  # 5 buffers of 2 records
    assert log.incomplete == {}
    assert log.counters["pool_limit"] == 5
    _, logs = run(tiny={"kinds": "10", "pool_limit": 5}, options=options, launches=4, sync_every=2)
    assert logs[-1].counters["untimed"] == 0
    _, logs = run(tiny={"kinds": "10"}, options=options, launches=130)
    assert logs[-1].counters["untimed"] == 130 * 4 - 250 * 2


def test_graphs_of_three_kernels(run: Run) -> None:
    report, _ = run(tiny={"kinds": "10"}, options={"graph_every": 2}, launches=4)
    assert received(report) == {KERNEL: 8}
    report, _ = run(tiny={"kinds": "10,51"}, options={"graph_every": 2}, launches=4)
    assert received(report) == {KERNEL: 2, 51: 2}
