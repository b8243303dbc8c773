"""Text of a trace is shown and does nothing: in pages, on terminals, in spreadsheets."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pyarrow as pa
import pytest
from support.trace import MakeTrace, as_table, write_part, write_trace

import cupti_etl
from cupti_etl.analysis.diff import diff_as_given
from cupti_etl.analysis.html import html
from cupti_etl.analysis.report import build
from cupti_etl.render.csv import for_spreadsheet
from cupti_etl.render.escape import html_text, markdown_text, printable
from cupti_etl.render.output import FORMATS, InMemory, Output, write
from cupti_etl.schema.arrow import TABLES, arrow_schema

EVIL = (
    "</td></title></svg><script>alert('owned')</script>"
    "\x1b]0;owned\x07\x9b2J\u202e|`\"'&<img src=x onerror=alert(1)>"
)


class Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name == "href"]


def hostile(folder: Path, evil: str, labels: bool) -> Path:
    """A trace of some rows a table; in every text column but those that decide, stands ``evil``.

    Args:
        folder: of the trace.
        evil: the text.
        labels: also where queries expect one of few labels.
    """
    write_trace(folder)
    meant = {
        "memory": {"operation": "allocation", "memory_kind": evil},
        "marker": {"marker_type": "range"},
        "memcpy": {"copy_kind": "HtoD"},
        "process": {"state": "finished"},
    }
    for table in TABLES:
        schema = arrow_schema(table)
        rows = []
        for at in range(8):
            row: dict[str, object] = {}
            for field in schema:
                if field.name.endswith("_ns"):
                    late = field.name.endswith(("end_ns", "until_ns"))
                    row[field.name] = 1_000_000 * (at + 1) + (500_000 if late else 0)
                elif pa.types.is_string(field.type):
                    row[field.name] = evil
                elif pa.types.is_binary(field.type):
                    row[field.name] = evil.encode()
                elif pa.types.is_boolean(field.type):
                    row[field.name] = True
                elif field.name.endswith("_id"):
                    row[field.name] = 1 if field.name != "correlation_id" else at
                else:
                    row[field.name] = 4096
            row |= {} if labels else meant.get(table, {})
            rows.append(row)
        write_part(folder / table / "part-000000.parquet", pa.Table.from_pylist(rows, schema))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True])
def test_the_report_of_a_trace_of_hostile_text(tmp_path: Path, labels: bool) -> None:
    base = hostile(tmp_path / "a", EVIL, labels)
    with cupti_etl.open(base, confined=True) as trace:
        report = build(trace)
        assert not report.failed
        page, text = html(report), str(report)
    tags = Tags(page)
    assert tags.found <= {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "ol", "li", "b", "code",
        "table", "thead", "tbody", "tr", "th", "td", "svg", "g", "rect", "text", "line", "polyline",
        "nav", "ul", "a", "section", "div", "span", "i", "small", "input", "button", "canvas",
        "script",
    }  # fmt: skip
    # Its own script, and the data of the timeline, which no text in it can end.
    assert page.count("<script") == page.count("</script>") == 1 + page.count('timeline-data">')
    assert all(link.startswith("#section-") for link in tags.links)
    assert not {name for name in tags.attributes if name.startswith("on")} | (
        tags.attributes & {"src", "style"}
    )
    assert "owned" in page
    for shown in (page, text):
        assert all(char.isprintable() or char == "\n" for char in shown)
    assert "<script" not in text.replace("\\<script", "")
    assert "<img" not in text.replace("\\<img", "")


@pytest.mark.slow
def test_hostile_text_in_every_format(tmp_path: Path) -> None:
    """Also of diff, whose rows are written as those of a query are."""
    base, other = (hostile(tmp_path / name, EVIL, False) for name in "ab")
    with cupti_etl.open(base) as before, cupti_etl.open(other) as after:
        found = diff_as_given(before, after)
        rows = InMemory(found.table)
        assert rows.count() > 0
        for kind in FORMATS:
            write(rows, Output(kind, tmp_path / f"out.{kind}"))
    for kind in ("table", "markdown", "json"):
        text = (tmp_path / f"out.{kind}").read_text()
        assert "owned" in text
        assert all(char.isprintable() or char == "\n" for char in text), kind
    tags = Tags((tmp_path / "out.html").read_text()).found
    assert "table" in tags
    assert not {"script", "img"} & tags
    assert EVIL in {row["demangled"] for row in json.loads((tmp_path / "out.json").read_text())}
    # CSV in a file is for programs, which want it as it is.
    with (tmp_path / "out.csv").open(newline="") as file:
        assert EVIL in {row["demangled"] for row in csv.DictReader(file)}


def test_names_of_columns_are_shown_too(trace: MakeTrace, tmp_path: Path) -> None:
    result = trace().sql('SELECT 1 AS "\x1b[2J<script>|"')
    for kind, name in (("table", r"\x1b[2J<script>|"), ("markdown", r"\\x1b[2J\<script>\|")):
        write(result, Output(kind, tmp_path / kind))
        assert name in (tmp_path / kind).read_text()


def test_a_spreadsheet_gets_no_formula(trace: MakeTrace, tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "a=1", "", "'", "\x1b[2J"]
    listed = ", ".join(f"'{text.replace(chr(39), chr(39) * 2)}'" for text in texts)
    result = trace().sql(f'SELECT unnest([{listed}]) AS "=name", -1 AS number')
    write(result, Output(path=tmp_path / "out.csv", spreadsheet=True))
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["'=name"] for row in rows] == [
        "'=1+1", "'+1", "'-1", "'@a", r"'\t=1", r"'\r=1", "a=1", "", "'", r"\x1b[2J",
    ]  # fmt: skip
    assert {row["number"] for row in rows} == {"-1"}
    write(result, Output(path=tmp_path / "exact.csv"))
    assert '"=1+1"' in (tmp_path / "exact.csv").read_text()
    with pytest.raises(cupti_etl.EtlError, match="--spreadsheet is about CSV, not json"):
        Output("json", spreadsheet=True)


@pytest.mark.slow
def test_commands_that_write_for_spreadsheets(tmp_path: Path) -> None:
    run = write_trace(tmp_path / "run", kernel='process_id start_ns end_ns name\n 1 0 5 "=evil()"')
    for words in (
        ["sql", "--spreadsheet", run, "SELECT name FROM kernel"],
        ["query", "--spreadsheet", "kernel_named", run],
        ["export", run, "--to", "spreadsheet", "--table", "kernel", "-"],
    ):
        done = etl(*words)
        assert done.returncode == 0, done.stderr
        assert "'=evil()" in [cell for row in csv.reader(io.StringIO(done.stdout)) for cell in row]


def etl(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cupti_etl", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.slow
def test_errors_do_not_steer_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\u202e"
    part = as_table("kernel", "start_ns end_ns name\n 0 5 a")
    run = write_trace(tmp_path / f"run{evil}")
    write_part(run / "kernel" / "part-000000.parquet", part)
    broken = run / "kernel" / f"part-{evil}.parquet"
    broken.write_bytes(b"nothing")
    for words in (
        ["query", "kernel_summary", run],
        ["query", "kernel_summary", tmp_path / f"none{evil}"],
        ["query", f"none{evil}", run],
        ["import", tmp_path / f"none{evil}", "-o", tmp_path / "out"],
        [f"none{evil}"],
        ["report", "-o", f"out.{evil}", run],
    ):
        done = etl(*words)
        assert done.returncode != 0
        assert r"\x1b]0;owned\x07\u202e" in done.stderr
        assert all(char.isprintable() or char == "\n" for char in done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("\x9b\x00\x7f", r"\x9b\x00\x7f"),
        ("\udcff\u202e\ufeff", r"\udcff\u202e\ufeff"),
        ("gemm<float> ü", "gemm<float> ü"),
    ],
)
def test_what_is_not_to_be_seen_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_marks_of_markdown_and_html() -> None:
    assert markdown_text("a|b\nc") == r"a\|b c"
    assert markdown_text("f<float>, a < b, [x](y)") == r"f<float>, a < b, [x]\(y)"
    assert markdown_text("DtoD <= 4 KiB, <i a=b>") == r"DtoD <= 4 KiB, \<i a=b>"
    assert markdown_text("<Script>a</Script><x onclick=a>") == (
        r"\<Script>a\</Script>\<x onclick=a>"
    )
    assert html_text("<a href=\"x\" b='y'>&\x1b") == (
        "&lt;a href=&quot;x&quot; b=&#x27;y&#x27;&gt;&amp;\\x1b"
    )
    assert for_spreadsheet("kernel") == "kernel"
