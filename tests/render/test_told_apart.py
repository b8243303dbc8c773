"""Rows of one answer bear the same label only if they are of the same thing, on real traces."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cupti_etl
from cupti_etl.imports.run import import_traces
from cupti_etl.queries.catalog import library
from cupti_etl.render.columns import WHOSE
from cupti_etl.render.table import Table, View, table

DATA = Path(__file__).parents[1] / "data"
RECORDING = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
FILES = {
    "demo": (RECORDING,),
    "nsys": (DATA / "nsys_h100.sqlite.gz",),
    "stacks": (DATA / "kineto_h100_with_stack.json.gz",),
    "ranks": (DATA / "kineto_rank0.json.gz", DATA / "kineto_rank1.json.gz"),
    "v100": (DATA / "kineto_v100.json.gz",),
}
FRONT = [query.name for query in library() if query.front]
ROWS = 60
# Queries with functions of kernels that need no label, and why.
NOT_ABOUT_KERNELS = {
    "active_threads": "lines of source",
    "instruction_count": "instructions",
    "instruction_stall": "instructions",
    "kernel_named": "single runs, with the mangled name beside",
    "kernel_rule": "mangled names",
    "kernel_run_metric": "single runs, told apart by their times",
    "source_line": "lines of source",
    "triton_autotune": "all kernels of one function, as are its configurations",
}
SHAPE = (
    "context_id stream_id graph_id grid_x grid_y grid_z block_x block_y block_z"
    " registers_per_thread"
)
GIVEN = "1 7 5 9 1 1 32 1 1 8"
LIMITS = {
    "multiprocessors": "132",
    "threads_per_warp": "32",
    "max_warps_per_multiprocessor": "64",
    "max_blocks_per_multiprocessor": "32",
    "max_registers_per_multiprocessor": "65536",
    "max_shared_per_multiprocessor_bytes": "233472",
    "compute_capability_major": "9",
}
FUNCTION = re.compile(
    "(?:[Nn]ame of the kernel|[Ff]unction name|The kernel or function)(?!.*before)"
)


@pytest.fixture(scope="module", params=FILES)
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[cupti_etl.Trace]:
    folder = tmp_path_factory.mktemp(request.param)
    files = []
    for file in FILES[request.param]:
        if file.name.endswith(".sqlite.gz"):
            unpacked = folder / "nsys.sqlite"
            unpacked.write_bytes(gzip.decompress(file.read_bytes()))
            file = unpacked
        files.append(file)
    import_traces(files, folder / "trace", 1)
    with cupti_etl.open(folder / "trace") as trace:
        yield trace


def mixed_up(shown: Table, rows: list[dict[str, Any]]) -> list[str]:
    """What is shown of rows that differ in what they are of, and look as if they did not."""
    looks = [each for each in shown.columns if not each.is_number or each.name in WHOSE]
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    for at, row in enumerate(rows):
        alike[tuple(each.cells[at] for each in looks)].append(row)
    texts = {name for row in rows for name, value in row.items() if isinstance(value, str)}
    return [
        f"{text}: {name}"
        for text, group in alike.items()
        for name in sorted(texts)
        if len({row[name] for row in group}) > 1
    ]


@pytest.mark.slow
def test_rows_that_look_alike_are_of_one_thing(opened: cupti_etl.Trace) -> None:
    for name in FRONT:
        rows = opened.query(name).arrow().slice(0, ROWS).to_pylist()
        found = mixed_up(table(opened.query(name), View(limit=ROWS)), rows)
        assert not found, f"{name}: {found[:3]}"


def test_the_same_name_for_two_kernels_is_found(trace: Any) -> None:
    """Planted: the same rows, whose labels are those of the first."""
    names = "mangled demangled short\n" + "\n".join(
        f"k{at} Kernel<a{at}> Kernel" for at in range(2)
    )
    made = trace(kernel="process_id name start_ns end_ns\n1 k0 0 10\n1 k1 20 30", kernel_name=names)
    rows = made.query("kernel_summary").arrow().to_pylist()
    shown = table(made.query("kernel_summary"), View())
    assert mixed_up(shown, rows) == []
    label = shown.columns[-1]
    same = type(label)(label.name, label.heading, ["Kernel"] * 2, False, True)
    broken = Table([*shown.columns[:-1], same], shown.hidden, shown.more)
    assert any("demangled" in each for each in mixed_up(broken, rows))


def test_what_is_about_kernels_has_labels_of_them() -> None:
    without = {
        query.name
        for query in library()
        if not (query.is_building_block or (query.label and query.label.kind.startswith("kernel")))
        and any(column.type == "VARCHAR" and FUNCTION.match(column.doc) for column in query.columns)
    }
    assert without == set(NOT_ABOUT_KERNELS)
    # A function alone is not a kernel: its instances differ.
    for query in library():
        if query.label and query.label.kind == "kernel":
            told = {query.label.column, *query.label.of}
            names = {each.name for each in query.columns if "angled" in each.name}
            assert not names or told & names, query.name


@pytest.mark.parametrize(
    "name",
    [
        "graph_node_summary", "kernel_config_summary", "kernel_occupancy", "kernel_pace",
        "kernel_slack", "kernel_tail", "kernel_waves", "kernel_worst", "launch_latency",
    ],
)  # fmt: skip
def test_instances_of_one_template_are_told_apart(trace: Any, name: str) -> None:
    opened = trace(
        kernel=f"process_id device_id correlation_id start_ns end_ns name {SHAPE}\n"
        f"1 0 1 30 60 _Z1a {GIVEN}\n1 0 2 70 90 _Z1b {GIVEN}",
        kernel_name="""
            mangled demangled                          short
            _Z1a    "void map<4, Add<float> >(float*)" map
            _Z1b    "void map<4, Mul<float> >(float*)" map
        """,
        api_call="process_id correlation_id start_ns end_ns\n1 1 10 20\n1 2 20 30",
        device=f"process_id device_id device_uuid {' '.join(LIMITS)}\n"
        f"1 0 GPU-a {' '.join(LIMITS.values())}",
    )
    takes = {each.name for each in library()[name].parameters}
    shown = table(opened.query(name, **({"min_calls": 1} if "min_calls" in takes else {})), View())
    assert sorted(shown.columns[-1].cells) == ["map<Add>", "map<Mul>"]
    assert not {"demangled", "mangled"} & {each.name for each in shown.columns}
