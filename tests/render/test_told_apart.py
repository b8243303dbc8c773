"""Rows of one answer bear the same label only if they are of the same thing, on real traces."""

from __future__ import annotations

import gzip
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
