"""What a type checker is told of the answers: test_typing.py has mypy read it, nobody runs it."""

from collections.abc import Iterator
from typing import Any, assert_type

import altair
import pandas
import polars
import pyarrow

import cupti_etl
from cupti_etl.api import Result, Trace
from cupti_etl.queries.names import QueryName


def answers(trace: Trace) -> None:
    """As docs/howto/open-from-python.md has it."""
    result = trace.query("kernel_summary")
    assert_type(result, Result)
    assert_type(trace.sql("FROM kernel WHERE end_ns > $at", at=1), Result)
    assert_type(trace.queries.gap_attribution(min_ns=100_000), Result)
    assert_type(result.arrow(), pyarrow.Table)
    assert_type(result.reader(), pyarrow.RecordBatchReader)
    assert_type(result.df(), pandas.DataFrame)
    assert_type(result.pl(), polars.DataFrame)
    assert_type(result.plot(), altair.Chart)
    assert_type(iter(result), Iterator[dict[str, Any]])
    assert_type(result.count(), int)
    assert_type(result.show(), None)


def traces() -> None:
    """Traces and parts of them."""
    with cupti_etl.open("run42", "run43") as trace:
        assert_type(trace, Trace)
    with trace.scope(steps="steady", gpu=[0, 1]) as part:
        assert_type(part, Trace)
    assert_type(part.whole, Trace)
    assert_type(list(trace.queries), list[str])


def names() -> None:
    """The names of queries, for editors; others, such as former ones, are taken as text."""
    name: QueryName = "kernel_summary"
    assert_type(cupti_etl.open("run42").query(name), Result)
    assert_type(cupti_etl.open("run42").query(str(name)), Result)


def captures() -> None:
    """A program that captures itself."""
    with cupti_etl.capture("run42") as run:
        assert_type(run, cupti_etl.Capture)
    assert_type(run.trace, Trace)
    assert_type(run.ranges(), Result)
    assert_type(run.memory("forward"), Result)
    with cupti_etl.range_metrics(["memory"], "run43", filter="gemm", limit=3) as measured:
        assert_type(measured, cupti_etl.Capture)


@cupti_etl.profile
def plainly(number: int) -> str:
    """Keeps its type."""
    return str(number)


@cupti_etl.profile("run42", python_stacks=True)
def with_options(number: int) -> str:
    """Keeps its type."""
    return str(number)


@cupti_etl.range("forward")
def named(number: int) -> str:
    """Keeps its type."""
    return str(number)


@cupti_etl.step
def stepped(number: int) -> str:
    """Keeps its type."""
    with cupti_etl.step(epoch=number):
        return str(number)


def decorated() -> None:
    """Functions that are captured, or named, are what they were."""
    assert_type(plainly(1), str)
    assert_type(with_options(1), str)
    assert_type(named(1), str)
    assert_type(stepped(1), str)
