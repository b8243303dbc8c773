"""In a notebook: tables, charts, completion, and nothing of a trace that could run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any, get_args

import pytest
from support.trace import MakeTrace

from cupti_etl.api import Trace
from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.names import QueryName

KERNELS = """
    process_id device_id start_ns    end_ns      name
    1          0         1000000000  1004100000  k
    2          0         1000000000  1000012300  "<script>alert(1)</script>"
"""
PROCESSES = "process_id pid rank\n1 70 0\n2 71 1"


def test_a_result_is_a_table_of_what_people_want_first(trace: MakeTrace) -> None:
    page = trace(kernel=KERNELS, process=PROCESSES).query("kernel_summary")._repr_html_()
    assert page.startswith("<table><tr><th")
    assert page.count("<tr>") == 3
    assert "4.10 ms" in page
    assert "99.7 %" in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert re.findall("<th[^>]*>([^<]*)", page)[:2] == ["name", "percent"]
    assert "columns not shown: p95_ns" in page
    assert ".show(wide=True) shows them" in page


def test_a_trace_says_what_is_in_it(trace: MakeTrace) -> None:
    opened = trace(
        kernel=KERNELS,
        process=PROCESSES,
        capture="capture_id start_ns\n1 1000000000",
        device="process_id device_id device_uuid name\n1 0 a H200\n2 0 b H200",
    )
    page = opened._repr_html_()
    assert "rank 0, rank 1" in page
    assert "2 x H200" in page
    assert "2 process" in page
    assert page.index("2 kernel") < page.index("2 process"), "what ran comes first"
    assert "4.10 ms" in page
    assert "trace.queries.kernel_summary()" in page


def test_a_part_of_a_trace_says_that_it_is_one(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS, process=PROCESSES)
    with opened.scope(from_="1ns") as part:
        assert repr(part) == f"{opened!r}, part: from 1ns"
        assert ", part: from 1ns" in part._repr_html_()
    assert ", part:" not in f"{opened!r}{opened._repr_html_()}"


def test_a_result_is_shown_as_the_command_shows_it(
    trace: MakeTrace, capsys: pytest.CaptureFixture[str]
) -> None:
    result = trace(kernel=KERNELS, process=PROCESSES).query("kernel_summary")
    result.show(limit=1, time_unit="us")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["percent", "total", "calls", "mean", "median", "max", "name"]
    assert lines[2].split()[:4] == ["99.7", "%", "4,100.000", "us"]
    assert lines[3] == "1 more row: .show(limit=N) or .df()", "what can be done in Python"
    result.show(raw=True)
    assert "4100000" in capsys.readouterr().out


# Stands in for the kernel of a notebook; what is displayed and printed comes back as JSON.
_KERNEL = """
import io, json, sys
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
out, sys.stdout = sys.stdout, stream()
shell = InteractiveShell.instance(display_pub_class=CapturingDisplayPublisher, colors="nocolor")
told = []
for cell in json.loads(sys.argv[1]):
    shell.run_cell(cell, store_history=True)
    told.append([sys.stdout.getvalue(), [each["data"] for each in shell.display_pub.outputs]])
    sys.stdout.truncate(sys.stdout.seek(0)), shell.display_pub.outputs.clear()
json.dump(told, out)
"""
Told = list[tuple[str, list[dict[str, Any]]]]


def run_cells(opened: Trace, *cells: str) -> Told:
    """What cells print and display."""
    pytest.importorskip("IPython")
    first = f"import cupti_etl\ntrace = cupti_etl.open({str(opened.path)!r})"
    command = [sys.executable, "-c", _KERNEL, json.dumps([first, *cells])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told: Told = json.loads(done.stdout)
    assert told[0] == ["", []]
    return told[1:]


@pytest.mark.slow
def test_a_notebook_shows_a_wide_table_as_one(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS, process=PROCESSES)
    cells = (
        "query('kernel_summary').show(wide=True, limit=1)",
        "sql('FROM kernel').show(raw=True)",
    )
    (printed, (wide,)), (_, (raw,)) = run_cells(opened, *(f"trace.{cell}" for cell in cells))
    assert printed == ""
    assert "p95" in re.findall("<th[^>]*>([^<]*)", wide["text/html"])
    assert "1 more row: .show(limit=N) or .df()" in wide["text/html"]
    assert wide["text/plain"].split()[0] == "percent"
    assert "1000012300" in raw["text/html"]
    into = "with contextlib.redirect_stdout(io.StringIO()) as text:"
    caught = f"import contextlib, io\n{into} trace.{cells[0]}\nprint(text.getvalue())"
    ((printed, displayed),) = run_cells(opened, caught)
    assert printed.split()[0] == "percent", "what is to go elsewhere is text"
    assert not displayed


@pytest.mark.slow
def test_a_notebook_shows_the_line_that_was_wrong(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS)
    cells = (
        "def ask(name):\n    return trace.query(name)\nask('kernel_sumary')",
        "trace.sql('SELECT nothing FROM kernel')",
        "late = trace.query('kernel_summary')\ntrace.close()",
        "late",
        "%xmode Verbose\ntrace.query('kernel_sumary')",
    )
    (named, _), (sql, _), _, (late, _), (verbose, _) = run_cells(opened, *cells)
    assert "ask('kernel_sumary')" in named
    assert "return trace.query(name)" in named
    assert "there is no query 'kernel_sumary'\ndid you mean kernel_summary" in named
    assert named.count("line ") == 2, "the reader's alone"
    assert "-> 1 trace.sql(" in sql
    assert "direct cause" not in sql
    assert len(sql.splitlines()) < 12
    assert "UsageError: the trace is closed\nopen it again\n" in late
    assert "File " not in late
    assert "catalog.py" in verbose


def test_a_cell_is_as_wide_as_it_needs(trace: MakeTrace) -> None:
    mangled = "_Z" + "k" * 5000
    kernels = f"start_ns end_ns name process_id\n1000 2000 {mangled} 1"
    opened = trace(kernel=kernels, process=PROCESSES)
    page = opened.sql("SELECT process_id, name, 'outside CUDA' AS cause FROM kernel")._repr_html_()
    cells = dict(re.findall('<td style="([^"]*)">([^<]*)', page))
    short, long = (each for each in cells if "left" in each)
    assert "nowrap" in short
    assert cells[short] == "outside CUDA"
    assert "overflow-wrap" in long
    assert len(cells[long]) == 240
    assert "…" in cells[long]


def test_an_answer_without_rows_says_why(
    trace: MakeTrace, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = trace(kernel=KERNELS, process=PROCESSES)
    why = "no rows: no PCs were sampled (capture with --pc-sampling)."
    assert why in opened.query("stall_advice")._repr_html_()
    opened.query("stall_advice").show()
    assert capsys.readouterr().out.splitlines()[-1] == why
    assert "no rows</small>" in opened.sql("SELECT 1 WHERE false")._repr_html_()
    with opened.scope(from_="1s") as part:  # what it lacks is in the rest
        page = part.query("kernel_summary")._repr_html_()
        assert "no rows: in this part of the trace (from 1s), no kernels were recorded.</" in page
    hidden = (
        "no rows: every row is hidden by min_calls, which is 9 executions; min_calls=0 shows them."
    )
    opened.query("kernel_worst", named="k", min_calls=9).show()
    assert capsys.readouterr().out.splitlines()[-1] == hidden
    opened.sql("FROM memcpy").show()
    assert capsys.readouterr().out.splitlines()[-1] == "no rows: memcpy: no copies were recorded."
    assert "no rows" not in opened.query("kernel_summary")._repr_html_()
    ((_, (shown,)),) = run_cells(opened, "trace.query('stall_advice').show()")
    assert why in shown["text/html"]
    assert why in shown["text/plain"]


def test_queries_are_attributes(trace: MakeTrace) -> None:
    opened = trace(kernel=KERNELS)
    assert [row["calls"] for row in opened.queries.kernel_summary()] == [1, 1]
    assert opened.queries.gpu_gaps(min_ns=5).count() == 0
    assert set(dir(opened.queries)) == set(opened.queries) == set(get_args(QueryName))
    assert opened.queries.kernel_summary.__doc__ == library()["kernel_summary"].doc
    assert "kernel_summary: Which kernels take the time?" in repr(opened.queries)
    with pytest.raises(AttributeError, match="did you mean kernel_summary"):
        _ = opened.queries.kernel_sumary


def test_a_query_has_its_chart(trace: MakeTrace) -> None:
    pytest.importorskip("altair")
    made = trace(kernel=KERNELS, process=PROCESSES).query("kernel_summary").plot().to_dict()
    assert made["mark"]["type"] == "bar"
    assert made["encoding"]["x"]["title"] == "total [ms]"
    assert made["encoding"]["y"]["axis"]["labelLimit"] > 60 * 6, "names are cut once, by us"
    assert [row["y"] for row in made["data"]["values"]] == [4.1, 0.0123]


def test_what_has_no_chart_says_so(trace: MakeTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = trace(kernel=KERNELS)
    with pytest.raises(UsageError, match="no chart is known"):
        opened.sql("SELECT 1").plot()
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match="altair is not installed") as raised:
        opened.query("kernel_summary").plot()
    assert "cupti-etl[plot]" in raised.value.hint
