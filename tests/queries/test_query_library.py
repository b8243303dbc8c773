"""Gates of the library: each query says what it is, truly.  Each gate is seen to fail."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from support.opened_once import Opened
from support.trace import write_trace

from cupti_etl.cli import cli
from cupti_etl.errors import SchemaError, UsageError
from cupti_etl.queries.catalog import LIBRARY, TABLE_EXTENT, Catalog, Library, library
from cupti_etl.queries.header import parse
from cupti_etl.queries.plain_library import library_views
from cupti_etl.queries.query import Chart, Label, Query
from cupti_etl.queries.reference import describe, overview, queries_markdown
from cupti_etl.queries.runner import call, connect, empty_views
from cupti_etl.queries.tables import table_extent
from cupti_etl.storage.sources import identifier

GOOD = """\
-- Kernels of a device.
--
-- computed: The rows of kernel
--   with the device.
-- parameters:
--   device INTEGER: The device.
--   min_ns BIGINT = 0 [ns]: Shortest duration
--     that is listed.
-- columns:
--   start_ns BIGINT [ns]: When it began.
--   name VARCHAR: Mangled name.
SELECT start_ns, name FROM kernel
WHERE device_id = device AND end_ns - start_ns >= min_ns;
"""


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Of each query there are the columns that it declares.

    So a query's own columns follow from those that the queries which it reads declare, and are
    theirs, too; that they are all there together, test_abstaining sees.
    """
    with connect() as connection:
        for statement in empty_views():
            connection.execute(statement)
        connection.execute(f"CREATE VIEW {TABLE_EXTENT} AS\n{table_extent()}")
        for query in library():
            columns = (f"CAST(NULL AS {c.type}) AS {identifier(c.name)}" for c in query.columns)
            takes = ", ".join(f"{field.name} := NULL" for field in query.parameters)
            what = f"MACRO {query.name}({takes}) AS TABLE" if takes else f"VIEW {query.name} AS"
            connection.execute(f"CREATE {what} SELECT {', '.join(columns)}")
        yield connection


def install(con: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
    for statement in (*empty_views(), *library_views(catalog)):
        con.execute(statement)


def declared_and_real(con: duckdb.DuckDBPyConnection, query: Query) -> list[str]:
    """What the header says and DuckDB does not, and the reverse."""
    given = "".join(f", {field.name} := NULL" for field in query.parameters)[2:]
    # Under a name of its own, as its own name has what it declares.
    con.execute(query.create.replace(query.name, "_real", 1))
    real = con.sql(f"DESCRIBE FROM _real{f'({given})' if given else ''}").fetchall()
    con.execute(f"DROP {'MACRO TABLE' if given else 'VIEW'} _real")
    says = [(field.name, field.type) for field in query.columns]
    does = [(row[0], row[1]) for row in real]
    return [f"{name} {kind}" for name, kind in set(says) ^ set(does)] or [
        f"order: {does}" for _ in range(says != does)
    ]


def needed_and_read(con: duckdb.DuckDBPyConnection, query: Query) -> set[str]:
    """What the header says that it reads and it does not, and the reverse."""
    (tree,) = con.execute("SELECT json_serialize_sql($1)", [query.sql]).fetchall()[0]
    named = r"(\w+) (?:USING KEY \(\w+\) )?AS (?:(?:NOT )?MATERIALIZED )?\("
    with_names = set(re.findall(named, query.sql)) | {"unnest", "range"}
    return (set(tables_of(json.loads(tree))) - with_names) ^ set(query.needs)


def tables_of(node: Any) -> Iterator[str]:
    """The tables that a syntax tree of DuckDB reads."""
    if isinstance(node, dict) and node.get("type") == "BASE_TABLE":
        yield node["table_name"]
    if isinstance(node, dict) and node.get("type") == "TABLE_FUNCTION":
        yield node["function"]["function_name"]
    if isinstance(node, (dict, list)):
        for each in node.values() if isinstance(node, dict) else node:
            yield from tables_of(each)


@pytest.mark.parametrize("query", list(library()), ids=lambda query: query.name)
def test_declared_columns_are_the_real_ones(con, query: Query) -> None:
    assert declared_and_real(con, query) == []


@pytest.mark.parametrize("query", list(library()), ids=lambda query: query.name)
def test_needs_are_what_is_read(con, query: Query) -> None:
    assert needed_and_read(con, query) == set()


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*/*.sql")), ids=lambda path: path.stem)
def test_house_style(path: Path) -> None:
    text = path.read_text()
    assert all(len(line) <= 100 for line in text.splitlines())
    keywords = r"\b(select|from|where|group by|order by|join|union|with|case|over)\b"
    begin = re.search(r"^(SELECT|WITH|FROM)\b", text, re.MULTILINE)
    assert begin is not None
    body = text[begin.start() :]
    code = "\n".join(line.split("--")[0] for line in body.splitlines())
    assert not re.findall(keywords, re.sub(r"'[^']*'", "", code)), "keywords are upper-case"
    assert not QUADRATIC.search(code), "sum(CASE ...) numbers rows in one pass"


def test_a_gpu_without_a_record_has_the_same_number_in_all_queries() -> None:
    """Rows are joined by it.  A macro that says it once takes 0.3 s more of ten million kernels."""
    numbered = [
        re.sub(r"\w+\.(?=process_id|device_id)", "", line.strip())
        for query in library()
        for line in query.sql.splitlines()
        if re.search(r"hash\((\w+\.)?process_id, (\w+\.)?device_id\)", line)
    ]
    unknown = "coalesce(gpu.gpu, -1 - TRY_CAST((hash(process_id, device_id) >> 33) AS BIGINT))"
    assert {each.removeprefix("SELECT ") for each in numbered} == {unknown}
    assert len(numbered) > 1


# DuckDB counts all rows before anew for each row, if the count of rows has a filter.
QUADRATIC = re.compile(r"count\(\*\)\s+FILTER\s+\([^;]{1,200}?OVER\s+\([^)]*UNBOUNDED PRECEDING")


def test_a_count_that_takes_time_by_the_square_is_found() -> None:
    count = "count(*) FILTER (WHERE NOT is_next) OVER (ORDER BY at ROWS {} PRECEDING)"
    assert QUADRATIC.search(count.format("UNBOUNDED"))
    assert not QUADRATIC.search(count.format("4"))


@pytest.mark.parametrize(
    ("before", "after", "difference"),
    [
        ("start_ns BIGINT", "start_ns INTEGER", ["start_ns BIGINT", "start_ns INTEGER"]),
        ("--   name VARCHAR: Mangled name.\n", "", ["name VARCHAR"]),
        ("SELECT start_ns, name", "SELECT start_ns", ["name VARCHAR"]),
        ("SELECT start_ns, name", "SELECT name, start_ns", ["order"]),
    ],
)
def test_a_false_column_is_found(con, before: str, after: str, difference: list[str]) -> None:
    found = declared_and_real(con, parse(GOOD.replace(before, after), "planted", "test"))
    assert sorted(item.split(":")[0] for item in found) == difference


def test_a_false_need_is_found(con) -> None:
    without = re.sub(r"-- parameters:.*?(?=-- columns)", "", GOOD, flags=re.DOTALL)
    plain = without.replace("WHERE device_id = device AND end_ns - start_ns >= min_ns", "")
    assert needed_and_read(con, parse(plain, "planted", "test")) == set()
    assert parse(plain, "planted", "test").needs == ("kernel",)
    # Needs are what stands behind FROM and JOIN.
    wrong = parse(plain.replace("FROM kernel", "FROM kernel, memcpy"), "planted", "test")
    assert needed_and_read(con, wrong) == {"memcpy"}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("-- Kernels of a device.\n", "", "the header has no 'doc'"),
        ("-- computed: The rows of kernel\n--   with the device.\n", "", "has no 'computed'"),
        ("-- columns:", "-- limits: One.\n-- limits: Two.\n-- columns:", "'limits' stands twice"),
        ("-- columns:", "-- reads: memcpy\n-- columns:", "neither a key nor"),
        ("[ns]: When it began.", ": When it began.", "cannot read"),
        (" [ns]: When it began.", ": When it began.", "needs the unit"),
        ("When it began.", "When it began", "must be a sentence"),
        ("name VARCHAR:", "share DOUBLE [%]:", "must say of what"),
        ("name VARCHAR:", "start_ns BIGINT [ns]:", "stands twice"),
        ("--   name VARCHAR", "--   nothing.*\n--   name VARCHAR", "no table 'nothing'"),
        ("name VARCHAR: Mangled name.", "name, nothing of kernel", "kernel has no column 'noth"),
        ("-- columns:", "-- requires: kernel, gpu\n-- columns:", "cannot read 'gpu'"),
        ("--   start_ns", "--     goes on\n--   start_ns", "continues nothing"),
        ("SELECT start_ns", "DELETE start_ns", "must be one SELECT"),
        (
            "-- columns:",
            "-- first: end_ns\n-- columns:",
            "first names 'end_ns', which is no column",
        ),
        ("-- columns:", "-- label: name is kernel\n-- columns:", "cannot read 'name is kernel'"),
        ("-- columns:", "-- label: name = kernel(x)\n-- columns:", "label names 'x', which is no"),
        ("-- columns:", "-- chart: pie(name, start_ns)\n-- columns:", "cannot read 'pie(name,"),
        (
            "-- columns:",
            "-- chart: lines(name, start_ns, by name)\n-- columns:",
            "cannot read 'lines",
        ),
        (
            "-- columns:",
            "-- chart: bars(name, start_ns, by x)\n-- columns:",
            "chart names 'x', which",
        ),
        ("-- columns:", "-- chart: bars(name, x)\n-- columns:", "chart names 'x', which is no"),
        ("-- columns:", "-- scope: name\n-- columns:", "cannot read the scope 'name'"),
        ("-- columns:", "-- scope: start_ns to end_ns\n-- columns:", "scope names 'end_ns', which"),
        ("-- columns:", "-- scope: start_ns\n-- columns:", "has no scope of its own"),
        ("-- columns:", "-- scope: host start_ns\n-- columns:", "needs process_id"),
        ("-- columns:", "-- front: All kernels\n-- columns:", "front must be a question"),
        ("-- columns:", "-- front: Which?\n-- columns:", "a front query needs first"),
        (
            "-- columns:",
            "-- example: cupti-etl query x\n-- columns:",
            "cannot read 'cupti-etl query",
        ),
        ("min_ns;\n", "min_ns;\n\n-- partial\nSELECT 1;\n", "only what has a merge is partial"),
        ("min_ns;\n", "min_ns;\n\n-- merge\nDELETE 1;\n", "merge must be one SELECT"),
        ("min_ns;\n", "min_ns;\n\n-- merge\nFROM a\n-- merge\nFROM b\n", "'merge' stands twice"),
        (
            "min_ns;\n",
            "min_ns;\n\n-- partial\nFROM a;\n\n-- merge\nFROM partial;\n",
            "a partial takes no parameters",
        ),
        (
            "-- columns:",
            "-- approximate: name\n-- columns:",
            "only what has a merge is partial, approximate or shared",
        ),
    ],
)
def test_a_wrong_header_is_refused(before: str, after: str, message: str) -> None:
    assert before in GOOD
    with pytest.raises(SchemaError, match=re.escape(message)):
        parse(GOOD.replace(before, after), "planted", "test")


def test_how_an_answer_looks() -> None:
    keys = """-- front: Which kernels ran?
-- first: name, start_ns
-- label: name = kernel(name)
-- chart: bars(name, start_ns)
-- example: cupti-etl query planted TRACE
-- alias: theirs, cuda_other_sum
-- renamed: before
-- scope: steady
-- columns:"""
    query = parse(GOOD.replace("-- columns:", keys), "planted", "test")
    assert (query.front, query.first) == ("Which kernels ran?", ("name", "start_ns"))
    assert query.label == Label("name", "kernel", ("name",))
    assert query.chart == Chart("bars", "name", "start_ns")
    assert query.scope == "steady"
    catalog = Catalog([query])
    assert {catalog[name].name for name in ("theirs", "cuda_other_sum", "before")} == {"planted"}
    twin = parse(GOOD.replace("-- columns:", "-- alias: planted\n-- columns:"), "twin", "test")
    with pytest.raises(SchemaError, match="the name 'planted' is taken"):
        Catalog([query, twin])
    with pytest.raises(SchemaError, match="a building block cannot be a front query"):
        parse(GOOD.replace("-- columns:", keys), "_planted", "test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("examples") / "TRACE")


@pytest.mark.parametrize(
    "query", [each for each in library() if each.example], ids=lambda query: query.name
)
def test_examples_run(folder: Path, opened: Opened, query: Query) -> None:
    words = shlex.split(query.example.replace("TRACE", str(folder)))
    with opened.for_commands():
        done = CliRunner().invoke(cli, words[1:])
    assert done.exit_code == 0, done.output


def named(name: str, needs: str) -> Query:
    return parse(GOOD.replace("FROM kernel", f"FROM {needs}"), name, "test")


def test_names_and_needs_must_fit_together() -> None:
    with pytest.raises(SchemaError, match="the name is taken"):
        Catalog([named("kernel", "memcpy")])
    with pytest.raises(SchemaError, match="the name is taken"):
        Catalog([named("one", "memcpy"), named("one", "memcpy")])
    opened = GOOD.replace("-- columns:", "-- opened: It is deep.\n-- columns:")
    with pytest.raises(SchemaError, match="needs one, which is of an opened trace only"):
        Catalog([parse(opened, "one", "test"), named("two", "one")])
    with pytest.raises(SchemaError, match="needs 'nothing', which does not exist"):
        Catalog([named("one", "nothing")])
    with pytest.raises(SchemaError, match="need each other: a -> b -> a"):
        Catalog([named("a", "b"), named("b", "a")])
    assert [query.name for query in Catalog([named("a", "b"), named("b", TABLE_EXTENT)])] == [
        "b",
        "a",
    ]


def test_a_query_with_parameters_is_a_table_macro(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test/planted.sql").write_text(GOOD)
    catalog = Library(tmp_path)
    query = catalog["planted"]
    assert query.computed == "The rows of kernel with the device."
    assert query.parameters[1].doc == "Shortest duration that is listed."
    with connect() as connection:
        install(connection, catalog)
        connection.execute(
            "CREATE OR REPLACE VIEW kernel AS"
            " SELECT 5 AS start_ns, 9 AS end_ns, 'a' AS name, 0 AS device_id"
        )
        assert connection.sql("FROM planted(0)").fetchall() == [(5, "a")]
        assert connection.sql("FROM planted(device := 0, min_ns := 5)").fetchall() == []
        sql = call(query, {"device": "0", "min_ns": "4"})
        given = {"device": "0", "min_ns": "4"}
        assert connection.sql(sql, params=given).fetchall() == [(5, "a")]
    with pytest.raises(UsageError, match="needs the parameter 'device'"):
        call(query, {})
    with pytest.raises(UsageError, match="has no parameter 'stream'") as raised:
        call(query, {"stream": 1})
    assert raised.value.hint == "its parameters: device, min_ns"
    assert "FROM planted(device := ..., min_ns := 0)" in describe(query)
    page = queries_markdown(catalog)
    assert "| min_ns | BIGINT | 0 | ns | Shortest duration that is listed. |" in page


def test_an_unknown_query_names_similar_ones() -> None:
    with pytest.raises(UsageError, match="no query 'kernel_sumary'") as raised:
        library()["kernel_sumary"]
    assert "kernel_summary" in raised.value.hint
    with pytest.raises(UsageError) as raised:
        library()["xyzzy"]
    assert raised.value.hint == "cupti-etl query --list"


def test_every_query_is_in_the_list_and_on_the_page() -> None:
    page, listing = queries_markdown(), overview(library())
    for query in library():
        assert f"### {query.name}\n" in page
        assert query.name in listing
        assert all(f"| {field.name} | {field.type} |" in page for field in query.columns)


def test_the_library_is_read_without_duckdb_or_pyarrow() -> None:
    import subprocess
    import sys

    code = (
        "import sys, cupti_etl.queries.reference as r; r.queries_markdown();"
        "print(sorted({'duckdb', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
