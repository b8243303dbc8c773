"""Several captures as one trace: rows together, facts once, one capture never twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.trace import add_part, assert_rows, write_trace

import cupti_etl
from cupti_etl.errors import TraceError, UsageError
from cupti_etl.render.duckdb_file import export_duckdb

KERNELS = "process_id device_id start_ns end_ns name\n {p} 0 0 10 a\n {p} 0 20 50 {name}"


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """Two captures of different hosts, of one program."""
    return [
        write_trace(
            tmp_path / f"node{at}",
            capture=f"capture_id start_ns\n {at} {at}000",
            process=f"process_id host\n {at} node{at}",
            device=f"process_id device_id device_uuid\n {at} 0 GPU-{at}",
            kernel=KERNELS.format(p=at, name=name),
            kernel_name=f"mangled short\n a a\n {name} {name}",
        )
        for at, name in ((1, "b"), (2, "c"))
    ]


def in_file(folder: Path) -> Path:
    out = folder.with_suffix(".duckdb")
    with cupti_etl.open(folder) as trace:
        export_duckdb(trace, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("form", ["folders", "files", "both", "list", "pattern"])
def test_rows_of_all_are_there(nodes: list[Path], form: str) -> None:
    one, two = nodes
    given = {
        "folders": lambda: (one, two),
        "files": lambda: (in_file(one), in_file(two)),
        "both": lambda: (one, in_file(two)),
        "list": lambda: ([str(two), one],),
        "pattern": lambda: (str(one.parent / "node*"),),
    }[form]()
    with cupti_etl.open(*given) as trace:
        assert_rows(
            trace.sql("SELECT process_id, name FROM kernel ORDER BY ALL"),
            "process_id name\n 1 a\n 1 b\n 2 a\n 2 c",
        )
        assert_rows(
            trace.sql("SELECT device_uuid, activities FROM gpu_busy ORDER BY 1"),
            "device_uuid activities\n GPU-1 2\n GPU-2 2",
        )
        assert trace.sql("FROM capture").count() == 2
        assert len(trace.paths) == 2
        # A name that both know does not double the kernels that have it.
        joined = "SELECT short FROM kernel JOIN kernel_name ON mangled = name"
        assert trace.sql(joined).count() == 4


@pytest.fixture
def taken_over(tmp_path: Path) -> list[Path]:
    """A collector was killed, and another went on with the same process."""
    facts = {
        "device": "process_id device_id name\n 1 0 H200",
        "context": "process_id context_id device_id\n 1 1 0",
        "stream": "process_id context_id stream_id\n 1 1 7\n 1 1 13",
        "kernel_name": 'mangled short\n a a\n "b" b',
    }
    first = write_trace(
        tmp_path / "first",
        capture="capture_id start_ns\n 1 1000",
        process="process_id pid start_ns end_ns state emitted stored\n 1 9 5 80 lost 3 2",
        kernel="process_id device_id start_ns name\n 1 0 10 a\n 1 0 20 b",
        **facts,
    )
    second = write_trace(
        tmp_path / "second",
        capture="capture_id start_ns\n 2 2000",
        process="process_id pid start_ns end_ns state emitted stored\n 1 9 5 99 finished 6 4\n"
        " 2 8 5 99 finished 0 0",
        kernel="process_id device_id start_ns name\n 1 0 30 a\n 1 0 40 b\n 1 0 50 b\n 1 0 60 b",
        **facts,
    )
    return [first, second]


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("files", [False, True])
def test_a_process_in_two_captures_is_one_row(
    taken_over: list[Path], order: tuple[int, int], files: bool
) -> None:
    given = [in_file(taken_over[at]) if files else taken_over[at] for at in order]
    with cupti_etl.open(*given) as trace:
        # That of the later capture, whatever the order; rows were stored by both.
        assert_rows(
            trace.sql("FROM process ORDER BY process_id"),
            "process_id state end_ns emitted stored\n 1 finished 99 6 6\n 2 finished 99 0 0",
        )
        for fact in ("device", "context", "kernel_name"):
            assert trace.sql(f"FROM {fact}").count() == (2 if fact == "kernel_name" else 1)
        assert trace.sql("FROM stream").count() == 2
        for join in (
            "JOIN process USING (process_id)",
            "JOIN device USING (process_id, device_id)",
            "JOIN kernel_name ON mangled = kernel.name",
        ):
            assert trace.sql(f"FROM kernel {join}").count() == 6
        assert trace.sql("FROM kernel_named").count() == 6
        verdict = trace.sql("SELECT subject FROM capture_health WHERE section = 'verdict'")
        assert "unaccounted" not in next(iter(verdict))["subject"]


def test_one_capture_shows_what_it_has(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run", device="process_id device_id\n 1 0\n 1 0")
    with cupti_etl.open(path) as trace:
        assert trace.sql("FROM device").count() == 2


@pytest.mark.slow
def test_the_same_capture_twice_is_refused(nodes: list[Path]) -> None:
    file = in_file(nodes[0])
    with pytest.raises(UsageError, match=r"node1.* and .*node1.* hold the same capture") as why:
        cupti_etl.open(nodes[0], nodes[1], file)
    assert "give one of them" in why.value.hint
    for twice in (nodes[0], file):
        with pytest.raises(UsageError, match="is given twice"):
            cupti_etl.open(twice, str(twice))


def test_patterns_that_match_nothing_and_no_path_at_all(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"no trace matches .*run-\*"):
        cupti_etl.open(tmp_path / "run-*")
    for nothing in ((), ([],)):
        with pytest.raises(UsageError, match="which trace"):
            cupti_etl.open(*nothing)
    with pytest.raises(TraceError, match="there is no trace nowhere"):
        cupti_etl.open(write_trace(tmp_path / "run"), "nowhere")


@pytest.mark.slow
def test_a_folder_that_grows_among_several(
    nodes: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with cupti_etl.open(nodes[0], in_file(nodes[1])) as trace:
        add_part(nodes[0], "kernel", "process_id name\n 1 z")
        assert trace.sql("FROM kernel").count() == 5
        monkeypatch.chdir("/")
        assert trace.sql("FROM process").count() == 2


@pytest.mark.slow
def test_several_in_one_file(nodes: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "both.duckdb"
    with cupti_etl.open(*nodes) as trace:
        export_duckdb(trace, out)
    with cupti_etl.open(out) as trace:
        assert trace.sql("FROM kernel").count() == 4
        assert trace.sql("FROM capture").count() == 2
    with pytest.raises(UsageError, match="hold the same capture"):
        cupti_etl.open(out, nodes[1])
