"""Two runs compared: which GPU of one is which of the other, and what is in one of them only."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.opened_once import Opened
from support.trace import write_tables

import cupti_etl
from cupti_etl.analysis.diff import Diff, diff_as_given
from cupti_etl.cli import cli

pytestmark = pytest.mark.slow

STEPS = 12
Loop = tuple[int, int | None, int, str]


def run(folder: Path, *loops: Loop) -> Path:
    """A process for each loop: its device, its rank, the length of its steps, its kernel."""
    kernels, calls, ranges, processes, devices = [], [], [], [], []
    for process, (device, rank, length, kernel) in enumerate(loops, start=1):
        processes.append(f"{process} {'-' if rank is None else rank} h")
        devices.append(f"{process} {device} GPU-{device}")
        for step in range(STEPS):
            begin = 1000 + step * length
            ranges.append(f"{process} 5 {step} start {begin} step")
            ranges.append(f"{process} 5 {step} end {begin + length - 5} -")
            calls.append(f"{process} 5 runtime {step} cudaLaunchKernel {begin + 1} {begin + 2}")
            end = begin + 3 + length // 2 + step
            kernels.append(f"{process} {device} {step} {begin + 3} {end} {kernel}")
    rows = "\n".join
    return write_tables(
        folder,
        kernel=rows(["process_id device_id correlation_id start_ns end_ns name", *kernels]),
        api_call=rows(["process_id thread_id domain correlation_id name start_ns end_ns", *calls]),
        marker=rows(["process_id thread_id marker_id event timestamp_ns name", *ranges]),
        process=rows(["process_id rank host", *processes]),
        device=rows(["process_id device_id device_uuid", *devices]),
    )


def compare(base: Path, other: Path) -> tuple[Diff, dict[str, str]]:
    with cupti_etl.open(base) as before, cupti_etl.open(other) as after:
        found = diff_as_given(before, after)
    rows = found.table.to_pylist()
    return found, {row["name"]: row["verdict"] for row in rows if row["subject"] == "step"}


@pytest.mark.parametrize(("rank", "other_rank"), [(None, None), (3, 3), (0, 5)])
def test_the_one_gpu_of_each_run_is_the_same_whatever_its_number(
    tmp_path: Path, rank: int | None, other_rank: int | None
) -> None:
    # The device is the second of the run after's machine; steps take 66 % longer.
    base = run(tmp_path / "a", (0, rank, 1000, "k"))
    other = write_more_devices(run(tmp_path / "b", (1, other_rank, 1660, "k")))
    found, steps = compare(base, other)
    assert found.verdict == "regress"
    (ratio,) = (r["ratio"] for r in found.table.to_pylist() if r["subject"] == "step")
    assert ratio == pytest.approx(1.66, rel=0.01)
    assert list(steps.values()) == ["regress"]
    name = "rank 3" if rank == other_rank == 3 else "the GPU"
    assert list(steps) == [name]


def write_more_devices(path: Path) -> Path:
    """The machine has a GPU before that which was used."""
    from support.trace import add_part

    add_part(path, "device", "process_id device_id device_uuid\n1 0 GPU-0")
    return path


def test_gpus_of_one_rank_are_the_same(tmp_path: Path) -> None:
    # The ranks have changed places; that of rank 1 is slower.
    base = run(tmp_path / "a", (0, 0, 1000, "k"), (1, 1, 1000, "k"))
    other = run(tmp_path / "b", (0, 1, 1500, "k"), (1, 0, 1000, "k"))
    assert compare(base, other)[1] == {"rank 0": "none", "rank 1": "regress"}


def test_without_ranks_gpus_that_do_the_same_are_the_same(tmp_path: Path) -> None:
    # One encodes and one decodes, and a third came with the other run.
    base = run(tmp_path / "a", (0, None, 1000, "encode"), (1, None, 3000, "decode"))
    other = run(
        tmp_path / "b",
        (0, None, 3000, "decode"),
        (1, None, 5000, "rerank"),
        (2, None, 1500, "encode"),
    )
    assert compare(base, other)[1] == {
        "gpu 0, gpu 2 in the other run": "regress",
        "gpu 1, gpu 0 in the other run": "none",
        "gpu 1 of the run after": "added",
    }


def stream(folder: Path, *kernels: str) -> Path:
    """Rounds of kernels in one stream: a name, and its grid after a slash."""
    rows = [
        f"1 0 7 {1000 * at} {1000 * at + 500} {name} {grid or 1} 1 1 32 1 1"
        for at, (name, _, grid) in enumerate(each.partition("/") for each in kernels * 6)
    ]
    header = "process_id device_id stream_id start_ns end_ns name"
    header += " grid_x grid_y grid_z block_x block_y block_z"
    return write_tables(folder, kernel="\n".join([header, *rows]))


def only_in_one(found: Diff) -> dict[str, tuple[str, str | None]]:
    """Kernels that one run only has: the verdict, and what became of them."""
    return {
        row["name"]: (row["verdict"], row["became"])
        for row in found.table.to_pylist()
        if row["subject"] == "kernel_added_removed"
    }


def test_kernels_of_one_run_only_are_added_or_removed(tmp_path: Path) -> None:
    base = stream(tmp_path / "a", "a", "old", "b", "c")
    other = stream(tmp_path / "b", "a", "b", "c", "new/2", "new/2")
    found = compare(base, other)[0]
    assert only_in_one(found) == {"old": ("removed", None), "new": ("added", None)}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # The same shape and a neighbour of before.
        (("a", "old", "b"), ("a", "new", "b"), {"old": ("renamed", "new")}),
        # Neighbours that are renamed, too.
        (("o1/3", "o2/5"), ("n1/3", "n2/5"), {"o1": ("renamed", "n1"), "o2": ("renamed", "n2")}),
        # Another shape at the same place.
        (("a", "old/4", "b"), ("a", "new/8", "b"), {"old": ("replaced", "new")}),
        # The same shape at another place, or more often, is another kernel.
        (
            ("a", "old", "b", "c", "d"),
            ("a", "b", "c", "new", "d"),
            {"old": ("removed", None), "new": ("added", None)},
        ),
        (
            ("a", "old", "b"),
            ("a", "new", "new", "b"),
            {"old": ("removed", None), "new": ("added", None)},
        ),
    ],
)
def test_a_renamed_kernel_is_known_by_its_shape_and_place(
    tmp_path: Path,
    before: tuple[str, ...],
    after: tuple[str, ...],
    expected: dict[str, tuple[str, str | None]],
) -> None:
    base, other = stream(tmp_path / "a", *before), stream(tmp_path / "b", *after)
    found = compare(base, other)[0]
    assert only_in_one(found) == expected
    for row in found.table.to_pylist():
        if row["subject"] != "step part":
            effects = row["count_effect_ns"] + row["mix_effect_ns"] + row["duration_effect_ns"]
            assert row["change_ns"] == pytest.approx(effects)


@pytest.fixture(scope="module")
def renamed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Two runs; a kernel has another name in each."""
    folder = tmp_path_factory.mktemp("renamed")
    return [str(stream(folder / name, "a", name, "b")) for name in ("old", "new")]


@pytest.mark.parametrize(
    ("form", "heading"),
    [
        ("table", "(kernel_added_removed)"),
        ("markdown", "## Kernels added, removed or renamed (kernel_added_removed)"),
        ("html", "<h2>Kernels added, removed or renamed (kernel_added_removed)</h2>"),
        ("json", '"subject": "kernel_added_removed"'),
    ],
)
def test_kernels_of_one_run_have_a_section(
    renamed: list[str], opened: Opened, form: str, heading: str
) -> None:
    with opened.for_commands():
        done = CliRunner().invoke(cli, ["diff", *renamed, "--format", form])
    assert done.exit_code == 0, done.output
    assert heading in done.stdout.replace('":"', '": "')


def test_steps_that_were_guessed_are_said_to_be(tmp_path: Path) -> None:
    def loop(folder: Path, length: int) -> Path:
        kernels = [
            f"1 0 {step * length + at} {step * length + at + 50 + step} {name}"
            for step in range(STEPS)
            for at, name in ((0, "a"), (100, "b"), (200, "c"))
        ]
        rows = "\n".join(["process_id device_id start_ns end_ns name", *kernels])
        return write_tables(folder, kernel=rows, device="process_id device_id\n1 0")

    base, other = loop(tmp_path / "a", 1000), loop(tmp_path / "b", 2500)
    found, steps = compare(base, other)
    assert steps == {"gpu 0 (guessed)": "regress"}
    assert found.why.startswith("steps on gpu 0 (guessed): +150.0 %")
    # They are not compared with steps that a range says.
    ranges = run(tmp_path / "c", (0, None, 1000, "a"))
    found, steps = compare(base, ranges)
    assert steps == {"gpu 0 of the run before": "removed", "gpu 0 of the run after": "added"}
    assert found.why.startswith("steps were found in another way in each run")


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("X200", "the GPUs are others: X100 before, X200 after"),
        ("X100", None),
        ("-", None),
    ],
)
def test_gpus_of_other_models_are_told(tmp_path: Path, after: str, said: str | None) -> None:
    traces = [run(tmp_path / name, (0, None, 1000, "k")) for name in ("a", "b")]
    for path, model in zip(traces, ("X100", after), strict=True):
        write_tables(path, device=f"process_id device_id name\n1 0 {model}\n1 1 {model}")
    found, _ = compare(*traces)
    assert ("the GPUs are" in found.note) == bool(said)
    assert found.note.startswith(said or "")


def test_a_run_has_not_changed_from_itself(tmp_path: Path) -> None:
    # Two executions are too few to test, and their lengths far apart.
    base = run(tmp_path / "a", (0, None, 1000, "k"), (1, None, 700, "l"), (0, None, 300, "m"))
    found, _ = compare(base, base)
    rows = found.table.to_pylist()
    assert (found.verdict, found.why) == (
        "none",
        "all kernels and steps took the same times in all runs",
    )
    assert {row["verdict"] for row in rows} == {"none"}
    assert {row["change_ns"] for row in rows} == {0}
    rows = [row for row in rows if row["subject"] != "step part"]  # which have no effects
    effects = ("change_ns", "duration_effect_ns", "count_effect_ns", "mix_effect_ns")
    assert {row[name] for row in rows for name in effects} == {0}
    assert {row[name] for row in rows for name in ("ratio", "low", "high")} == {1}
