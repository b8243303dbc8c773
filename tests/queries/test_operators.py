"""What operators compute is what their SQL says, on made-up traces with everything odd in them."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.trace import by_sql, write_manifest, write_trace

import cupti_etl
from cupti_etl.errors import UsageError
from cupti_etl.queries import keeping
from cupti_etl.queries.operators import OPERATORS, native

NAMES = ("a", "b", "c", "ncclDevKernel_AllReduce", "d_longer_than_twelve_letters")
OVERHEADS = ("module_loading", "driver_compiler", "command_buffer_full", "cupti_resource", None)
CALLS = (
    *("cudaLaunchKernel", "cuLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize"),
    *("cuModuleLoadDataEx", "cudaX"),
)


_TIED = (
    "SELECT 1 FROM kernel WHERE end_ns IS NOT NULL"
    " GROUP BY process_id, device_id, context_id, stream_id, start_ns, end_ns HAVING count(*) > 1"
)


def _cell(value: object) -> str:
    return "-" if value is None else str(value)


def _rows(columns: str, rows: list[tuple[object, ...]]) -> str:
    return "\n".join([columns, *(" ".join(map(_cell, row)) for row in rows)])


def made_up(folder: Path, seed: int) -> Path:
    """A trace of some hundred rows; times are few, so that many things happen at once."""
    luck = random.Random(seed)
    n, span = (0, 5, 80, 400)[seed % 4], (40, 2000, 10**10)[seed % 3]

    def time(odd: float = 0.03) -> int | None:
        return None if luck.random() < odd else luck.randrange(span)

    def lasting() -> tuple[int | None, int | None]:
        start = time()
        length = luck.choice([0, 1, 5, luck.randrange(span)]) - (luck.random() < 0.03)
        return start, None if start is None or luck.random() < 0.03 else start + length

    def where() -> tuple[object, ...]:
        return (
            luck.choice([1, 2]),
            luck.choice([0, 1, None]),
            luck.choice([1, None]),
            luck.choice([7, 8]),
            luck.choice([None, *range(1, n + 2)]),
        )

    def shape() -> tuple[object, ...]:
        return (luck.choice([1, 2, None]), 1, 1, 64, luck.choice([1, 2]), 1)

    def graphs() -> None:
        """Graph launches without numbers of graphs or nodes, over streams; an id begins anew."""
        for number in range(n // 8):
            who, id_ = luck.choice([1, 2]), 2 * 10**6 + luck.randrange(n // 12 + 1)
            begin = number * span
            end = luck.choice([begin, begin + 3, begin + span // 2, None])
            name = luck.choice(["hipGraphLaunch", "cudaGraphLaunch_v10000"])
            calls.append((who, id_, begin, end, "runtime", name, 100))
            if luck.random() < 0.5:
                calls.append((who, id_, begin, end, "driver", "cuGraphLaunch", 100))
            # No two begin at once: of these either is the first.
            for start in luck.sample(range(span), luck.choice([1, 7, 20])):
                stop = luck.choice([start, start + 2, start + span // 3, start - 1])
                kernels.append(
                    (who, 0, 1, luck.choice([7, 8]), id_, begin + start, begin + stop)
                    + (luck.choice(NAMES), None, *shape())
                )

    kernels = [(*where(), *lasting(), luck.choice(NAMES), None, *shape()) for _ in range(n)]
    # Two graphs, whose nodes are in order: of two that begin at once either is the first.
    kernels += [(1, 0, 1, 9, 10**6 + at // 5, at, at + 3, "a", 4, *shape()) for at in range(10)]
    copies = [(*where(), *lasting(), "HtoD", (None, 64, 0, 4096)[i % 4]) for i in range(n // 3)]
    sets = [(*where(), *lasting()) for _ in range(n // 8)]
    calls = [
        (
            luck.choice([1, 2]),
            luck.choice([None, *range(1, n + 2)]),
            *lasting(),
            luck.choice(["runtime", "driver"]),
            luck.choice(CALLS),
            luck.choice([100, 101]),
        )
        for _ in range(n + n // 2)
    ]
    calls += [(1, 10**6 + at, 0, 2, "runtime", "cudaGraphLaunch", 100) for at in range(2)]
    graphs()
    overheads = [(luck.choice([1, 2]), *lasting(), OVERHEADS[i % 5]) for i in range(n // 9)]
    ranges = []
    for number in range(n // 8):
        who, begin = (luck.choice([1, 2]), luck.choice([100, 101, None])), luck.randrange(span)
        ranges.append((*who, number, "start", begin, luck.choice(NAMES)))
        if luck.random() < 0.9:
            ranges.append((*who, number, "end", begin + luck.randrange(span // 3), None))
    if luck.random() < 0.5:
        kernels.sort(key=lambda row: row[5] or 0)
    # Some are recorded in windows, with times between in which nothing is known.
    begins = range(-1, 30 * span, 7 * span // (1 + seed % 5)) if seed % 3 else ()
    windows = [(who, begin, begin + span // 3) for who in (1, 2) for begin in begins]
    common = "process_id device_id context_id stream_id correlation_id start_ns end_ns"
    return write_trace(
        folder,
        kernel=_rows(
            f"{common} name graph_node_id grid_x grid_y grid_z block_x block_y block_z", kernels
        ),
        memcpy=_rows(f"{common} copy_kind bytes", copies),
        memset=_rows(common, sets),
        api_call=_rows("process_id correlation_id start_ns end_ns domain name thread_id", calls),
        marker=_rows("process_id thread_id marker_id event timestamp_ns name", ranges),
        overhead=_rows("process_id start_ns end_ns overhead_kind", overheads),
        capture_window=_rows("process_id start_ns end_ns", windows),
        kernel_name="mangled demangled short\na      a(int)    A\nb      b(int)    B",
        device="process_id device_id device_uuid\n1 0 GPU-x\n2 0 GPU-x\n1 1 GPU-y",
    )


def _sorted(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in rows), key=repr_of)


def repr_of(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple("" if isinstance(cell, float) else repr(cell) for cell in row)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6)
    return bool(a == b)


@pytest.mark.parametrize(
    "seed",
    [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))],
)
def test_operators_compute_what_their_sql_does(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So small that even these rows are cut, and shared out.
    monkeypatch.setattr(native, "SLICE_ROWS", 50)
    monkeypatch.setattr(native, "SHARED_ROWS", 10)
    monkeypatch.setattr(native, "EXECUTIONS", 3)
    path = made_up(tmp_path / "run", seed)
    with cupti_etl.open(path) as swept, cupti_etl.open(path) as plain:
        by_sql(plain)
        for name in OPERATORS:
            if name == "_kernel_run" and plain.sql(_TIED).count():
                continue  # which of two kernels that begin and end at once is first is open
            found, wanted = (_sorted(list(trace.sql(f"FROM {name}"))) for trace in (swept, plain))
            assert len(found) == len(wanted), name
            for one, other in zip(found, wanted, strict=True):
                assert all(map(_same, one, other)), (name, one, other)
        kept = swept.sql("SELECT name FROM (SHOW ALL TABLES) WHERE name LIKE '_derived%'").count()
        assert kept >= len(OPERATORS)  # none was left to its SQL


def test_slices_begin_where_row_groups_do() -> None:
    # Near is less than half the way to the next edge, which 51 is to 60, and not to 40.
    assert native.moved([10, 20, 40, 60], [0, 11, 19, 51]) == [11, 19, 40, 51]
    assert native.moved([10, 20], []) == [10, 20]


def _interrupted(*_: object) -> None:
    raise duckdb.InterruptException("Interrupted")


def test_an_operator_that_is_interrupted_takes_nothing_from_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = "start_ns end_ns name process_id device_id\n 1 2 a 1 0\n 3 4 a 1 0"
    path = write_trace(tmp_path, kernel=kernels, capture="capture_id start_ns end_ns\n 1 0 9")
    write_manifest(path)
    monkeypatch.setattr(keeping, "KEPT_BYTES", 0)
    with cupti_etl.open(path) as trace:
        runs = trace.query("_kernel_run").arrow()
        with monkeypatch.context() as patch:
            patch.setattr(native, "feed", _interrupted)
            with pytest.raises(UsageError, match="Interrupted"):
                trace.query("_kernel_trend").arrow()
        assert trace.query("_kernel_run").arrow() == runs
        assert runs.num_rows


def test_a_table_is_of_one_operator_alone() -> None:
    operators = {operator.name: operator for operator in OPERATORS.values()}.values()
    tables = [table for operator in operators for table in operator.tables]
    assert len(tables) == len(set(tables))
