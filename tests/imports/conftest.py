"""Files of other tools from a few readable lines, and what they become."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from support.trace import ONE_THREAD, words

import cupti_etl
from cupti_etl.api import Trace
from cupti_etl.imports.run import import_traces

Import = Callable[..., Trace]


@pytest.fixture
def imported(tmp_path: Path, without_trace_duckdb: None) -> Iterator[Import]:
    """Imports files, and opens the trace until the end of the test."""
    with ExitStack() as stack:

        def make(*files: Path, jobs: int = 2) -> Trace:
            import_traces(files, tmp_path / "trace", jobs)
            return stack.enter_context(cupti_etl.open(tmp_path / "trace", settings=ONE_THREAD))

        yield make


def event(
    cat: str, name: str, ts: float, dur: float, pid: object = 7, **args: Any
) -> dict[str, Any]:
    """One event of Kineto's; ``tid`` among the arguments goes where it belongs."""
    tid = args.pop("tid", 7)
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def kineto(path: Path, *events: dict[str, Any], **members: Any) -> Path:
    """A trace of PyTorch's; members named ``last_...`` stand behind the events."""
    first = {name: value for name, value in members.items() if not name.startswith("last_")}
    last = {name[5:]: value for name, value in members.items() if name.startswith("last_")}
    path.write_text(json.dumps({**first, "traceEvents": list(events), **last}))
    return path


def nsys(path: Path, version: str | None = "3.25.0", **tables: str) -> Path:
    """An export of nsys: the columns of each table in the first line, ``-`` is NULL.

    Integers that are written ``11:22`` are a ``globalTid``: process 11, thread 22.
    """
    with closing(sqlite3.connect(path)) as con, con:
        if version is not None:
            tables = {"META_DATA_EXPORT": f"name value\nEXPORT_SCHEMA_VERSION {version}", **tables}
        for table, text in tables.items():
            names, *rows = words(text)
            con.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            marks = ", ".join("?" * len(names))
            values = [[_cell(cell) for cell in row] for row in rows]
            con.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
    return path


def _cell(cell: str) -> int | float | str | None:
    if cell == "-":
        return None
    pid, colon, tid = cell.partition(":")
    if colon and pid.isdecimal() and tid.isdecimal():
        return (1 << 48) | int(pid) << 24 | int(tid)
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell
