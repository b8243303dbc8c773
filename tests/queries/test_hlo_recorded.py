"""What JAX did on an H200 (tests/data/jax_h200), by the queries and once more in plain Python."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.recorded import recorded_rows, recorded_trace

import cupti_etl
from cupti_etl.analysis.findings import find
from cupti_etl.api import Trace

Sums = dict[tuple[str | None, ...], list[int]]
NAMES = ["jax_h200/command_buffers", "jax_h200/launches"]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def opened(tmp_path: Path, name: str) -> Iterator[Trace]:
    with cupti_etl.open(recorded_trace(tmp_path / "run", name)) as trace:
        yield trace


class Threads:
    """The ranges that are open on each thread, from one moment to the next."""

    def __init__(self, name: str) -> None:
        self.moments = sorted(
            [
                (row["timestamp_ns"], row["event"] == "start", row["marker_id"], row)
                for row in recorded_rows(name, "marker")
            ],
            key=lambda moment: moment[:3],
        )

    def around(self, calls: dict[int, dict[str, Any]]) -> dict[int, list[str]]:
        """Names of the open ranges of XLA, outermost first, by the correlation ids of calls."""
        found, stacks, at = {}, defaultdict(dict), 0
        for call in sorted(calls.values(), key=lambda call: call["start_ns"]):
            while at < len(self.moments) and self.moments[at][0] <= call["start_ns"]:
                _, begins, marker, row = self.moments[at]
                if begins:
                    stacks[row["thread_id"]][marker] = row["name"]
                else:
                    for stack in stacks.values():
                        stack.pop(marker, None)
                at += 1
            found[call["correlation_id"]] = list(stacks[call["thread_id"]].values())
        return found


def said(name: str, key: str) -> str | None:
    found = re.search(rf"[#,]{key}=([^,#]*)", name)
    return found[1] if found else None


def counted(name: str) -> Sums:
    """Kernels and GPU time by program, operation and whether a program of JAX's asked for it."""
    calls = {row["correlation_id"]: row for row in recorded_rows(name, "api_call")}
    around = Threads(name).around(calls)
    known: dict[str | None, set[str]] = defaultdict(set)
    for row in recorded_rows(name, "marker"):
        if op := said(row["name"] or "", "hlo_op"):
            known[op.replace(".", "_").replace("-", "_")].add(op)
    sums: Sums = defaultdict(lambda: [0, 0])
    for row in recorded_rows(name, "kernel"):
        open_now = around[row["correlation_id"]]
        modules = [each for each in open_now if each.startswith("XlaModule:")]
        thunks = [each for each in open_now if each.startswith("Thunk:")]
        op = said(thunks[-1], "hlo_op") if thunks else None
        if row["graph_id"] is not None:
            assert op == "command_buffer_1"
            (op,) = known[row["name"]]
        program = said(modules[0], "program_id") if modules else None
        module = said(modules[0], "hlo_module") if modules else None
        total = sums[module, program, op]
        total[0] += 1
        total[1] += row["end_ns"] - row["start_ns"]
    return sums


def test_kernels_are_of_the_operations_that_plain_python_finds(opened: Trace, name: str) -> None:
    text = """
        SELECT hlo_module, program_id::VARCHAR, hlo_op, count(*) AS kernels,
               sum(end_ns - start_ns)::BIGINT AS gpu_ns
        FROM _hlo_work WHERE kind = 'kernel' GROUP BY ALL
    """
    found = {tuple(row.values())[:3]: list(row.values())[3:] for row in opened.sql(text)}
    assert found == counted(name)
    assert sum(kernels for kernels, _ in found.values()) == len(recorded_rows(name, "kernel"))


def test_both_ways_to_launch_have_the_same_operations(opened: Trace, name: str) -> None:
    text = """
        SELECT hlo_op, framework_op, pass, source, executions, kernels FROM hlo_summary
        WHERE hlo_module = 'jit_train_step' AND kernels > 0 ORDER BY hlo_op
    """
    dot = "jit(train_step)/jvp()/dot_general"
    back = "jit(train_step)/transpose(jvp())/dot_general"
    step = "jit(train_step)"
    assert [list(row.values()) for row in opened.sql(text)] == [
        [op, of, way, "name" if name == NAMES[0] else "range", 10, 10]
        for op, of, way in (
            ("fusion.24", None, None),
            ("gemm_fusion_dot", step, None),
            ("gemm_fusion_dot.1", step, None),
            ("gemm_fusion_dot.2", dot, "forward"),
            ("gemm_fusion_dot.3", dot, "forward"),
            ("gemm_fusion_dot.4", back, "backward"),
            ("loop_add_fusion", step, None),
            ("loop_multiply_fusion", "jit(train_step)/jvp()", "forward"),
        )
    ]


@pytest.mark.slow
def test_the_autotuner_is_neither_the_program_nor_a_step(opened: Trace) -> None:
    rows = opened.sql(
        "SELECT name, phase, count(*) AS n FROM _hlo_work WHERE kind = 'kernel' GROUP BY ALL"
    )
    phases = defaultdict(dict)
    for row in rows:
        phases[row["phase"]][row["name"]] = row["n"]
    assert set(phases) == {"program", "autotuning"}
    tried = " ".join(phases["autotuning"])
    for tool in ("RedzoneAllocatorKernel", "DelayKernel", "xla_fp_comparison", "RepeatBuffer"):
        assert tool in tried
        assert tool not in " ".join(phases["program"])
    # 10 steps of 8 kernels, an evaluation of 6, and the five before them.
    assert sum(phases["program"].values()) == 91
    steps = [row["name"] for row in opened.query("step")]
    assert steps == ["jit_train_step"] * 10
    (whole,) = (each for each in find(opened) if each.source == "finding_xla_autotuning")
    assert not whole.is_left_out
    # It was at it without a pause.
    (tuning,) = opened.sql(
        "SELECT arg_max(end_ns, start_ns) - min(start_ns) AS ns FROM _hlo_work"
        " WHERE phase = 'autotuning'"
    )
    assert whole.saved_ns == tuning["ns"]
    modules = opened.sql(
        "SELECT hlo_module FROM _hlo_work WHERE phase = 'autotuning' AND hlo_module IS NOT NULL"
        " GROUP BY hlo_module ORDER BY sum(end_ns - start_ns) DESC LIMIT 3"
    )
    assert f"above all for {', '.join(row['hlo_module'] for row in modules)}" in whole.text
    with opened.scope(steps="steady") as part:
        last = find(part)[-1]
        assert (last.source, last.saved_ns, last.is_left_out) == (
            whole.source,
            whole.saved_ns,
            True,
        )
        assert last.text == f"{whole.text} (of the whole trace; this part leaves it out)"
        assert {row["phase"] for row in part.query("hlo_summary")} == {"program"}
