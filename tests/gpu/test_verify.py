"""The acceptance's checks on a trace made by hand: it passes, and each planted fault is found."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cupti_etl.schema.arrow import TABLES, arrow_schema

pytestmark = pytest.mark.slow

Rows = dict[str, list[dict[str, Any]]]
Log = dict[str, Any]

PROCESS, PID, BEGIN = 77, 4242, 1_800_000_000_000_000_000
ADD, MUL = "_Z3addPf", "_Z3mulPf"
GPU = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"


class Story:
    """A small program, told twice: as its log and as the rows of its trace."""

    def __init__(self) -> None:
        self.rows: Rows = {table: [] for table in TABLES}
        self._correlation = 0
        self._time = BEGIN
        for number in range(6):
            self._work("kernel", name=ADD, grid_x=1 + number % 2, stream_id=13 + number % 2)
        self._work("kernel", name=MUL, grid_x=1, stream_id=13)
        self.rows["api_call"].append(self._call("cuLaunchKernel"))  # into the graph
        graph = {"graph_id": 5, "graph_node_id": 50, "stream_id": 13}
        for _ in range(3):
            self._work("kernel", "cuGraphLaunch", name=MUL, grid_x=9, **graph)
        self._work("memcpy", "cudaMemcpyAsync_v3020", copy_kind="HtoD", bytes=64, stream_id=13)
        self._work("memset", "cudaMemsetAsync_v3020", bytes=8, stream_id=13)
        self._work("kernel", name=MUL, grid_x=100, stream_id=13)
        probe = self.rows["kernel"][-1]
        for event, name in (("start", "step"), ("end", None), ("instant", "mark")):
            marker = {"event": event, "name": name, "marker_id": 1 + (event == "instant")}
            self._add("marker", timestamp_ns=self._tick(), **marker)
        self._add("device", device_id=0, device_uuid=GPU)
        self.rows["kernel_name"] = [{"mangled": ADD, "demangled": "add(float*)"},
                                    {"mangled": MUL, "demangled": "mul(float*)"}]  # fmt: skip
        records = sum(len(rows) for table, rows in self.rows.items() if table != "kernel_name")
        self._add("process", pid=PID, state="finished", emitted=records, stored=records)
        self.log: Log = {
            "program": "story", "pid": PID, "begin_ns": BEGIN, "end_ns": self._tick(),
            "complete": True,
            "kernels": [
                {"name": ADD, "stream": "a", "grid_x": 1, "count": 3},
                {"name": ADD, "stream": "b", "grid_x": 2, "count": 3},
                {"name": MUL, "stream": "a", "grid_x": 1, "count": 1},
                {"name": MUL, "stream": "a", "grid_x": 100, "count": 1},
            ],
            "graph_kernels": [{"name": MUL, "grid_x": 9, "count": 3}],
            "graphs": [{"replays": 3, "nodes": {"kernel": 1}}],
            "copies": [{"kind": "HtoD", "bytes": 64, "count": 1}],
            "memsets": [{"bytes": 8, "count": 1}],
            "markers": [{"name": "step", "count": 1}, {"name": "mark", "count": 1}],
            "streams": {"a": 13, "b": 14},
            "probes": [{"name": MUL, "grid_x": 100, "begin_ns": probe["start_ns"] - 500,
                        "end_ns": probe["end_ns"] + 500}],
            "phase": {"begin_ns": BEGIN, "end_ns": self._time, "steps": 1},
        }  # fmt: skip
        self.profiler = {
            "kernels": {"add(float*)": 6, "mul(float*)": 5}, "copies": {"HtoD": 1},
            "memsets": {"Memset": 1},
        }  # fmt: skip

    def write(self, folder: Path) -> Path:
        for table, rows in self.rows.items():
            schema = arrow_schema(table)
            whole = [{name: row.get(name) for name in schema.names} for row in rows]
            (folder / table).mkdir(parents=True)
            pq.write_table(
                pa.Table.from_pylist(whole, schema), folder / table / "part-000000.parquet"
            )
        return folder

    def _tick(self) -> int:
        self._time += 1_000_000
        return self._time

    def _add(self, table: str, **row: Any) -> None:
        self.rows[table].append({"process_id": PROCESS, **row})

    def _call(self, name: str) -> dict[str, Any]:
        self._correlation += 1
        start = self._tick()
        return {"process_id": PROCESS, "correlation_id": self._correlation, "name": name,
                "domain": "driver" if name.startswith("cu") and name[2].isupper() else "runtime",
                "start_ns": start, "end_ns": start + 10, "return_value": 0}  # fmt: skip

    def _work(self, table: str, call: str = "cudaLaunchKernel_v7000", **row: Any) -> None:
        self.rows["api_call"].append(self._call(call))
        start = self._tick()
        self._add(table, correlation_id=self._correlation, device_id=0, start_ns=start,
                  end_ns=start + 1000, **row)  # fmt: skip


def run(story: Story, folder: Path) -> dict[str, list[str]]:
    """Problems by name of the check, of those that did not pass."""
    from verify import launch_view, verify

    story.write(folder)
    launch = launch_view(folder)
    checks = verify(folder, [story.log], launch, counts=story.profiler, gpus=[GPU])
    assert len(checks) == 12
    return {check.name: check.problems for check in checks if not check.passed}


def test_a_true_story_passes(tmp_path: Path) -> None:
    assert run(Story(), tmp_path) == {}


def kernels(story: Story) -> list[dict[str, Any]]:
    return story.rows["kernel"]


def drop(table: str, index: int) -> Callable[[Story], None]:
    return lambda story: story.rows[table].__delitem__(index)


def change(table: str, index: int, **values: Any) -> Callable[[Story], None]:
    return lambda story: story.rows[table][index].update(values)


def twice(table: str, index: int, **values: Any) -> Callable[[Story], None]:
    def plant(story: Story) -> None:
        story.rows[table].append({**copy.deepcopy(story.rows[table][index]), **values})

    return plant


NAME_STREAM = "counts per kernel name and stream"
GRAPH = "counts per kernel name in graphs"
LAUNCH = "one launch row per kernel"
ACCOUNTING = "losses and accounting"
PROFILER = "same kernels as under torch.profiler"
BRACKETS = "inside the program's clock brackets"


# What is planted, and the checks that have to notice; no other may complain.
FAULTS: dict[str, tuple[Callable[[Story], Any], set[str]]] = {
    "kernel lost": (drop("kernel", 0), {NAME_STREAM, LAUNCH, ACCOUNTING, PROFILER}),
    "kernel twice": (twice("kernel", 0), {NAME_STREAM, LAUNCH, ACCOUNTING, PROFILER}),
    "stream wrong": (change("kernel", 0, stream_id=14), {NAME_STREAM}),
    "name wrong": (change("kernel", 0, name=MUL), {NAME_STREAM, PROFILER}),
    "name missing": (change("kernel", 0, name=None), {NAME_STREAM, "names", PROFILER}),
    "not demangled": (drop("kernel_name", 0), {"names", PROFILER}),
    "graph kernel lost": (drop("kernel", 7), {GRAPH, ACCOUNTING, PROFILER}),
    "ends before it begins": (change("kernel", 1, end_ns=BEGIN), {"start <= end"}),
    "no end": (change("kernel", 1, end_ns=None), {"start <= end"}),
    "too early": (change("kernel", 0, start_ns=BEGIN - 10**6), {BRACKETS, PROFILER}),
    "probe too late": (change("kernel", 10, end_ns=BEGIN + 10**9), {BRACKETS}),
    "launch not joined": (change("api_call", 0, correlation_id=999), {LAUNCH}),
    "launch lost": (drop("api_call", 0), {LAUNCH, ACCOUNTING}),
    "bytes wrong": (change("memcpy", 0, bytes=63), {"copies and sets"}),
    "direction wrong": (change("memcpy", 0, copy_kind="DtoH"), {"copies and sets"}),
    "set lost": (drop("memset", 0), {"copies and sets", ACCOUNTING, PROFILER}),
    "range without end": (drop("marker", 1), {"NVTX", ACCOUNTING}),
    "range renamed": (change("marker", 0, name="stop"), {"NVTX"}),
    "emitted more": (change("process", 0, emitted=999), {ACCOUNTING}),
    "killed": (change("process", 0, state="killed"), {ACCOUNTING}),
    "another GPU": (change("device", 0, device_uuid="GPU-other"), {"devices"}),
    "unknown device": (change("kernel", 0, device_id=3), {"devices"}),
    "loss": (
        lambda story: story.rows["loss"].append({"process_id": PROCESS, "cause": "ring_full"}),
        {ACCOUNTING},
    ),
    "stranger": (
        lambda story: story.rows["process"].append({"process_id": 1, "pid": 5}),
        {"processes"},
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_noticed(tmp_path: Path, fault: str) -> None:
    plant, noticed = FAULTS[fault]
    story = Story()
    plant(story)
    assert set(run(story, tmp_path)) == noticed


def test_too_few_names(tmp_path: Path) -> None:
    story = Story()
    story.log |= {"min_kernel_names": 50, "min_streams": 2}
    assert run(story, tmp_path) == {"names": ["2 kernel_names, expected at least 50"]}


def test_profiler_saw_something_else(tmp_path: Path) -> None:
    story = Story()
    story.profiler["kernels"] = {"add(float*)": 6, MUL: 4, "sub(float *)": 1}
    assert run(story, tmp_path)[PROFILER] == [
        "mul(float*): 5 here, 4 there",
        "sub(float*): 0 here, 1 there",
    ]


def test_an_unreadable_trace(tmp_path: Path) -> None:
    from verify import verify

    story = Story()
    story.write(tmp_path)
    (tmp_path / "kernel/part-000000.parquet").write_bytes(b"damaged")
    (check,) = verify(tmp_path, [story.log], pa.table({"process_id": [1], "correlation_id": [1]}))
    assert not check.passed


def test_two_programs_are_told_apart(tmp_path: Path) -> None:
    from verify import launch_view, verify

    story, other = Story(), Story()
    other.log["pid"] = 5
    for table, rows in other.rows.items():
        if table not in ("device", "kernel_name"):
            story.rows[table] += [row | {"process_id": 88} for row in rows]
    story.rows["device"].append(other.rows["device"][0] | {"process_id": 88})
    story.rows["process"][1]["pid"] = 5
    story.rows["kernel"].pop()  # of the other
    story.write(tmp_path)
    checks = verify(tmp_path, [story.log, other.log], launch_view(tmp_path))
    failed = {check.name for check in checks if not check.passed}
    assert failed == {f"{name} (pid 5)" for name in (NAME_STREAM, BRACKETS, LAUNCH, ACCOUNTING)}
