"""Tables: units by column, the columns that answer first, rows that are asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.trace import MakeTrace

from cupti_etl.errors import UsageError
from cupti_etl.render.columns import Column, in_words
from cupti_etl.render.narrow import Narrowing, narrow
from cupti_etl.render.table import Shown, View, table
from cupti_etl.render.text import drawn, fit, lines_within
from cupti_etl.render.values import duration, in_unit, moment, percentage, size

KERNELS = """
    process_id device_id start_ns   end_ns     name
    5000000001 0         2000000000 2000001500 "void a<1>(int)"
    5000000002 0         2000003000 2000004000 "void a<2>(int)"
    5000000002 0         3000003000 3000003100 b
"""
NAMES = """
    mangled            short demangled
    "void a<1>(int)"   a     "void a<1>(int)"
    "void a<2>(int)"   a     "void a<2>(int)"
    b                  b     b
"""


def names(columns: Sequence[Shown]) -> list[str]:
    return [column.name for column in columns]


def test_values_have_units_that_fit_them() -> None:
    assert [duration(ns) for ns in (0, 7, 999, 1234, 999_999, 12_345_678, -1500, 7.2e12)] == [
        "0", "7 ns", "999 ns", "1.23 us", "1.00 ms", "12.3 ms", "-1.50 us", "7,200 s",
    ]  # fmt: skip
    assert [duration(1_234_567, unit) for unit in ("ns", "us", "ms", "s")] == [
        "1,234,567 ns", "1,234.567 us", "1.235 ms", "0.001235 s",
    ]  # fmt: skip
    assert [size(count) for count in (0, 1023, 4_300_000, 2**50)] == [
        "0", "1,023 B", "4.10 MiB", "1,024 TiB",
    ]  # fmt: skip
    assert [percentage(each) for each in (0, 0.01, -0.01, 12.34, 100)] == [
        "0.0 %", "<0.1 %", ">-0.1 %", "12.3 %", "100.0 %",
    ]  # fmt: skip
    assert [moment(ns, 10**9) for ns in (10**9, 1_234_567_890, 3 * 10**9, 0)] == [
        "+0.000 us", "+234.568 ms", "+2.000000 s", "-1.000000 s",
    ]  # fmt: skip
    assert [in_unit(each, "1") for each in (None, True, 1234, 0.5, "a\tb")] == [
        "-", "yes", "1,234", "0.50", "a b",
    ]  # fmt: skip
    # Not gigabits, as the end of the column's name may be read.
    rate = Column("rate_gbps", "gigabytes/s")
    assert (rate.heading, in_unit(39.72, rate.unit)) == ("rate", "39.7 GB/s")


def column(name: str, width: int, *, number: bool = False, label: bool = False) -> Shown:
    return Shown(name, "h", ["x" * width], number, label)


def test_the_most_important_columns_and_the_label_stay() -> None:
    columns = [column("first", 8, number=True), column("text", 90), column("last", 8, number=True),
               column("label", 50, label=True)]  # fmt: skip

    def fitted(room: int) -> dict[str, int]:
        return {each.name: width for each, width in fit(columns, room)}

    assert fitted(200) == {"first": 8, "text": 90, "last": 8, "label": 50}
    # Texts are cut, numbers never; the label is whole as long as that is possible.
    assert fitted(110) == {"first": 8, "text": 38, "last": 8, "label": 50}
    assert fitted(80) == {"first": 8, "text": 28, "last": 8, "label": 30}
    # What is least important goes first.
    assert fitted(60) == {"first": 8, "text": 20, "label": 28}
    assert fitted(40) == {"first": 8, "label": 30}


def test_a_label_that_comes_later_is_cut_before_what_comes_earlier_is_left_out() -> None:
    columns = [column("first", 8, number=True), column("text", 20),
               column("label", 50, label=True), column("last", 8, number=True)]  # fmt: skip

    def fitted(room: int) -> dict[str, int]:
        return {each.name: width for each, width in fit(columns, room)}

    assert fitted(54) == {"first": 8, "text": 14, "label": 28}
    assert fitted(50) == {"first": 8, "text": 20, "label": 18}
    assert fitted(30) == {"first": 8, "label": 20}


def test_a_query_is_told_by_its_first_columns(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS, kernel_name=NAMES)
    shown = table(opened.query("kernel_summary"), View())
    assert names(shown.columns) == [
        "percent", "total_ns", "calls", "mean_ns", "median_ns", "max_ns", "name",
    ]  # fmt: skip
    assert list(shown.columns[-1].cells) == ["a<1>", "a<2>", "b"]
    assert list(shown.columns[1].cells) == ["1.50 us", "1.00 us", "100 ns"]
    assert shown.hidden[0] == "p95_ns"
    wide = table(opened.query("kernel_summary"), View(wide=True))
    assert (len(wide.columns), wide.hidden) == (len(opened.query("kernel_summary").columns), [])
    raw = table(opened.query("kernel_summary"), View(raw=True))
    assert list(raw.columns[-1].cells) == ["a", "a", "b"]
    assert list(raw.columns[1].cells) == ["1500", "1000", "100"]


def test_kernels_have_labels_in_every_column_of_a_query(trace: MakeTrace) -> None:
    opened = trace(
        kernel="""
            process_id device_id start_ns end_ns name
            1          0         1000     2000   _Z1aILi1EEvi
            1          0         5000     6000   _Z1aILi2EEvi
            1          0         9000     9500   b
        """,
        kernel_name="""
            mangled       short demangled
            _Z1aILi1EEvi  a     "void a<1>(int)"
            _Z1aILi2EEvi  a     "void a<2>(int)"
            b             b     b
        """,
    )
    for query in ("gpu_gaps", "stream_gaps"):
        shown = {each.name: each for each in table(opened.query(query), View()).columns}
        assert list(shown["previous_name"].cells) == ["a<1>", "a<2>"], query
        assert list(shown["next_name"].cells) == ["a", "b"], query
        raw = {each.name: each for each in table(opened.query(query), View(raw=True)).columns}
        assert list(raw["previous_name"].cells) == ["_Z1aILi1EEvi", "_Z1aILi2EEvi"]


def test_names_that_were_never_mangled_have_labels_in_every_column_of_a_query(
    trace: MakeTrace,
) -> None:
    """PyTorch gives whole names, of which the middle was cut out."""
    long = "void at::native::(anonymous namespace)::add<1, float>(int, float const*, float*)"
    opened = trace(
        kernel=f"""
            process_id device_id start_ns end_ns name
            1          0         1000     2000   "{long}"
            1          0         5000     6000   b
        """,
        kernel_name=f"""
            mangled   short demangled
            "{long}"  add   "{long}"
            b         b     b
        """,
    )
    for query in ("gpu_gaps", "stream_gaps"):
        shown = {each.name: each for each in table(opened.query(query), View()).columns}
        assert list(shown["previous_name"].cells) == ["add"], query
        assert list(shown["next_name"].cells) == ["b"], query


def test_ids_are_shown_where_there_is_nothing_else(trace: MakeTrace) -> None:
    opened = trace(
        kernel=KERNELS,
        api_call="process_id correlation_id domain name\n5000000001 7 driver cuGraphLaunch",
    )
    shown = table(opened.query("graph_launch"), View())
    assert names(shown.columns) == ["process_id", "correlation_id"]


def test_processes_are_named_and_times_count_from_the_beginning(trace: MakeTrace) -> None:
    opened = trace(
        kernel=KERNELS, kernel_name=NAMES,
        process="process_id pid rank\n5000000001 7 0\n5000000002 8 1",
        capture="capture_id start_ns\n1 1500000000",
    )  # fmt: skip
    lines, notes = drawn(
        opened.sql("SELECT process_id, start_ns, correlation_id, name FROM kernel ORDER BY 2"),
        View(), terminal=False,
    )  # fmt: skip
    assert lines[0].split() == ["process", "start", "correlation_id", "name"]
    assert [line.split()[:4] for line in lines[2:]] == [
        ["rank", "0", "+500.000", "ms"], ["rank", "1", "+500.003", "ms"],
        ["rank", "1", "+1.500003", "s"],
    ]  # fmt: skip
    assert notes == []


def test_a_pipe_gets_whole_names_and_no_padding(trace: MakeTrace) -> None:
    long = "k" * 200
    rows = trace().sql(f"SELECT 1 AS n, 'ab' AS t, '{long}' AS name UNION ALL SELECT 2, 'c', 'x'")
    lines, _ = drawn(rows, View(), terminal=False)
    assert lines[2] == f"1  ab  {long}"
    assert lines[3] == "2  c   x"
    assert len(lines[1]) < 80


def narrowed(trace: MakeTrace, *given: str | int | None, sql: str = "") -> list[int]:
    opened = trace(kernel=KERNELS, kernel_name=NAMES)
    rows = opened.sql(sql) if sql else opened.query("kernel_summary")
    return list(narrow(rows, Narrowing(*given)).reader().read_all()["total_ns"].to_pylist())  # type: ignore[arg-type]


@pytest.mark.slow
def test_rows_are_chosen_and_sorted(trace: MakeTrace) -> None:
    assert narrowed(trace) == [1500, 1000, 100]
    assert narrowed(trace, "total_ns < 1200 -- a comment") == [1000, 100]
    assert narrowed(trace, "", "total_ns:asc") == [100, 1000, 1500]
    assert narrowed(trace, "", "total", 1) == [1500]
    assert narrowed(trace, "", "name", None) == [1500, 1000, 100]
    assert narrowed(trace, "", "name:desc", 1) == [100]
    assert narrowed(trace, "", "", 0) == []
    many = "CREATE TABLE t AS SELECT 1 AS total_ns; FROM t"
    assert narrowed(trace, "total_ns > 0", "total_ns", 5, sql=many) == [1]


def test_among_equals_the_order_of_the_query_stays(trace: MakeTrace) -> None:
    sql = "SELECT range AS total_ns, range % 2 AS odd FROM range(9999) ORDER BY 1"
    for limit in (3, 2000):
        first = [1 + 2 * at for at in range(limit)]
        assert narrowed(trace, "", "odd", limit, sql=sql) == first
        last = [2 * at for at in range(limit)]
        assert narrowed(trace, "", "odd:asc", limit, sql=sql) == last


def test_the_column_that_rows_are_sorted_by_is_shown_and_early(trace: MakeTrace) -> None:
    rows = trace(kernel=KERNELS, kernel_name=NAMES).query("kernel_summary")
    usual = [each.name for each in table(rows, View()).columns]
    assert "unfinished" not in usual
    by_it = table(narrow(rows, Narrowing("", "unfinished")), View())
    assert [each.name for each in by_it.columns] == [usual[0], "unfinished", *usual[1:]]
    as_before = table(narrow(rows, Narrowing("", usual[1])), View())
    assert [each.name for each in as_before.columns] == usual


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        (("totl_ns > 1", ""), "there is no column 'totl_ns'", "did you mean total_ns"),
        (("", "totl_ns"), "there is no column 'totl_ns'", "did you mean total_ns"),
        (("", "total_ns:up"), "'up' is not a sort order", "--sort total_ns:asc"),
    ],
)
def test_a_column_that_is_not_there_has_a_neighbour(
    trace: MakeTrace, given: tuple[str, str], message: str, hint: str
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        narrowed(trace, *given)
    assert hint in raised.value.hint


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("total_ns >", "--where 'total_ns >' cannot be used: syntax error at its end"),
        ("1 = 1 ORDER", "--where '1 = 1 ORDER' cannot be used: syntax error at or near \"ORDER\""),
        ("name > 3", "--where 'name > 3' cannot be used: Cannot compare values"),
        ("nothing(name)", "--where 'nothing(name)' cannot be used: Scalar Function"),
    ],
)
def test_a_condition_that_is_none_is_told_as_it_was_given(
    trace: MakeTrace, where: str, told: str
) -> None:
    with pytest.raises(UsageError) as raised:
        narrowed(trace, where)
    assert raised.value.message.startswith(told)
    assert "\n" not in raised.value.message
    assert raised.value.hint == (
        "it is SQL that is true or false of each row, such as 'total_ns > 1e6'"
    )


def test_of_a_time_and_its_share_the_time_has_the_short_name(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS, device="process_id device_id device_uuid\n5000000001 0 GPU-a")
    headings = {each.name: each.heading for each in table(opened.query("gpu_busy"), View()).columns}
    assert headings["busy_ns"] == "busy"
    assert headings["busy_pct"] == "busy_pct"
    # A share that is named after the whole is not its length.
    assert [Column(name, "%").heading for name in ("span_pct", "gap_pct")] == ["span_pct", "gap"]


def test_kernels_whose_names_were_never_mangled_have_short_labels(trace: MakeTrace) -> None:
    opened = trace(
        kernel=KERNELS,
        kernel_name=NAMES,
        device="process_id device_id device_uuid\n5000000001 0 GPU-a\n5000000002 0 GPU-a",
        api_call="process_id domain name start_ns end_ns\n5000000002 runtime cudaFree 1 2",
    )
    (label,) = (each for each in table(opened.query("gap_attribution"), View()).columns
                if each.is_label)  # fmt: skip
    assert set(label.cells) == {"a", "b"}


def test_texts_that_differ_are_cut_so_that_they_do(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    long = "a_function_with_a_long_name"
    opened = trace(kernel=f"name\n{long}_1_and_an_end\n{long}_2_and_an_end")
    lines, _ = drawn(opened.sql("SELECT name FROM kernel"), View(), terminal=True)
    assert len(set(lines[-2:])) == 2


def test_a_sentence_takes_the_lines_that_it_needs(
    trace: MakeTrace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = "the process ended without an orderly exit: what CUPTI still held is lost"
    opened = trace(loss=f"process_id cause records detail\n1 killed - '{said}'")
    health = opened.query("capture_health")
    lines, _ = drawn(health.refined("WHERE section = 'loss'"), View(), terminal=True)
    first, *rest = lines[2:]
    assert first.split()[:2] == ["loss", "killed"]
    column = first.index("the process")
    assert all(line[:column].isspace() for line in rest)
    words = " ".join(line[column:].rstrip(" -") for line in (first, *rest))
    assert " ".join(words.split()) == said
    command = opened.sql(f"SELECT 'run' AS section, '{'--flag=on ' * 100}' AS detail")
    lines, _ = drawn(command, View(), terminal=True)
    assert len(lines) == 2 + 5
    assert "…" in lines[-1]


def test_advice_is_told_to_its_end(trace: MakeTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    advice = " ".join(f"word{at:02d}" for at in range(30))
    rows = trace().sql(
        "SELECT 503e6 AS saved_ns, 'stall_copy' AS kernel, 'long_scoreboard' AS stall,"
        f" 96.8 AS of_pct, '{advice}' AS advice"
    )
    lines, _ = drawn(rows, View(), terminal=True)
    words = [line[lines[2].index("word00") :].split() for line in lines[2:]]
    assert [word for line in words for word in line] == advice.split()


def test_whose_a_row_is_comes_before_what_a_narrow_terminal_drops(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS.replace("5000000001 0", "5000000002 1"))
    shown = names(table(opened.query("kernel_category"), View()).columns)
    assert shown.index("gpu") == 2


@pytest.mark.parametrize(("other", "heading"), [(5, []), (6, ["thread"])])
def test_threads_are_told_apart(trace: MakeTrace, other: int, heading: list[str]) -> None:
    opened = trace(
        kernel="process_id device_id correlation_id start_ns end_ns name\n1 0 1 30 40 k",
        api_call=f"""
            process_id thread_id correlation_id domain  start_ns end_ns name
            1          5         1              runtime 10       20     cudaDeviceSynchronize
            1          {other}   2              runtime 30       90     cudaStreamSynchronize
        """,
    )
    columns = table(opened.query("sync_cost"), View()).columns
    assert [each.heading for each in columns if each.name == "thread_id"] == heading


def test_of_columns_for_which_there_is_no_room_those_of_zeros_go_first() -> None:
    def counted(name: str, value: int, unit: str) -> Shown:
        return Shown(name, "h", ["1234567"], True, values=[value, 0], unit=unit)

    columns = [counted("gpu", 0, "1"), counted("none", 0, "ns"), counted("some", 7, "ns")]

    def kept(room: int) -> list[str]:
        return [each.name for each, _ in fit(columns, room)]

    assert kept(16) == ["gpu", "some"]
    assert kept(25) == ["gpu", "none", "some"]


def test_operators_that_used_no_gpu_have_the_time_of_the_host_by_which_they_are_sorted(
    trace: MakeTrace,
) -> None:
    opened = trace(
        marker="""
            process_id thread_id marker_id event timestamp_ns domain name
            1          5         1         start 0            cpu_op aten::linear
            1          5         1         end   40           cpu_op -
            1          5         2         start 10           cpu_op aten::addmm
            1          5         2         end   30           cpu_op -
        """
    )
    shown = lines_within(opened.query("operator_summary"), View(), 50)
    assert [line.split() for line in shown[-2:]] == [
        ["0", "0", "1", "20", "ns", "40", "ns", "aten::linear"],
        ["0", "0", "1", "20", "ns", "20", "ns", "aten::addmm"],
    ]


def test_a_heading_in_words() -> None:
    names = ("idle_pct", "gpu_ns", "exposed_communication", "tflops_per_s", "name")
    words = ["idle %", "gpu time", "exposed communication", "tflops/s", "name"]
    assert [in_words(name) for name in names] == words


def test_numbers_have_three_digits_and_a_column_has_one_form(trace: MakeTrace) -> None:
    opened = trace(kernel="start_ns end_ns name\n0 10 k")
    rows = opened.sql("SELECT unnest([986.98, 1.0, 0.00417, 0.0]) AS rate, 2.0 AS runs")
    cells = {each.name: list(each.cells) for each in table(rows, View()).columns}
    assert cells == {"rate": ["987", "1.00", "0.00417", "0"], "runs": ["2"] * 4}


def test_a_long_name_leaves_room_for_other_texts() -> None:
    name = Shown("name", "name", ["k" * 120], False, is_label=True)
    detail = Shown("detail", "detail", ["d" * 40], False)
    assert [width for _, width in fit([name, detail], 130)] == [88, 40]
    assert [width for _, width in fit([name, detail], 80)] == [50, 28]
