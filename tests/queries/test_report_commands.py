"""What stands in the report is what the commands beside it print."""

from __future__ import annotations

import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.on_terminal import OnTerminal
from support.opened_once import opened_once
from support.trace import ONE_THREAD, write_tables

import cupti_etl
from cupti_etl.analysis.findings import find
from cupti_etl.analysis.report import SECTIONS, Asked
from cupti_etl.cli import cli
from cupti_etl.imports.run import import_traces
from cupti_etl.queries import keeping
from cupti_etl.queries.catalog import library

DATA = Path(__file__).parents[1] / "data"
SHOWN = 15


def invoke(*words: str) -> str:
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def sections(page: str) -> dict[str, tuple[str, list[str]]]:
    """Of each section the command, and the lines of the table."""
    found = {}
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        command = next((line.strip("`") for line in lines if line.startswith("`cupti-etl")), "")
        if command:
            found[title] = command, [line for line in lines if line.startswith("|")]
    return found


def differing(of: dict[str, tuple[str, list[str]]], trace: Path) -> list[str]:
    """The sections whose commands print something else."""
    wrong = []
    for title, (command, lines) in of.items():
        _, *words = [str(trace) if word == "TRACE" else word for word in shlex.split(command)]
        printed = invoke(*words, "--format", "markdown", "--limit", str(SHOWN))
        rows = [line for line in printed.splitlines() if line.startswith("|")]
        if lines != (rows if len(rows) > 2 else []):
            wrong.append(title)
    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    "files",
    [
        (DATA / "kineto_h100_with_stack.json.gz",),
        (DATA / "kineto_rank0.json.gz", DATA / "kineto_rank1.json.gz"),
    ],
    ids=["stacks", "ranks"],
)
def test_each_command_prints_the_table_beside_it(
    files: tuple[Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else each of the commands computes anew what the report has computed.
    monkeypatch.setattr(keeping, "KEPT_BYTES", 0)
    trace = tmp_path / "trace"
    import_traces(files, trace, 1)
    found = sections(invoke("report", str(trace)))
    assert set(found) <= {asked.title for asked in SECTIONS}
    assert len(found) > 10
    with opened_once():
        assert differing(found, trace) == []
        # Planted: a row that no command prints.
        command, lines = found["What ran"]
        assert differing({"What ran": (command, lines[:-1])}, trace) == ["What ran"]


def test_of_the_whole_what_asks_the_steady_state_is_told_not_to(tmp_path: Path) -> None:
    def rows(*lines: str) -> str:
        return "\n".join(line.format(at=at, ns=at * 100) for at in range(8) for line in lines)

    folder = write_tables(
        tmp_path / "run",
        process="process_id pid\n1 7",
        device="process_id device_id device_uuid\n1 0 GPU-a",
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        + rows("1 5 {at} start {ns}000 ProfilerStep#{at}", "1 5 {at} end {ns}990 -"),
        kernel="process_id device_id start_ns end_ns correlation_id name\n"
        + rows("1 0 {ns}500 {ns}900 {at} k"),
        api_call="process_id thread_id start_ns end_ns correlation_id domain name\n"
        + rows("1 5 {ns}100 {ns}400 {at} runtime cudaLaunchKernel"),
    )
    all_of_it = Asked("", "kernel_summary"), Asked("", "run_summary")
    with cupti_etl.open(folder, settings=ONE_THREAD) as trace:
        launches = next(each for each in find(trace) if each.query == "launch_bound")
        assert launches.command == "cupti-etl query launch_bound TRACE --steps all"
        assert [each.command(trace) for each in all_of_it] == [
            "cupti-etl query kernel_summary TRACE",
            "cupti-etl query run_summary TRACE --steps all",
        ]
        for scope, options in (
            ({"gpu": 0}, " --gpu 0 --steps all"),
            ({"gpu": 0, "steps": "all"}, " --steps all --gpu 0"),
            ({"to": "90%"}, " --to 90%"),
            ({"steps": "steady"}, " --steps steady"),
        ):
            with trace.scope(**scope) as part:
                assert all_of_it[1].command(part) == f"cupti-etl query run_summary TRACE{options}"


def test_the_command_beside_a_finding_shows_what_it_is_about(tmp_path: Path) -> None:
    # Each pair comes once, and nothing follows on the last.
    folder = str(
        write_tables(
            tmp_path / "run",
            kernel="""
                process_id device_id start_ns end_ns name
                1          0         0        40     CatArrayBatchedCopy
                1          0         100      160    DeviceReduceKernel
            """,
        )
    )
    with cupti_etl.open(folder, settings=ONE_THREAD) as trace:
        (finding,) = (each for each in find(trace) if each.source == "finding_fusion")
    words = shlex.split(finding.command.replace("TRACE", folder))
    assert "CatArrayBatchedCopy > DeviceReduceKernel" in invoke(*words[1:])
    savings = [query.saving for query in library() if query.saving and query.saving.options]
    assert len(savings) > 5
    for saving in savings:
        invoke("query", saving.shown, folder, *shlex.split(saving.options))


@pytest.mark.slow
def test_on_a_terminal_the_report_fits_its_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = "\n".join(f"0 {at * 9000} {at * 9000 + 100} k<{'x|y_' * 40}>" for at in range(20))
    path = write_tables(
        tmp_path / "run",
        kernel=f"device_id start_ns end_ns name\n{kernels}",
        memcpy="device_id start_ns end_ns copy_kind bytes\n0 200 8000 HtoD 64",
    )
    shown = OnTerminal()
    with monkeypatch.context() as inside:
        inside.setenv("COLUMNS", "60")
        inside.setenv("NO_COLOR", "1")
        inside.setattr(sys, "stdout", shown)
        inside.chdir(tmp_path)
        cli.main(["report", path.name], standalone_mode=False)
    lines = shown.getvalue().splitlines()
    assert [line for line in lines if len(line) > 60] == []
    assert "## Which kernels took most time" in lines
    assert "cupti-etl query kernel_summary run" in lines
    assert "  cupti-etl query busy_breakdown run" in lines
    text = "\n".join(lines)
    assert "x|y" in text, "no backslash"
    assert not re.search(r"[`\\]|\*\*", text)


@pytest.mark.slow
def test_what_is_too_wide_for_a_narrow_window_is_scrolled_to(tmp_path: Path) -> None:
    path = write_tables(
        tmp_path / "run", kernel="device_id start_ns end_ns name\n0 0 10 a\n0 20 40 b"
    )
    page = tmp_path / "run.html"
    invoke("report", str(path), "-o", str(page))
    before = re.findall(r"(\S+ \S+)<(?:svg|table)", page.read_text())
    assert len(before) > 2
    assert set(before) == {'<div class="scroll">'}
    invoke("query", "kernel_summary", str(path), "-o", str(page))
    assert "section { overflow-x: auto; }" in page.read_text()
    assert "<section><table>" in page.read_text()


def test_a_page_says_what_a_row_is_about_first_and_in_words(tmp_path: Path) -> None:
    path = write_tables(
        tmp_path / "run", kernel="device_id start_ns end_ns name\n0 0 10 a\n0 20 40 b"
    )
    page = tmp_path / "run.html"
    done = CliRunner().invoke(cli, ["report", str(path), "-o", str(page)])
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, f"cupti-etl: report in {page}")
    text = page.read_text()
    kernels = text.split("<h2>Which kernels took most time")[1]
    assert re.findall("<th [^>]*>([^<]*)", kernels)[:2] == ["name", "percent"]
    assert ">exposed communication</th>" in text


@pytest.mark.slow
def test_a_report_of_several_traces_names_them(tmp_path: Path) -> None:
    paths = [
        str(write_tables(tmp_path / name, kernel=f"start_ns end_ns name\n{at} 9 k"))
        for at, name in enumerate("abcdef")
    ]
    assert invoke("report", *paths[:2]).startswith("# a, b\n")
    assert invoke("report", *paths).startswith("# a, b, c, d and 2 more\n")


@pytest.mark.parametrize("name", ["report.md", "report.html"])
@pytest.mark.parametrize("end", ["-", "90"])
def test_what_grows_while_it_is_asked_is_said_to(tmp_path: Path, name: str, end: str) -> None:
    path = write_tables(
        tmp_path / "run",
        capture=f"capture_id start_ns end_ns\n1 0 {end}",
        kernel="device_id start_ns end_ns name\n0 0 10 a\n0 20 40 b",
    )
    invoke("report", str(path), "-o", str(tmp_path / name))
    said = "so far; it still runs, and what is asked later knows more of it."
    assert (said in (tmp_path / name).read_text()) == (end == "-")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_calls_that_failed_are_said_before_anything_else(tmp_path: Path, name: str) -> None:
    # Where no kernel runs, a program is fast, and a copy takes all of its time.
    path = write_tables(
        tmp_path / "run",
        memcpy="process_id device_id start_ns end_ns copy_kind bytes\n 1 0 10 20 HtoD 4",
        api_call="""
            process_id correlation_id domain  name             start_ns end_ns return_value
            1          1              runtime cudaLaunchKernel 1        2      222
            1          2              runtime cudaLaunchKernel 3        4      222
            1          3              runtime cudaMemcpy       5        25     0
            1          4              runtime cudaMemcpyAsync  26       27     1
        """,
    )
    page = tmp_path / name
    invoke("report", str(path), "-o", str(page))
    assert (
        "Calls failed, so what they asked for did not run: 2 of cudaLaunchKernel (PTX of a toolkit"
        " that is newer than the driver, 222), 1 of cudaMemcpyAsync (error, 1)."
    ) in page.read_text().split("Findings")[0]


@pytest.mark.slow
def test_shares_say_what_they_are_of(tmp_path: Path) -> None:
    # Most programs of a course work for a millisecond, and make a context for a second.
    tables = {
        "kernel": "process_id device_id start_ns end_ns name\n 1 0 900000000 900600000 a",
        "process": "process_id pid start_ns end_ns\n 1 10 0 1230000000",
    }
    said = "save 1 % of the 600 us from the first to the last work of a GPU"
    then = ". What kernels wait for inside"
    assert f"{said}, in a run of 1.23 s{then}" in invoke(
        "report", str(write_tables(tmp_path / "long", **tables))
    )
    for took, told in ((123, ", 123 ms of it in cuLibraryLoadData"), (122, "")):
        tables["api_call"] = (
            "process_id domain name start_ns end_ns\n"
            f" 1 driver cuLibraryLoadData 0 {took}000000\n 1 runtime cudaLaunchKernel 0 9"
        )
        assert f"{said}, in a run of 1.23 s{told}{then}" in invoke(
            "report", str(write_tables(tmp_path / str(took), **tables))
        )
    # Of a call that waits for the work, what is before and after it; of two at once, one.
    tables["api_call"] = """
        process_id thread_id domain  name                  start_ns  end_ns
        1          5         runtime cudaDeviceSynchronize 830000000 1000600000
        1          5         runtime cudaMalloc            0         100000000
        1          6         runtime cudaMalloc            0         100000000
    """
    assert f"{said}, in a run of 1.23 s, 170 ms of it in cudaDeviceSynchronize{then}" in invoke(
        "report", str(write_tables(tmp_path / "waits", **tables))
    )
    for name, end in (("short", "700000"), ("unknown", "-")):
        tables["process"] = f"process_id pid start_ns end_ns\n 1 10 0 {end}"
        assert f"{said}{then}" in invoke("report", str(write_tables(tmp_path / name, **tables)))


@pytest.mark.slow
def test_of_steps_that_took_longer_the_longest_come_first(tmp_path: Path) -> None:
    # More of them than there is room for.
    ends = [0]
    for n in range(80):
        ends.append(ends[-1] + (150 + n if n % 4 == 3 else 100 + n % 2))
    lines = [
        (f"1 5 {n} start {at} step{n}\n1 5 {n} end {end} -", f"1 0 {at} {end} k {n}")
        for n, (at, end) in enumerate(pairwise(ends))
    ]
    path = write_tables(
        tmp_path / "run",
        marker="process_id thread_id marker_id event timestamp_ns name\n"
        + "\n".join(line[0] for line in lines),
        api_call="process_id thread_id domain name correlation_id start_ns end_ns\n"
        + "\n".join(
            f"1 5 runtime cudaLaunchKernel {n} {at} {at + 1}" for n, at in enumerate(ends[:-1])
        ),
        kernel="process_id device_id start_ns end_ns name correlation_id\n"
        + "\n".join(line[1] for line in lines),
    )
    command, rows = sections(invoke("report", str(path), "--steps", "all"))[
        "Steps that took longer than most"
    ]
    assert '--where "is_outlier" --sort duration_ns:desc' in command
    assert [row.split("|")[1].strip() for row in rows[2:5]] == ["75", "71", "67"]
    # There is one chart: of all steps, in their order.
    invoke("report", str(path), "--steps", "all", "-o", str(tmp_path / "run.html"))
    lines = re.findall(r'<polyline.*?points="(.*?)"', (tmp_path / "run.html").read_text())
    assert [len(line.split()) for line in lines] == [80]


@pytest.mark.slow
def test_a_report_in_python_is_that_of_the_command(tmp_path: Path) -> None:
    # Five steps, of which the first is a warm-up.
    starts = [0, 9_000_000, 10_000_000, 11_000_000, 12_000_000]
    markers = [
        f"1 5 {n} {event} {at} {name}"
        for n, start in enumerate(starts)
        for event, at, name in (
            ("start", start, f"step_{n}"),
            ("end", start + 900_000, "-"),
        )
    ]
    path = write_tables(
        tmp_path / "run",
        kernel="process_id device_id start_ns end_ns name correlation_id\n"
        + "\n".join(f"1 0 {at + 100} {at + 400_100} k {n}" for n, at in enumerate(starts)),
        api_call="process_id thread_id domain name correlation_id start_ns end_ns\n"
        + "\n".join(
            f"1 5 runtime cudaLaunchKernel {n} {at + 10} {at + 20}" for n, at in enumerate(starts)
        ),
        marker="process_id thread_id marker_id event timestamp_ns name\n" + "\n".join(markers),
        device="process_id device_id\n1 0",
        process="process_id pid\n1 10",
    )
    with cupti_etl.open(path, settings=ONE_THREAD) as trace:
        report = cupti_etl.report(trace)
        with trace.scope(steps=0) as part:
            assert cupti_etl.report(part).part == "step 0"
    assert "after the warm-up" in report.part
    # The trace is closed, and it is all there.
    for name in ("a.md", "a.html"):
        report.save(tmp_path / name)
        invoke("report", str(path), "-o", str(tmp_path / f"by-{name}"))
        assert (tmp_path / name).read_text() == (tmp_path / f"by-{name}").read_text()
    assert str(report) == (tmp_path / "a.md").read_text()
    assert repr(report) == f"<Report of run, findings: {len(report.findings)}>"
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "&lt;base href=&quot;about:srcdoc&quot;&gt;" in shown
    assert "&lt;h1&gt;run&lt;/h1&gt;" in shown
    with pytest.raises(cupti_etl.UsageError, match=r"neither .html nor .md"):
        report.save(tmp_path / "a.pdf")


def test_commands_of_a_printed_report_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tables(tmp_path / "my run", kernel="device_id start_ns end_ns name\n0 0 10 a")
    monkeypatch.chdir(tmp_path)
    commands = [command for command, _ in sections(invoke("report", "my run")).values()]
    assert "cupti-etl query kernel_summary 'my run'" in commands
    for command in commands:
        assert invoke(*shlex.split(command)[1:], "--format", "csv")
    with cupti_etl.open("my run") as trace:
        assert "cupti-etl query kernel_summary TRACE" in str(cupti_etl.report(trace))
