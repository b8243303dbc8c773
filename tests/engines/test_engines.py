"""Engines: the answer of many workers is that of one DuckDB, and their death is survived."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from support import dying
from support.dying import Square
from support.trace import write_trace

import cupti_etl
from cupti_etl.analysis.notes import notes
from cupti_etl.api import Trace
from cupti_etl.cli import cli
from cupti_etl.engines import distribute
from cupti_etl.engines.distribute import distributed, merge, partial_of
from cupti_etl.engines.engine import ATTEMPTS, Call, Done, Task, result_of
from cupti_etl.engines.processes import Processes
from cupti_etl.engines.shards import shards
from cupti_etl.engines.sketch import ERROR
from cupti_etl.errors import EngineError, TraceError, UsageError
from cupti_etl.imports.kineto import reader
from cupti_etl.imports.run import import_traces
from cupti_etl.queries.catalog import library
from cupti_etl.queries.query import Query
from cupti_etl.schema.arrow import TABLES

DATA = Path(__file__).parents[1] / "data"
RECORDING = Path(cupti_etl.__file__).parent / "demo" / "h200.etlrec"
# Processes 1 and 2 share a GPU; 3 has one of its own, and no readable name for a kernel of process
# 1; 4 has records and nothing else; what some did took no time, less, or is not over.
MADE = {
    "process": """
        process_id pid host rank
        1          11  a    0
        2          12  a    1
        3          13  b    2
    """,
    "device": """
        process_id device_id device_uuid name global_memory_bandwidth_kbps
        1          0         GPU-a       H200 4800000000
        2          0         GPU-a       H200 4800000000
        3          0         GPU-b       H200 4800000000
    """,
    "kernel": """
        process_id device_id correlation_id start_ns end_ns name
        1          0         1              100      200    _Z4gemm
        2          0         1              150      300    _Z4gemm
        2          0         2              400      -      _Z4gemm
        3          0         1              500      500    _Z4gemm
        3          0         2              600      590    odd
        3          0         3              700      1700   odd
        4          0         1              800      900    odd
        4          0         2              -        -      -
    """,
    "kernel_name": """
        mangled demangled                 short
        _Z4gemm gemm(int)                 gemm
        _Zq     ncclDevKernel_Reduce(int) ncclDevKernel_Reduce
    """,
    "memcpy": """
        process_id device_id correlation_id copy_kind src_kind dst_kind bytes start_ns end_ns
        1          0         9              HtoD      pinned   device   4096  210      310
        3          0         9              HtoD      pinned   device   100   1000     1100
        3          0         8              HtoD      pinned   device   100   1000     1200
        4          0         9              DtoD      device   device   -     10       20
    """,
    "api_call": """
        process_id thread_id correlation_id domain  start_ns end_ns return_value name
        1          1         1              runtime 50       90     0            cudaLaunchKernel
        1          1         5              runtime 160      290    0            cudaFree
        3          1         1              runtime 450      480    1            cudaLaunchKernel
        4          1         5              runtime 810      950    0            cudaFree
    """,
    "memory": """
        process_id device_id memory_kind operation  address bytes timestamp_ns
        1          0         device      allocation 4096    100   10
        3          0         device      allocation 4096    300   20
        3          0         device      release    4096    300   30
    """,
}


REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
# How far the second host's clock is ahead.
AHEAD_NS = 420 * 10**9


def host(path: Path, rank: int) -> Path:
    """A rank that is 30 ns late to every other of 24 collectives, with a kernel before each."""
    rows = []
    for n in range(24):
        end = n * 1000 + n * n * 37 % 400 + n * (rank + 1) % 4 + 10**12 + rank * AHEAD_NS
        start = end - 100 - n - 30 * (n % 2 != rank)
        rows += [
            f"{10 + rank} 0 {start} {end} {REDUCE}",
            f"{10 + rank} 0 {start - 90} {start} gemm",
        ]
    return write_trace(
        path,
        process=f"process_id pid host rank world_size\n {10 + rank} 1 n{rank} {rank} 2",
        device=f"process_id device_id device_uuid name\n {10 + rank} 0 GPU-n{rank} H200",
        kernel="process_id device_id start_ns end_ns name\n" + "\n".join(rows),
    )


class Here:
    """An engine of one worker, this process; what it is given goes through pickle, as it must."""

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
        for place in reversed(range(len(tasks))):
            call = pickle.loads(pickle.dumps(Call(function, tasks[place])))
            yield Done(place, result_of(pickle.loads(pickle.dumps(call()))))


class HereOnOpened(Here):
    """The same, on shards that stay open for those who ask them next."""

    def run(self, function: Callable[[Any], Any], tasks: Sequence[Task]) -> Iterator[Done]:
        return super().run(function, [replace(task, opens=kept) for task in tasks])


_KEPT: dict[bytes, Trace] = {}


def kept(*how: Any) -> AbstractContextManager[Trace]:
    key = pickle.dumps(how)
    if key not in _KEPT:
        _KEPT[key] = Trace(*how)
    return nullcontext(_KEPT[key])


@pytest.fixture(scope="module")
def _kept() -> Iterator[None]:
    yield
    while _KEPT:
        _KEPT.popitem()[1].close()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribute, "find", lambda _: Here())


@pytest.fixture
def here_on_opened(monkeypatch: pytest.MonkeyPatch, _kept: None) -> None:
    monkeypatch.setattr(distribute, "find", lambda _: HereOnOpened())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Traces: two ranks in one folder, and folders of many kinds."""
    home = tmp_path_factory.mktemp("traces")
    ranks = [DATA / f"kineto_rank{rank}.json.gz" for rank in (0, 1)]
    # Ids are drawn: rows must not be in their order, here the other than that of ranks and GPUs.
    ids = iter((2**62, 2**61))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "new_process_id", lambda: next(ids))
        import_traces(ranks, home / "ranks", 1)
    import_traces([RECORDING], home / "demo", 1)
    made = write_trace(home / "made", **MADE)
    other = write_trace(
        home / "other",
        process="process_id pid host\n 7 21 c\n 8 22 c",
        device="process_id device_id device_uuid name\n 7 0 GPU-c H200\n 8 0 GPU-d H200",
        kernel="""
            process_id device_id start_ns end_ns name
            7          0         100      350    _Z4gemm
            8          0         120      170    _Z4gemm
            8          0         200      260    _Zq
        """,
    )
    hosts = [host(home / f"n{rank}", rank) for rank in range(2)]
    return {"ranks": [home / "ranks"], "many": [made, home / "demo", other], "hosts": hosts}


@pytest.fixture(scope="module")
def opened(folders: dict[str, list[Path]]) -> Iterator[dict[str, Trace]]:
    """The same, open."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(cupti_etl.open(*paths)) for name, paths in folders.items()}


def differences(expected: pa.Table, found: pa.Table, approximate: Sequence[str]) -> list[str]:
    """Where an answer is another: exactly, but for roundings of fractions, or within the error."""
    if expected.schema != found.schema or expected.num_rows != found.num_rows:
        return [f"{expected.schema} {expected.num_rows} {found.schema} {found.num_rows}"]
    seen = []
    for at, (one, other) in enumerate(zip(expected.to_pylist(), found.to_pylist(), strict=True)):
        for name, value in one.items():
            is_float = isinstance(value, float) and isinstance(other[name], float)
            allowed = ERROR if name in approximate else 1e-12
            near = is_float and math.isclose(
                value, other[name], rel_tol=allowed + 1e-12, abs_tol=1e-9
            )
            if value != other[name] and not near:
                seen.append(f"row {at}, {name}: {value} is now {other[name]}")
    return seen


def ordered(query: Query, *tables: pa.Table) -> list[pa.Table]:
    """Answers of a query in some order, if it has none of its own."""
    if "\nORDER BY " in query.sql.rsplit(")\n", 1)[-1]:
        return list(tables)
    return [table.sort_by([(name, "ascending") for name in table.column_names]) for table in tables]


@pytest.mark.slow
@pytest.mark.parametrize("query", distributed(), ids=lambda query: query.name)
@pytest.mark.usefixtures("here_on_opened")
def test_the_answer_is_that_of_one_duckdb(query: Query, opened: dict[str, Trace]) -> None:
    rows = 0
    for trace in opened.values():
        assert len(shards(trace, {})) >= 2
        expected = trace.query(query.name).arrow()
        if not expected.num_rows:
            continue
        found = trace.engine("processes").query(query.name)
        assert differences(*ordered(query, expected, found.arrow()), query.approximate) == []
        assert bool(found.notes) == bool(query.approximate)
        rows += expected.num_rows
    assert rows > 0, "nothing is compared: a trace of this test needs what the query asks for"


def test_a_wrong_claim_is_seen(opened: dict[str, Trace]) -> None:
    query = library()["kernel_summary"]
    wrong = replace(query, partial="", merge="FROM partial ORDER BY total_ns DESC, demangled")
    trace = opened["ranks"]
    expected = trace.query(query.name).arrow()
    partials = []
    for shard in shards(trace, {}):
        with Trace(shard.paths, True, shard.portion) as part:
            partials.append(partial_of(part, wrong, {}))
    assert differences(expected, merge(wrong, partials), query.approximate)
    assert differences(expected, expected, ()) == []
    off = expected.set_column(
        expected.column_names.index("median_ns"),
        "median_ns",
        pa.array([value * (1 + 1.1 * ERROR) for value in expected["median_ns"].to_pylist()]),
    )
    assert differences(expected, off, query.approximate)


@pytest.mark.slow
@pytest.mark.parametrize("scope", [{"from_": "20%", "to": "60%"}, {"gpu": 0, "from_": "50%"}])
@pytest.mark.usefixtures("here")
def test_a_part_of_a_trace(scope: dict[str, Any], opened: dict[str, Trace]) -> None:
    with opened["ranks"].scope(**scope) as trace:
        for name in ("gpu_busy", "kernel_summary"):
            expected, found = trace.query(name), trace.engine("processes").query(name)
            assert expected.count() > 0
            assert differences(expected.arrow(), found.arrow(), library()[name].approximate) == []


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_ranks_in_a_part_of_a_trace(folders: dict[str, list[Path]]) -> None:
    with cupti_etl.open(*folders["hosts"]) as hosts, hosts.scope(rank=(0, 1), from_="50%") as trace:
        for name in ("collective_wait", "rank_stragglers", "rank_clock", "idle_summary"):
            expected, found = trace.query(name), trace.engine("processes").query(name)
            assert differences(expected.arrow(), found.arrow(), ()) == []
        assert trace.query("rank_clock").count() == 2


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_clocks_that_are_apart_are_told_by_an_engine_too(folders: dict[str, list[Path]]) -> None:
    query = library()["rank_stragglers"]
    with cupti_etl.open(*folders["hosts"]) as trace:
        (told,) = notes(trace, query, {}, is_empty=False, engine="processes")
        assert told in list(notes(trace, query, {}, is_empty=False))
    assert told.startswith("the clock of rank 1 on n1 is 420 s ahead of that of rank 0 on n0")


def test_what_is_shared_or_gathered_can_be() -> None:
    for query in library():
        for name in query.shared:
            assert TABLES[name].key if name in TABLES else library()[name].merge, query.name
        for name in query.gathered:
            assert library()[name].merge, query.name
            assert library()[name].is_of_whole, query.name


def test_shards_share_neither_a_gpu_nor_a_process(
    tmp_path: Path, folders: dict[str, list[Path]]
) -> None:
    again = write_trace(
        tmp_path / "again",
        process="process_id pid host\n 5 11 a",
        device="process_id device_id device_uuid\n 5 0 GPU-d",
    )
    made, _, other, *_ = folders["many"]
    with cupti_etl.open(made, other, again) as trace:
        found = [(shard.paths, shard.portion) for shard in shards(trace, {})]
    assert [
        ([path.name for path in paths], portion and (portion.own, portion.elsewhere))
        for paths, portion in found
    ] == [
        (["made"], ((1, 2), (3,))),
        (["made"], ((3,), None)),
        (["other", "again"], ((5, 7, 8), ())),
    ]


def test_a_query_that_needs_all_processes_is_refused(opened: dict[str, Trace]) -> None:
    with pytest.raises(UsageError, match="several workers cannot compute kernel_se") as raised:
        opened["ranks"].engine("processes").query("kernel_sequences")
    assert all(query.name in raised.value.hint for query in distributed())


@pytest.mark.usefixtures("here")
def test_what_is_wrong_with_a_part_is_said(tmp_path: Path, folders: dict[str, list[Path]]) -> None:
    made, *_ = folders["many"]
    broken = write_trace(tmp_path / "broken", process="process_id pid\n 9 9")
    with cupti_etl.open(made, broken) as trace:
        (broken / "kernel" / "part-000000.parquet").write_bytes(b"PAR1 is all there is PAR1")
        with pytest.raises(TraceError) as alone:
            trace.query("kernel_summary").arrow()
        with pytest.raises(TraceError) as raised:
            trace.engine("processes").query("kernel_summary")
    assert "broken/kernel/part-000000.parquet" in raised.value.message
    assert (raised.value.message, raised.value.hint) == (alone.value.message, alone.value.hint)


def test_there_is_no_such_engine(opened: dict[str, Trace]) -> None:
    with pytest.raises(UsageError, match="no engine 'dask'"):
        opened["ranks"].engine("dask").query("gpu_busy")


def test_an_engine_is_no_parameter(opened: dict[str, Trace]) -> None:
    """Parameters may come from others, as over HTTP: they start no workers."""
    with pytest.raises(UsageError, match="no parameter 'engine'"):
        opened["ranks"].query("gpu_busy", **{"engine": "ray"})


@pytest.mark.slow
def test_processes_answer_on_the_command_line(folders: dict[str, list[Path]]) -> None:
    words = ["query", "kernel_summary", *map(str, folders["ranks"]), "--format", "csv"]
    one = CliRunner().invoke(cli, words)
    many = CliRunner().invoke(cli, [*words, "--engine", "processes"])
    assert many.exit_code == 0, many.output
    assert "median_ns, p95_ns: estimated, within 1 % of the exact value" in many.stderr
    names = [line.split(",")[0] for line in one.stdout.splitlines()]
    assert [line.split(",")[0] for line in many.stdout.splitlines()] == names


def test_workers_that_are_killed(tmp_path: Path) -> None:
    tasks = [Square(number, tmp_path, number % 3) for number in range(6)]
    found = sorted(Processes(2).run(dying.square, tasks), key=lambda done: done.place)
    assert [done.result for done in found] == [0, 1, 4, 9, 16, 25]
    assert [done.attempts for done in found] == [1, 2, 3, 1, 2, 3]


def test_a_task_of_which_every_worker_dies(tmp_path: Path) -> None:
    tasks = [Square(1, tmp_path), Square(2, tmp_path, ATTEMPTS), Square(3, tmp_path)]
    with pytest.raises(EngineError) as raised:
        list(Processes(1).run(dying.square, tasks))
    assert raised.value.message == "number 2: its worker died 3 times, the last time of SIGKILL"
    assert "memory" in raised.value.hint


def test_errors_of_workers(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="1 cannot be read") as raised:
        list(Processes(1).run(dying.refused, [Square(1, tmp_path)]))
    assert raised.value.hint == "move it away"
    with pytest.raises(EngineError, match="number 1: ZeroDivisionError") as failed:
        list(Processes(1).run(dying.wrong, [Square(1, tmp_path)]))
    assert any("dying.py" in note for note in failed.value.__notes__)


def test_a_worker_of_another_version(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"has cupti-etl .*, this is 0\.0\.1"):
        result_of(Call(dying.square, Square(1, tmp_path), "0.0.1")())


@pytest.mark.slow
def test_an_answer_says_that_a_worker_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribute, "partial", dying.partial)
    with cupti_etl.open(write_trace(tmp_path / "run", **MADE)) as trace:
        found = trace.engine("processes").query("gpu_totals")
        expected = trace.query("gpu_totals").arrow()
    assert differences(expected, found.arrow(), ()) == []
    assert len(found.notes) >= 1
    assert "as a worker died; nothing is missing." in found.notes[0]
