"""Something is interrupted while it is made: it is told, and costs nothing that was kept."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.trace import assert_rows, write_manifest, write_trace

import cupti_etl
from cupti_etl.errors import EtlError, MemoryLimitError, UsageError
from cupti_etl.queries import derived, keeping, materialize
from cupti_etl.queries.failure import translate
from cupti_etl.queries.operators import native

KERNELS = """
    process_id device_id context_id stream_id start_ns end_ns name correlation_id
    1          0         1          7         10       20     a    1
    1          0         1          7         30       40     b    2
"""
ENDED = "capture_id start_ns end_ns\n1 0 100"
BUSY = "SELECT start_ns, end_ns FROM _busy_interval WHERE work = 'any' ORDER BY start_ns"
INTERRUPTED = "INTERRUPT Error: Interrupted!"


@pytest.fixture(autouse=True)
def _of_small_traces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "KEPT_BYTES", 0)
    monkeypatch.setattr(materialize, "LARGE_BYTES", 0)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A trace that has ended."""
    path = write_trace(tmp_path / "run", kernel=KERNELS, capture=ENDED)
    write_manifest(path)
    return path


def ask(run: Path) -> None:
    with cupti_etl.open(run) as opened:
        assert_rows(opened.sql(BUSY), "start_ns end_ns\n 10 20\n 30 40")


def kept(run: Path) -> dict[str, int]:
    """The files that were computed, and which they are: one written anew is another."""
    files = (run / "derived").rglob("*.parquet")
    return {str(file.relative_to(run)): file.stat().st_ino for file in files}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (duckdb.InterruptException(INTERRUPTED), UsageError),
        (duckdb.OutOfMemoryException("Out of Memory Error: none is left"), MemoryLimitError),
    ],
)
def test_what_was_kept_stays_when_looking_at_it_is_interrupted(
    run: Path, monkeypatch: pytest.MonkeyPatch, error: duckdb.Error, told: type[EtlError]
) -> None:
    def view(*_: object) -> None:
        raise error

    ask(run)
    before = kept(run)
    assert before
    with monkeypatch.context() as patch:
        patch.setattr(derived, "_view", view)
        with pytest.raises(told):
            ask(run)
    assert kept(run) == before
    ask(run)
    assert kept(run) == before


def test_what_reads_a_stream_is_interrupted_and_not_begun_again(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, begun = native.feed, []

    def interrupted_once(*args: Any) -> Any:
        begun.append(args)
        if len(begun) == 1:
            raise OSError(INTERRUPTED)  # as Arrow has it
        return feed(*args)

    monkeypatch.setattr(native, "feed", interrupted_once)
    with pytest.raises(UsageError, match="^INTERRUPT Error: Interrupted!$"):
        ask(run)
    assert len(begun) == 1
    assert not list((run / "derived").glob("busy-*"))
    ask(run)
    assert list((run / "derived").glob("busy-*"))


@pytest.mark.parametrize("error", [duckdb.InterruptException, OSError])
def test_an_interrupt_is_no_damage_of_the_parts_that_its_statement_names(
    run: Path, error: type[Exception]
) -> None:
    begun: list[str] = []
    # DuckDB tells where in a statement it was.
    text = f"{INTERRUPTED}\n\nLINE 1: FROM read_parquet('{run}/kernel/part-*.parquet')"

    def fail() -> None:
        begun.append(text)
        raise error(text)

    told = translate(error(text), [run])
    assert isinstance(told, UsageError)
    assert told.message == INTERRUPTED
    with cupti_etl.open(run) as opened, pytest.raises(UsageError):
        opened._connection.attempt(fail)
    assert len(begun) == 1


def test_nothing_is_told_when_the_last_two_end_at_once(run: Path) -> None:
    shown: list[str] = []
    with cupti_etl.open(run) as opened, ExitStack() as first, ExitStack() as second:

        def told(name: str) -> None:
            if is_ending and name == "_kernel_run":
                second.close()  # it ends while its name is told
            shown.append(name)

        is_ending = False
        opened.tell(told)
        telling = opened._connection.views._materialized._telling
        first.enter_context(telling("_busy_interval"))
        second.enter_context(telling("_kernel_run"))
        is_ending = True
        first.close()
    assert shown[:2] == ["_busy_interval", "_kernel_run"]
    assert shown[-1] == ""
