"""Two runs compared, and a trace on one page."""

from __future__ import annotations

import random
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.trace import write_tables
from test_abstaining import FULL

import cupti_etl
from cupti_etl.analysis.diff import diff_as_given
from cupti_etl.analysis.findings import find
from cupti_etl.api import Trace
from cupti_etl.cli import cli
from cupti_etl.errors import UsageError

pytestmark = pytest.mark.slow


def run(folder: Path, seed: int, **kernels: tuple[int, float]) -> Path:
    """A run of kernels: name, how many, mean duration; the grid is the number after the name."""
    draw = random.Random(seed)
    rows, at = [], 0
    for name, (count, mean) in kernels.items():
        short, _, grid = name.partition("_")
        for _ in range(count):
            length = max(1, round(draw.gauss(mean, mean / 20)))
            rows.append(f"1 0 {at} {at + length} {short} {grid or 1} 1 1 32 1 1")
            at += length + draw.randrange(1, 5000)
    header = (
        "process_id device_id start_ns end_ns name grid_x grid_y grid_z block_x block_y block_z"
    )
    return write_tables(folder, kernel=f"{header}\n" + "\n".join(rows))


Compared = tuple[str, dict[str, dict[str, object]]]


def compare(base: Path, other: Path) -> Compared:
    with cupti_etl.open(base) as before, cupti_etl.open(other) as after:
        return compare_opened(before, after)


def compare_opened(before: Trace, after: Trace, **options: float) -> Compared:
    found = diff_as_given(before, after, **options)
    rows = found.table.to_pylist()
    for row in rows:
        effects = row["count_effect_ns"] + row["mix_effect_ns"] + row["duration_effect_ns"]
        assert row["change_ns"] == pytest.approx(effects)
    return found.verdict, {f"{row['name']}_{row['grid'][:1]}": row for row in rows}


def test_a_slower_kernel_is_a_regression(tmp_path: Path) -> None:
    base = run(tmp_path / "a", 1, same=(200, 1000), slow=(200, 1000), fast=(200, 1000), few=(3, 9))
    other = run(tmp_path / "b", 2, same=(200, 1000), slow=(200, 1500), fast=(200, 800), few=(3, 99))
    verdict, rows = compare(base, other)
    assert verdict == "regress"
    assert {name: row["verdict"] for name, row in rows.items()} == {
        "same_1": "none",
        "slow_1": "regress",
        "fast_1": "improve",
        "few_1": "cannot tell",
    }
    slow = rows["slow_1"]
    assert slow["low"] < slow["ratio"] < slow["high"]
    assert slow["ratio"] == pytest.approx(1.5, rel=0.02)
    assert slow["q"] < 1e-6
    assert rows["few_1"]["q"] is None


def test_a_change_below_the_smallest_effect_is_none(tmp_path: Path) -> None:
    base = run(tmp_path / "a", 1, k=(2000, 10000))
    other = run(tmp_path / "b", 2, k=(2000, 10100))
    with cupti_etl.open(base) as before, cupti_etl.open(other) as after:
        assert compare_opened(before, after)[0] == "none"
        assert compare_opened(before, after, min_effect=0.005)[0] == "regress"


def test_more_calls_and_other_shapes_are_no_change_of_duration(tmp_path: Path) -> None:
    base = run(tmp_path / "a", 1, k_1=(100, 1000), k_2=(100, 3000))
    other = run(tmp_path / "b", 1, k_1=(100, 1000), k_2=(300, 3000), new_1=(50, 100))
    verdict, rows = compare(base, other)
    assert verdict == "none"
    assert rows["k_1"]["count_effect_ns"] + rows["k_2"]["count_effect_ns"] == pytest.approx(
        200 * 2000, rel=0.05
    )
    assert rows["k_1"]["mix_effect_ns"] == pytest.approx(-100 * 1000, rel=0.05)
    assert rows["k_2"]["mix_effect_ns"] == pytest.approx(100 * 3000, rel=0.05)
    assert abs(rows["k_2"]["duration_effect_ns"]) < 0.02 * 300 * 3000
    assert rows["new_1"]["count_effect_ns"] == rows["new_1"]["change_ns"]


def test_kernels_without_a_name_count_and_are_not_compared(tmp_path: Path) -> None:
    def nameless(folder: Path, length: int) -> Path:
        rows = "\n".join(f"{1000 * n} {1000 * n + length} -" for n in range(6))
        return write_tables(folder, kernel="start_ns end_ns name\n" + rows)

    base, other = nameless(tmp_path / "a", 10), nameless(tmp_path / "b", 20)
    with cupti_etl.open(base) as before, cupti_etl.open(other) as after:
        (row,) = diff_as_given(before, after).table.to_pylist()
    assert (row["name"], row["before_ns"], row["after_ns"]) == (None, 60, 120)
    assert (row["verdict"], row["q"]) == ("cannot tell", None)


def test_runs_of_one_distribution_are_not_told_apart(tmp_path: Path) -> None:
    for calls, told in ((160, {"none"}), (40, {"none", "cannot tell"})):  # known to 1 and 2 %
        names = {f"k{n}": (calls, 1000) for n in range(40)}
        verdict, rows = compare(*(run(tmp_path / f"{calls} {n}", n, **names) for n in (1, 2)))
        assert {verdict, *(row["verdict"] for row in rows.values())} <= told


@pytest.mark.usefixtures("opened_by_commands")
def test_the_command_fails_where_it_shall(tmp_path: Path) -> None:
    base = str(run(tmp_path / "a", 1, k=(100, 1000)))
    other = str(run(tmp_path / "b", 2, k=(100, 2000)))
    for options, status in (
        ([], 0),
        (["--fail-on", "regress"], 5),
        (["--fail-on", "improve"], 0),
        (["--fail-on", "regress", "--min-effect", "0.9", "--format", "csv"], 5),
    ):
        done = CliRunner().invoke(cli, ["diff", base, other, *options])
        assert done.exit_code == status, done.output
        assert "verdict: regress" in done.stderr
    assert CliRunner().invoke(cli, ["diff", other, base, "--fail-on", "regress"]).exit_code == 0
    with cupti_etl.open(base) as trace, pytest.raises(UsageError, match="smallest effect"):
        diff_as_given(trace, trace, min_effect=0)


def test_the_same_part_of_both_runs_is_compared(tmp_path: Path) -> None:
    # Between the warm-up and the last there are 4 steps; without ranges there is no step.
    starts = (0, 3000, 4000, 5000, 6000, 7000)
    kernels = [f"1 0 {at} {at + 100} {at + 400} k" for at in starts]
    calls = [f"1 5 {at} runtime cudaLaunchKernel {at + 10} {at + 20}" for at in starts]
    marks = [f"1 5 {at} start {at} step\n1 5 {at} end {at + 990} step" for at in starts]
    tables = {
        "device": "process_id device_id device_uuid\n1 0 GPU-a",
        "kernel": "process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(kernels),
        "api_call": "process_id thread_id correlation_id domain name start_ns end_ns\n"
        + "\n".join(calls),
    }
    marker = "process_id thread_id marker_id event timestamp_ns name\n" + "\n".join(marks)
    bare = write_tables(tmp_path / "bare", **tables)
    named = write_tables(tmp_path / "named", **tables, marker=marker)
    for before, counts, said in ((bare, ",6,6,", ""), (named, ",4,4,", "steps 1-4 of 0-5")):
        done = CliRunner().invoke(cli, ["diff", str(before), str(named), "--format", "csv"])
        assert done.exit_code == 0, done.output
        (kernel,) = [line for line in done.stdout.splitlines() if line.startswith('"kernel"')]
        assert counts in kernel
        assert ("part of the trace: " in done.stderr) == bool(said)
        assert said in done.stderr


def test_runs_of_other_kernels_and_of_few_steps_say_so(tmp_path: Path) -> None:
    base, other = run(tmp_path / "a", 1, k=(100, 1000)), run(tmp_path / "b", 1, m=(100, 1000))
    with cupti_etl.open(base) as before, cupti_etl.open(other) as after:
        found = diff_as_given(before, after)
    assert found.verdict == "cannot tell"
    assert found.why == (
        "no steps were found, or only poor guesses; no kernel has a clear change,"
        " and 100 % of kernel time is of those that the run after does not have"
    )
    # What a person looks for is not what a narrow terminal leaves out.
    assert found.table.column_names[:4] == ["subject", "verdict", "name", "slower_pct"]
    few = "process_id thread_id marker_id event timestamp_ns name\n" + "\n".join(
        f"1 5 {s} start {s * 1000} step\n1 5 {s} end {s * 1000 + 900} -" for s in range(3)
    )
    calls = "process_id thread_id domain correlation_id name start_ns end_ns\n" + "\n".join(
        f"1 5 runtime {s} cudaLaunchKernel {s * 1000} {s * 1000 + 1}" for s in range(3)
    )
    kernels = "process_id device_id correlation_id start_ns end_ns name\n" + "\n".join(
        f"1 0 {s} {s * 1000 + 2} {s * 1000 + 9} k" for s in range(3)
    )
    path = write_tables(tmp_path / "c", kernel=kernels, api_call=calls, marker=few)
    slower = kernels.replace("9 k", "8 k")
    path_2 = write_tables(tmp_path / "d", kernel=slower, api_call=calls, marker=few)
    with cupti_etl.open(path) as before, cupti_etl.open(path_2) as after:
        assert diff_as_given(before, after).why.startswith("fewer than 5 steps to compare;")
    with cupti_etl.open(path) as before, cupti_etl.open(base) as after:
        assert "in the run before only;" in diff_as_given(before, after).why


def test_nothing_can_be_told_of_an_empty_run(tmp_path: Path) -> None:
    base, empty = run(tmp_path / "a", 1, k=(100, 1000)), write_tables(tmp_path / "b")
    with cupti_etl.open(base) as some, cupti_etl.open(empty) as none:
        for sides in ((some, none), (none, some), (none, none)):
            assert compare_opened(*sides)[0] == "cannot tell"


@pytest.mark.usefixtures("opened_by_commands")
def test_nothing_can_be_told_of_kernels_without_a_length(tmp_path: Path) -> None:
    header = (
        "process_id device_id start_ns end_ns name grid_x grid_y grid_z block_x block_y block_z"
    )
    zero = write_tables(tmp_path / "a", kernel=f"{header}\n1 0 5 5 k 1 1 1 32 1 1")
    untimed = write_tables(tmp_path / "b", kernel=f"{header}\n1 0 - - k 1 1 1 32 1 1")
    some = write_tables(tmp_path / "c", kernel=f"{header}\n1 0 5 9 k 1 1 1 32 1 1")
    for base, other, why in (
        (zero, some, "the kernels of the run before took no time"),
        (untimed, some, "the run before has no finished kernels"),
        (some, untimed, "the run after has no finished kernels"),
    ):
        done = CliRunner().invoke(cli, ["diff", str(base), str(other)])
        assert done.exit_code == 0, done.output
        assert f"verdict: cannot tell: {why}\n" in done.stderr


class Page(HTMLParser):
    """What a page has, and that its tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.usefixtures("opened_by_commands")
def test_the_report_says_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    path = write_tables(
        tmp_path / "run<1>", **FULL, loss="process_id cause records\n 1 ring_full 12"
    )
    done = CliRunner().invoke(cli, ["report", str(path)])
    assert done.exit_code == 0, done.output
    assert "The capture has losses (ring_full 12)" in done.output
    assert "| 0 | 10." not in done.output.split("## Where the time went")[0]
    assert "## Why the GPUs were idle" in done.output
    page = tmp_path / "run.html"
    assert CliRunner().invoke(cli, ["report", str(path), "-o", str(page)]).exit_code == 0
    text = page.read_text()
    found = Page(text)
    assert found.open == []
    assert all(link.startswith("#section-") for link in found.fetched)
    assert "default-src 'none'" in text
    assert found.tags.count("svg") >= 5
    assert found.tags.count("canvas") == 1
    assert "run&lt;1&gt;" in text
    assert "<1>" not in text


def test_kernels_of_one_name_are_told_apart(tmp_path: Path) -> None:
    path = write_tables(
        tmp_path / "run",
        kernel="process_id device_id start_ns end_ns name\n1 0 0 40 m\n1 0 40 70 n\n1 0 70 90 o",
        kernel_name="""
            mangled short  demangled
            m       sum    "void at::(anonymous namespace)::sum<4, at::Add<float> >(int, at::Add<float>)"
            n       sum    "void at::sum<4, at::Mul>(int)"
            o       Kernel "void cutlass::Kernel<cutlass_80_gemm>(cutlass_80_gemm::Params)"
        """,  # noqa: E501
    )
    text = CliRunner().invoke(cli, ["report", str(path)]).output
    table = text.split("## Which kernels took most time")[1].split("##")[0]
    names = [line.split("|")[-2].strip() for line in table.splitlines() if line.startswith("| ")]
    assert names == ["name", "---", "sum<Add>", "sum<Mul>", "cutlass_80_gemm"]
    assert "| kernels | sum<Add> |" in text
    # A value that has its unit does not have it twice.
    assert "| 40 ns | 44.4 % of all" in text


def test_causes_of_idle_time_are_parts_of_it(tmp_path: Path) -> None:
    # 100 ns of idle time, of which 40 outside CUDA, 30 launching and 30 queued.
    path = write_tables(
        tmp_path / "run",
        kernel="""
            process_id device_id start_ns end_ns name correlation_id
            1          0         0        100    a    1
            1          0         200      300    a    2
        """,
        api_call="""
            process_id domain  name             correlation_id start_ns end_ns
            1          runtime cudaLaunchKernel 1              0        1
            1          runtime cudaLaunchKernel 2              140      170
        """,
        device="process_id device_id\n1 0",
    )
    text = CliRunner().invoke(cli, ["report", str(path)]).output
    table = text.split("## Why the GPUs were idle")[1].split("##")[0]
    assert [line.split("|")[1:4] for line in table.splitlines() if " ns |" in line] == [
        [" host ", " 40 ns ", " 40.0 % "],
        [" launching ", " 30 ns ", " 30.0 % "],
        [" queued ", " 30 ns ", " 30.0 % "],
    ]


def test_a_saving_is_no_longer_than_the_gpu_was_idle(tmp_path: Path) -> None:
    # item(): the host waits 1000 ns for the kernel before it, of which the GPU is idle for 20;
    # and a load contains the compilation that it causes.
    path = write_tables(
        tmp_path / "run",
        # A few more on another stream: what fewer than 20 are loaded for is start-up.
        kernel="process_id device_id start_ns end_ns name correlation_id\n1 0 0 980 a 1\n"
        + "\n".join(f"1 0 {at} {at + 1} b -" for at in range(100, 120)),
        memcpy="""
            process_id device_id start_ns end_ns correlation_id bytes copy_kind src_kind dst_kind
            1          0         1000     1005   2              4     DtoH      device   pageable
        """,
        api_call="""
            process_id domain  name            correlation_id start_ns end_ns
            1          runtime cudaLaunch      1              0        5
            1          runtime cudaMemcpyAsync 2              7        6007
            1          driver  cuModuleLoad    3              6100     6500
        """,
        overhead="process_id overhead_kind start_ns end_ns\n1 driver_compiler 6150 6450",
    )
    with cupti_etl.open(path) as opened:
        found = {each.query: each.saved_ns for each in find(opened)}
    assert found["memcpy_blocking"] == 20
    assert found["jit_module_load"] == 400


def test_findings_are_ranked_by_what_they_could_save(tmp_path: Path) -> None:
    with cupti_etl.open(write_tables(tmp_path / "run", **FULL)) as opened:
        found = find(opened)
    assert [each.saved_ns for each in found] == sorted(
        (each.saved_ns for each in found), reverse=True
    )
    assert {"launch_bound", "busy_breakdown", "kernel_waves"} <= {each.query for each in found}


@pytest.mark.parametrize(("gap", "expected"), [(940, []), (1010, ["gap_attribution"])])
def test_less_than_a_hundredth_of_the_run_is_no_finding(
    tmp_path: Path, gap: int, expected: list[str]
) -> None:
    # Of 100 ms, 0.94 or 1.01 ms in which the host was outside CUDA: such a trace is healthy.
    begin = 50_000_000
    path = write_tables(
        tmp_path / "run",
        kernel=f"""
            process_id device_id start_ns      end_ns   name correlation_id
            1          0         0             {begin - gap * 1000} a 1
            1          0         {begin}       100000000 a   2
        """,
        api_call=f"""
            process_id domain  name             correlation_id start_ns      end_ns
            1          runtime cudaLaunchKernel 1              0             1
            1          runtime cudaLaunchKernel 2              {begin - 100} {begin}
        """,
        device="process_id device_id\n1 0",
    )
    with cupti_etl.open(path) as opened:
        assert [each.query for each in find(opened)] == expected
    text = CliRunner().invoke(cli, ["report", str(path)]).output
    said = "at most," if expected else "None: nothing was found that could save 1 %"
    assert f"{said} of the 100 ms from the first to the last work of a GPU" in text


def test_a_report_of_a_program_that_used_no_gpu_says_so(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "run", process="process_id pid\n1 10")
    text = CliRunner().invoke(cli, ["report", str(path)]).output
    assert "None: no finished GPU activity was recorded." in text
    assert "could save" not in text


def test_a_report_of_a_part_in_which_no_gpu_worked_says_so(tmp_path: Path) -> None:
    path = write_tables(
        tmp_path / "run",
        process="process_id pid\n1 10",
        api_call="process_id domain name start_ns end_ns\n1 runtime cudaMalloc 9000 9999",
        kernel="process_id device_id start_ns end_ns name\n1 0 100 200 k",
    )
    text = CliRunner().invoke(cli, ["report", str(path), "--from", "5us"]).output
    assert "None: in this part of the trace (from 5us), no finished GPU activity" in text
    assert "could save" not in text


def test_a_report_of_kernels_alone_gives_reasons(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "run", kernel=FULL["kernel"])
    done = CliRunner().invoke(cli, ["report", str(path)])
    assert done.exit_code == 0, done.output
    # Those that have no rows for one reason stand together, at the end.
    empty = done.output[done.output.index("## Without rows") :]
    calls = "no API calls were recorded (capture with --api default)"
    assert f"- Is it launch bound?, What synchronizing costs, Calls of CUDA: {calls}" in empty
    titles = "- Memory at its peak, Memory that was not released"
    assert f"{titles}: no allocations were recorded" in empty
    assert "No rows" not in done.output


def test_a_report_is_html_or_markdown(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "run")
    done = CliRunner().invoke(cli, ["report", str(path), "-o", "report.pdf"])
    assert isinstance(done.exception, UsageError)
    text = CliRunner().invoke(cli, ["report", str(path)]).output
    where = text[text.index("Where the time went") :].splitlines()[0]
    assert where.endswith(": no finished GPU activity was recorded.")
