"""Steps of programs without ranges: a guess from kernels that says so."""

from __future__ import annotations

import pytest
from support.loops import CALL, KERNEL, launched, ranges
from support.trace import MakeTrace

from cupti_etl.analysis.diff import diff
from cupti_etl.analysis.findings import find
from cupti_etl.analysis.notes import notes
from cupti_etl.analysis.report import build
from cupti_etl.api import Trace
from cupti_etl.queries.catalog import library


def periodic(call: str, begin: int = 0) -> dict[str, str]:
    """Eight periods of four kernels; {n} in ``call`` is the number of the period."""
    rows = [
        f"1 0 {call.format(n=n)} {begin + n * 100 + at} {begin + n * 100 + at + 5} {name}"
        for n in range(8)
        for at, name in ((10, "begin"), (20, "k"), (30, "k"), (40, "k"))
    ]
    calls = {call.format(n=n): f"1 5 {call.format(n=n)} runtime f {n} {n + 1}" for n in range(8)}
    return {
        "kernel": "\n".join([KERNEL, *rows]),
        "api_call": "\n".join([CALL, *(row for id_, row in calls.items() if id_ != "-")]),
    }


@pytest.mark.slow
def test_a_guess_is_said_beside_the_steps(trace: MakeTrace) -> None:
    loop = [
        f"1 0 {n} {100 * n + at} {100 * n + at + 9} {name}"
        for n in range(8)
        for at, name in ((0, "a"), (20, "b"), (40, "c"))
    ]
    opened = trace(kernel="\n".join([KERNEL, *loop]))
    (note,) = notes(opened, library()["step_breakdown"], {}, is_empty=False)
    assert note.startswith("these steps are guessed from kernels that repeat (confidence 0.")
    marked = trace(marker=ranges(("", "step 1", 0, 50)), **launched([10, 20]))
    assert not list(notes(marked, library()["step_breakdown"], {}, is_empty=False))


def test_a_period_of_kernels_is_a_guess_with_a_confidence(trace: MakeTrace) -> None:
    # All is regular, and from the first to the last of what steps begin with lie 29 of 32 kernels.
    names = "mangled short\nbegin first"
    rows = list(trace(**periodic("{n}"), kernel_name=names).sql("FROM step ORDER BY step"))
    assert {(row["source"], row["name"]) for row in rows} == {("kernels", "first")}
    assert [row["confidence"] for row in rows] == pytest.approx([0.4 * 29 / 32] * 7)
    copies = "process_id device_id start_ns end_ns copy_kind\n" + "\n".join(
        f"1 0 {n * 100 + 50} {n * 100 + 51} DtoH\n1 0 {n * 100 + 52} {n * 100 + 53} DtoH"
        for n in range(8)
    )
    rows = list(trace(memcpy=copies, **periodic("{n}")).sql("FROM step ORDER BY step"))
    assert [row["confidence"] for row in rows] == pytest.approx([0.8 * 29 / 32] * 7)


def test_a_loop_after_a_long_start_has_steps_which_answers_are_about(trace: MakeTrace) -> None:
    tables = periodic("{n}", begin=10**9)
    tables["kernel"] += "\n1 0 99 0 5 load"
    whole = trace(device="process_id device_id device_uuid\n1 0 GPU-0", **tables)
    rows = list(whole.sql("FROM step ORDER BY step"))
    assert [row["start_ns"] for row in rows] == [10**9 + 100 * n + 10 for n in range(7)]
    assert [row["confidence"] for row in rows] == pytest.approx([0.4 * 29 / 33] * 7)
    assert whole.has_steady_state
    with whole.scope(steps="steady") as part:
        assert part.says == "all 7 steps, guessed from kernels that repeat"
        (row,) = part.query("busy_breakdown")
        assert row["span_ns"] < 1000


@pytest.mark.parametrize(("others", "verdict"), [(0, "grows"), (25, "cannot tell")])
def test_only_of_good_guesses_memory_grows(trace: MakeTrace, others: int, verdict: str) -> None:
    tables = periodic("{n}")
    tables["kernel"] += "".join(f"\n1 0 - {n - 50} {n - 49} other" for n in range(others))
    # The host asks for a period in each nanosecond.
    tables["memory"] = "\n".join(
        ["process_id device_id memory_kind operation timestamp_ns address bytes"]
        + [f"1 0 device allocation {n} {n} 64" for n in range(8)]
    )
    (row,) = trace(**tables).query("memory_leaks")
    assert (row["bytes"], row["verdict"]) == (512, verdict)


@pytest.mark.slow
def test_a_guess_that_leaves_out_half_of_the_kernels_is_not_what_answers_are_about(
    trace: MakeTrace,
) -> None:
    # A single pass through eight equal layers, with other work before them.
    tables = periodic("{n}")
    tables["kernel"] += "".join(f"\n1 0 - {n - 50} {n - 49} other" for n in range(0, 25))
    whole = trace(device="process_id device_id device_uuid\n1 0 GPU-0", **tables)
    rows = list(whole.sql("FROM step"))
    assert [row["confidence"] for row in rows] == pytest.approx([0.4 * 29 / 57] * 7)
    assert not whole.has_steady_state
    titles = [section.title for section in build(whole).sections]
    assert "Steps (guessed from kernels that repeat)" in titles


def test_runs_are_not_compared_by_a_guess_that_leaves_out_half_of_the_kernels(
    trace: MakeTrace,
) -> None:
    def run(ns: int) -> Trace:
        tables = periodic("{n}")
        others = (f"1 0 - {at} {at + ns + at % 3} other" for at in range(-2000, 0, 80))
        tables["kernel"] = "\n".join([tables["kernel"], *others])
        return trace(device="process_id device_id device_uuid\n1 0 GPU-0", **tables)

    found = diff(run(20), run(40))
    assert (found.verdict, found.why.partition(";")[0]) == (
        "regress",
        "no steps were found, or only poor guesses",
    )
    assert {row["subject"] for row in found.table.to_pylist()} == {"kernel"}
    (row,) = run(20).query("_run")
    assert (row["steps"], row["step_ns"], row["step_source"]) == (0, None, None)


@pytest.mark.slow
def test_layers_of_one_pass_or_of_one_graph_are_no_steps(trace: MakeTrace) -> None:
    assert trace(**periodic("7")).sql("FROM step").count() == 0
    frame = ranges(("python_function", "nn.Module: Model_0", 0, 9), ("-", "model.forward", 0, 9))
    one = trace(marker=frame, **periodic("{n}"))
    assert one.sql("FROM step").count() == 0
    frames = ranges(*(("-", f"model.forward({n})", 10 * n, 10 * n + 9) for n in range(8)))
    calls = periodic("{n}")
    calls["api_call"] = "\n".join(
        [CALL, *(f"1 5 {n} runtime f {10 * n + 1} {10 * n + 2}" for n in range(8))]
    )
    assert trace(marker=frames, **calls).sql("FROM step").count() == 7


@pytest.mark.slow
def test_a_guess_is_no_finding(trace: MakeTrace) -> None:
    def finds(opened: Trace) -> bool:
        return any(finding.query == "step_breakdown" for finding in find(opened))

    lengths = [100, 101, 99, 100, 900, 100, 102, 98, 100, 100, 101, 99]
    starts = [sum(lengths[:n]) for n in range(len(lengths))]
    kernels = [
        f"1 0 {at} {at} {at + 5} begin\n"
        + "\n".join(f"1 0 - {at + n} {at + n + 5} k" for n in (10, 20, 30))
        for at in starts
    ]
    calls = "\n".join([CALL, *(f"1 5 {at} runtime f {at} {at + 1}" for at in starts)])
    guessed = trace(kernel="\n".join([KERNEL, *kernels]), api_call=calls)
    assert guessed.sql("FROM step_breakdown WHERE is_outlier").count() == 1
    assert not finds(guessed)
    marked = trace(
        kernel="\n".join([KERNEL, *kernels]),
        api_call=calls,
        marker=ranges(*(("-", "step", at, at + 50) for at in starts)),
    )
    assert finds(marked)
