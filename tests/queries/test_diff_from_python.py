"""``cupti_etl.diff``: what ``cupti-etl diff`` says, as an object and as a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import etl
from support.trace import write_tables

import cupti_etl
from cupti_etl.errors import UsageError


def run(folder: Path, kernel_ns: int, first_ns: int = 5000, steps: int = 9) -> Path:
    """A first step that warms up and others 100 us apart, of one kernel each."""
    marks, calls, kernels = [], [], []
    for step in range(steps):
        at, length = 100_000 * step, kernel_ns
        if step == 0:  # long before the others
            at, length = -900_000, first_ns
        at += 1_000_000
        marks += [
            f"1 5 {step} start {at} step",
            f"1 5 {step} end {at + (900_000 if step == 0 else 50_000)} -",
        ]
        calls += [f"1 5 {step} runtime cudaLaunchKernel {at + 10} {at + 20}"]
        kernels += [f"1 0 {step} {at + 30} {at + 30 + length} gemm"]
    return write_tables(
        folder,
        device="process_id device_id device_uuid\n1 0 GPU-a",
        marker="\n".join(["process_id thread_id marker_id event timestamp_ns name", *marks]),
        api_call="\n".join(
            ["process_id thread_id correlation_id domain name start_ns end_ns", *calls]
        ),
        kernel="\n".join(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return run(folder / "old", 1000), run(folder / "new", 2000, first_ns=90_000)


def kernel(found: cupti_etl.Diff) -> dict[str, object]:
    (row,) = (row for row in found.table.to_pylist() if row["subject"] == "kernel")
    return row


def test_runs_of_other_lengths_have_equal_steps(tmp_path: Path) -> None:
    # The last takes 40 us, which would be in the mean of few steps more than of many.
    short, long = (
        run(tmp_path / "short", 40_000, steps=10),
        run(tmp_path / "long", 40_000, steps=41),
    )
    with cupti_etl.open(short) as before, cupti_etl.open(long) as after:
        found = cupti_etl.diff(before, after)
    (step,) = (row for row in found.table.to_pylist() if row["subject"] == "step")
    assert (step["before_mean_ns"], step["after_mean_ns"]) == (100_000, 100_000)
    assert found.verdict == "none"


@pytest.mark.slow
def test_of_whole_traces_the_steps_after_the_warm_up_are_compared(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    with cupti_etl.open(runs[0]) as before, cupti_etl.open(runs[1]) as after:
        found = cupti_etl.diff(before, after)
        assert before.query("kernel_summary").count() == 1  # still open
    row = kernel(found)
    assert (row["before_calls"], row["before_mean_ns"], row["after_mean_ns"]) == (7, 1000, 2000)
    assert found.title == "new compared with old"
    assert found.part.startswith("steps 1-7 of 0-8")
    assert repr(found) == f"<Diff of new compared with old: {found.verdict}>"

    text = str(found)
    assert text.startswith("# new compared with old\n\nverdict: ")
    assert "part of the traces: steps 1-7 of 0-8, after the warm-up and without the last" in text
    assert "## Kernels by name and launch shape" in text

    found.save(tmp_path / "diff.html")
    page = (tmp_path / "diff.html").read_text()
    assert "<title>new compared with old</title>" in page
    assert "gemm" in page
    assert found._repr_html_().startswith('<iframe srcdoc="')

    etl("diff", *runs, "-o", tmp_path / "same.md")
    assert f"part of the traces: {found.part}\n" in (tmp_path / "same.md").read_text()
    found.save(tmp_path / "diff.md")
    assert (tmp_path / "diff.md").read_text() == text


@pytest.mark.slow
def test_parts_are_compared_as_they_are(runs: tuple[Path, Path]) -> None:
    with (
        cupti_etl.open(runs[0]) as before,
        cupti_etl.open(runs[1]) as after,
        before.scope(steps=0) as old,
        after.scope(steps=0) as new,
    ):
        row = kernel(cupti_etl.diff(old, new))
    assert (row["before_calls"], row["before_mean_ns"], row["after_mean_ns"]) == (1, 5000, 90_000)


@pytest.mark.slow
def test_several_runs_of_each_are_compared(runs: tuple[Path, Path]) -> None:
    with cupti_etl.open(runs[0]) as before, cupti_etl.open(runs[1]) as after:
        found = cupti_etl.diff([before, before], [after, after])
    assert kernel(found)["before_mean_ns"] == 1000
    assert found.title == "new compared with old"


def test_what_cannot_be_compared(runs: tuple[Path, Path], tmp_path: Path) -> None:
    with cupti_etl.open(runs[0]) as before:
        with pytest.raises(UsageError, match="there is no run to compare"):
            cupti_etl.diff(before, [])
        with pytest.raises(UsageError, match="a smallest effect of 3 is none"):
            cupti_etl.diff(before, before, min_effect=3)
        with pytest.raises(UsageError, match=r"neither \.html nor \.md"):
            cupti_etl.diff(before, before).save(tmp_path / "diff.csv")
