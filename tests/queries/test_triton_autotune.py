"""Executions that tried out configurations of a Triton kernel, told from the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.recorded import recorded_rows, recorded_trace
from support.trace import assert_rows

import cupti_etl
from cupti_etl.analysis.findings import find

MakeTrace = Callable[..., Any]
CLEAR = 256 << 20


def runs(*, clears: int, threads: tuple[int, ...] = (128, 256)) -> dict[str, str]:
    """Two configurations tried six times after clearing, then four steps with the better one."""
    kernels = ["process_id device_id stream_id correlation_id start_ns end_ns name block_x"]
    sets = ["process_id device_id stream_id correlation_id start_ns end_ns bytes"]
    at, call = 1000, 1
    for block in threads:
        for turn in range(6):
            if turn < clears:
                sets.append(f"1 0 7 {call} {at} {at + 20} {CLEAR}")
            kernels.append(f"1 0 7 {call + 1} {at + 30} {at + 130} softmax {block}")
            at, call = at + 200, call + 2
    for _ in range(4):
        kernels.append(f"1 0 7 {call} {at} {at + 90} softmax 256")
        kernels.append(f"1 0 7 {call + 1} {at + 100} {at + 150} other 64")
        at, call = at + 200, call + 2
    return {"kernel": "\n".join(kernels), "memset": "\n".join(sets)}


def test_tries_are_told_by_the_cache_that_is_cleared(trace: MakeTrace) -> None:
    assert_rows(
        trace(**runs(clears=6)).query("triton_autotune"),
        """
        short   source  confidence configurations tries tuning_ns clearing_ns span_ns other_runs other_ns
        softmax pattern 0.8        2              12    1440      240         2300    4          360
        """,  # noqa: E501
    )


@pytest.mark.slow
def test_it_is_a_finding_if_it_takes_a_hundredth_of_the_time(trace: MakeTrace) -> None:
    def found(**more: str) -> list[int]:
        tables = runs(clears=6)
        tables["kernel"] += more.get("kernel", "")
        findings = find(trace(**tables))
        return [each.saved_ns for each in findings if each.source == "finding_autotuning"]

    assert found() == [2300]
    assert found(kernel="\n1 0 7 99 230900 231000 other 64") == [2300]
    assert found(kernel="\n1 0 7 99 231100 231200 other 64") == []


@pytest.mark.parametrize("changes", [{"clears": 4}, {"clears": 6, "threads": (256,)}])
def test_what_looks_otherwise_is_no_tuning(trace: MakeTrace, changes: dict[str, Any]) -> None:
    assert list(trace(**runs(**changes)).query("triton_autotune")) == []


def test_stacks_decide_where_there_are_some(trace: MakeTrace) -> None:
    stacks = ["process_id correlation_id stack_id state"]
    stacks += [f"1 {call} {71 if call < 13 else 72} whole" for call in range(2, 33)]
    frames = """
        process_id stack_id depth function        file                              line
        1          71       0     Autotuner._bench /venv/triton/runtime/autotuner.py 164
        1          71       1     main            /app/train.py                     3
        1          72       0     Autotuner.run   /venv/triton/runtime/autotuner.py 230
        1          72       1     main            /app/train.py                     3
    """
    rows = trace(**runs(clears=0), launch_stack="\n".join(stacks), python_stack=frames)
    assert_rows(
        rows.query("triton_autotune"),
        """
        short   source confidence configurations tries tuning_ns clearing_ns other_runs other_ns
        softmax python 1          1              6     600       0           10         960
        """,
    )


def test_a_process_without_stacks_is_told_by_the_pattern(trace: MakeTrace) -> None:
    def of_both(table: str) -> str:
        header, *rows = table.splitlines()
        return "\n".join([header, *rows, *(f"2{row[1:]}" for row in rows)])

    stacks = ["process_id correlation_id stack_id state"]
    stacks += [f"1 {call} {71 if call < 13 else 72} whole" for call in range(1, 33)]
    frames = """
        process_id stack_id depth function        file                              line
        1          71       0     Autotuner._bench /venv/triton/runtime/autotuner.py 164
        1          72       0     main            /app/train.py                     3
    """
    tables = {name: of_both(table) for name, table in runs(clears=6).items()}
    opened = trace(**tables, launch_stack="\n".join(stacks), python_stack=frames)
    assert_rows(
        opened.sql("FROM triton_autotune ORDER BY process_id"),
        """
        process_id source  configurations tries other_runs
        1          python  1              6     10
        2          pattern 2              12    4
        """,
    )


def test_what_a_try_wrote_over_is_copied_back_between(trace: MakeTrace) -> None:
    tables = runs(clears=6)
    copies = ["process_id device_id stream_id correlation_id start_ns end_ns copy_kind bytes"]
    copies += [f"1 0 7 {900 + n} {at + 22} {at + 28} DtoD 64" for n, at in enumerate(
        range(1000, 3400, 200))]  # fmt: skip
    assert_rows(
        trace(**tables, memcpy="\n".join(copies)).query("triton_autotune"),
        """
        short   source  configurations tries tuning_ns clearing_ns other_runs
        softmax pattern 2              12    1512      312         4
        """,
    )


def in_plain_python() -> dict[str, list[int]]:
    """Of the recorded trace, tries and other runs of each kernel by the stacks alone."""
    frames: dict[int, list[str]] = {}
    for row in recorded_rows("triton_h200", "python_stack"):
        frames.setdefault(row["stack_id"], []).append(f"{row['file']}:{row['function']}")
    tries = {
        stack
        for stack, names in frames.items()
        if any(name.endswith(("benchmark_gpu", "do_bench", "Autotuner._bench")) for name in names)
        or (
            any(name.endswith("CachingAutotuner.run") for name in names)
            and any(name.endswith("benchmark_codegened_module") for name in names)
        )
    }
    stack_of = {
        row["correlation_id"]: row["stack_id"]
        for row in recorded_rows("triton_h200", "launch_stack")
    }
    short = {row["mangled"]: row["short"] for row in recorded_rows("triton_h200", "kernel_name")}
    found: dict[str, list[int]] = {}
    for row in recorded_rows("triton_h200", "kernel"):
        is_try = stack_of[row["correlation_id"]] in tries
        found.setdefault(short[row["name"]], [0, 0])[not is_try] += 1
    return found


TUNED = """
    short                                   configurations tries other_runs
    add                                     6              7218  30
    triton_mm                               19             2014  0
    triton_                                 10             1168  0
    triton_poi_fused_add_relu_1             7              742   5
"""


@pytest.mark.slow
def test_both_tuners_are_found_in_what_an_h200_ran(tmp_path: Path) -> None:
    with cupti_etl.open(recorded_trace(tmp_path / "run", "triton_h200")) as opened:
        rows = opened.query("triton_autotune")
        assert_rows(rows, TUNED + "nvjet_sm90_hsh_128x64_64x8_1x2_h_bz_NNT 1 106 0")
        assert {row["source"] for row in rows} == {"python"}
        expected = in_plain_python()
        (finding,) = (each for each in find(opened) if each.source == "finding_autotuning")
        assert finding.saved_ns == sum(row["span_ns"] for row in rows)
        assert finding.text == (
            "GPU 0: Triton's autotuning tries configurations, of 5 kernels, above all for"
            " add, triton_, triton_poi_fused_add_relu_1"
        )
        for row in rows:
            assert [row["tries"], row["other_runs"]] == expected[row["short"]]


def test_without_stacks_the_pattern_finds_the_same(tmp_path: Path) -> None:
    without = ("launch_stack", "python_stack")
    with cupti_etl.open(recorded_trace(tmp_path / "run", "triton_h200", without=without)) as opened:
        rows = opened.query("triton_autotune")
        assert_rows(rows, TUNED)
        assert {row["source"] for row in rows} == {"pattern"}
