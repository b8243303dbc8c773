"""What tools refuse, how they go on, and that they stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents.conftest import Ask
from support.trace import write_trace

from cupti_etl.errors import UsageError

pytest.importorskip("starlette", reason="the extra mcp is not installed")


@pytest.mark.parametrize(
    ("tool", "words", "says", "hint"),
    [
        ("run_query", {"name": "kernel_sumary"}, "no query or table", "kernel_summary"),
        ("describe", {"name": "kernle"}, "no query or table", "kernel"),
        ("run_query", {"name": "kernel", "scope": {"step": 3}}, "no scope 'step'", "steps"),
        ("run_query", {"name": "gpu_gaps", "parameters": {"min": 3}}, "no parameter", "min_ns"),
        ("run_query", {"name": "kernel", "limit": 0}, "limit is 0", "1 to 200"),
        ("run_query", {"name": "kernel", "offset": -1}, "offset is -1", "first rows"),
        ("run_query", {"name": "kernel_summary", "sort": "speed"}, "speed", ""),
        ("list_queries", {"about": "the weather"}, "no query is about", "without about"),
        ("report", {"title": "weather"}, "no section", "Copies"),
        ("compare", {}, "there are 1 here", "BEFORE AFTER"),
        ("run_sql", {"statement": "COPY kernel TO 'x.csv'"}, "COPY", "one SELECT"),
        ("run_sql", {"statement": "SELECT * FROM read_text('/etc/passwd')"}, "read_text", ""),
        ("run_sql", {"statement": "FROM '/etc/passwd'"}, "passwd", ""),
        ("run_sql", {"statement": "SELECT 1; SELECT 2"}, "2 statements", "one SELECT"),
        ("run_sql", {"statement": "SELECT " + "1," * 40_000 + "1"}, "64 KiB", "shorten"),
    ],
)
def test_what_is_wrong_is_said(
    tools: Ask, tool: str, words: dict[str, Any], says: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        getattr(tools("demo"), tool)(**words)
    assert says in refused.value.message
    assert hint in refused.value.hint


def test_all_rows_are_reached_by_going_on(tools: Ask) -> None:
    """Each answer says where the next begins, also where it is cut because it is too long."""
    asked, rows, offset = tools("demo"), [], 0
    while True:
        said = asked.run_query("kernel_summary", limit=200, offset=offset)
        rows += [line for line in said.splitlines() if line.startswith("| ")][2:]
        assert len(said) < 10_000
        if "more of 165 rows" not in said:
            break
        offset = int(said.partition("offset=")[2].partition(".")[0])
    assert len(rows) == len(set(rows)) == 165
    assert "There are 165 rows, and none from 165 on." in asked.run_query(
        "kernel_summary", offset=165
    )


def test_an_answer_that_takes_too_long_is_given_up(folder: Callable[[str], Path]) -> None:
    from cupti_etl.mcp.tools import Tools

    tools = Tools([folder("demo")], time_limit_s=0.01)
    try:
        with pytest.raises(UsageError, match=r"longer than 0\.01 s"):
            tools.run_sql("SELECT count(*) FROM range(1000000) a, range(1000000) b")
    finally:
        tools.close()


@pytest.mark.slow
def test_losses_are_said_in_every_answer(tmp_path: Path) -> None:
    from cupti_etl.mcp.tools import Tools

    path = write_trace(
        tmp_path / "lossy",
        kernel="start_ns end_ns name process_id device_id\n0 10 a 1 0",
        loss="process_id cause table_name records is_stored\n1 ring_full kernel 7 false",
    )
    tools = Tools([path])
    try:
        for said in (
            tools.run_query("kernel_summary"),
            tools.run_sql("SELECT count(*) AS calls FROM kernel"),
            tools.findings(),
        ):
            assert "the capture has losses (ring_full 7), so numbers may be too small" in said
    finally:
        tools.close()


def test_a_long_name_does_not_push_out_the_rest(tmp_path: Path) -> None:
    from cupti_etl.mcp.tools import Tools

    long = "x" * 65536
    path = write_trace(
        tmp_path / "long",
        kernel=f"start_ns end_ns name\n0 10 {long}\n20 50 'a|b`<i>'",
    )
    tools = Tools([path])
    try:
        said = tools.run_query("kernel_summary")
        assert len(said) < 10_000
        assert "a\\|b" in said
    finally:
        tools.close()
