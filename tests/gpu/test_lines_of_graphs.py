"""What the acceptance says of the lines of graphs, and that it sees wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.trace import write_tables

pytestmark = pytest.mark.slow

STACK = [["noting", "/app/run.py", 9], ["step", "/app/run.py", 20]]
TABLES: dict[str, str] = {
    "process": "process_id state cupti_version detail\n 1 finished 130000 -",
    "kernel": """
        process_id device_id context_id stream_id correlation_id graph_node_id start_ns end_ns name
        1          0         1          7         5              21            500      530    a
        1          0         1          7         6              21            600      630    a
        1          0         1          7         7              21            700      730    a
    """,
    "launch_stack": """
        process_id correlation_id stack_id state
        1          5              73       whole
        1          6              73       whole
        1          7              73       whole
    """,
    "graph_node": """
        process_id graph_node_id source_graph_node_id kind   at_ns thread_id stack_id state
        1          11            -                    kernel 12    5         71       whole
        1          12            -                    kernel 13    5         72       whole
        1          21            11                   kernel 14    5         -        -
        1          21            12                   kernel 560   5         -        -
    """,
    "python_stack": """
        process_id stack_id depth function file        line first_line
        1          71       0     run      /t/torch.py 4    1
        1          71       1     noting   /app/run.py 9    8
        1          71       2     step     /app/run.py 20   12
        1          72       0     noting   /app/run.py 9    8
        1          72       1     step     /app/run.py 20   12
        1          73       0     <module> /app/run.py 30   1
    """,
}


def test_stacks_that_were_logged(tmp_path: Path) -> None:
    from graphs import compare

    case = compare(write_tables(tmp_path / "run", **TABLES), {"stacks": [STACK]})
    assert case["wrong"] == []
    assert (case["kernels"], case["with_line_pct"], case["stacks"]) == (3, 100, 1)
    assert case["gpu_ns"] == case["gpu_ns_by_line"] == case["graph_gpu_ns"] == 90


@pytest.mark.parametrize(
    ("change", "log", "wrong"),
    [
        ({}, [[*STACK, ["main", "/app/run.py", 40]]], "1 of 1 stacks were not logged"),
        ({"graph_node": ""}, [], "kernels whose capture was not seen"),
        ({"kernel": ""}, [], "no kernel of a graph was recorded"),
    ],
)
def test_what_is_wrong_is_seen(
    tmp_path: Path, change: dict[str, str], log: list[Any], wrong: str
) -> None:
    from graphs import compare

    tables = {name: text for name, text in (TABLES | change).items() if text}
    assert wrong in compare(write_tables(tmp_path / "run", **tables), {"stacks": log})["wrong"]


def test_lines_after_an_update(tmp_path: Path) -> None:
    from graphs import updated

    stacks = """
        process_id stack_id depth function file        line first_line
        1          71       0     update   /app/run.py 9    1
        1          72       0     update   /app/run.py 10   1
    """
    folder = write_tables(tmp_path / "run", **TABLES | {"python_stack": stacks})
    assert updated(folder, {"lines": [9, 10], "status": 0})["wrong_lines"] == []
    assert updated(folder, {"lines": [9, 11], "status": 0})["wrong_lines"] == [
        "lines of the replays [9, 10, 10], not [9, 11, 11]"
    ]
    assert updated(folder, {"lines": [9, 10], "status": 1})["wrong_lines"] == [
        "cudaGraphExecUpdate: 1"
    ]
