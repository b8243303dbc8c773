"""A trace over Flight SQL, as ADBC's driver and pyarrow's client ask it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from serve.flight import WITH_TOKEN, Running, ask, command, dbapi, refusal

Begin = Callable[..., Running]


@pytest.mark.slow
def test_tables_queries_and_functions(connection: Any) -> None:
    assert ask(connection, "SELECT count(*) AS n FROM kernel") == [{"n": 3}]
    assert [row["name"] for row in ask(connection, "FROM kernel_summary")] == ["b", "a"]
    assert [row["gap_ns"] for row in ask(connection, "FROM gap_attribution(min_ns := 10)")] == []
    assert ask(connection, 'SELECT count(*) AS n FROM "memory"."main"."gpu_busy"') == [{"n": 1}]


def test_values_are_bound_to_question_marks(connection: Any) -> None:
    statement = "SELECT name, start_ns FROM kernel WHERE name = ? AND start_ns > ?"
    assert ask(connection, statement, "b", 20) == [{"name": "b", "start_ns": 60}]
    assert ask(connection, statement, "b'; --", 20) == []
    (row,) = ask(connection, "SELECT ? AS f, ? AS b, ? AS n, $4 AS t", 1.5, b"\0x", None, "'")
    assert row == {"f": 1.5, "b": b"\0x", "n": None, "t": "'"}


def test_values_are_bound_by_name(connection: Any) -> None:
    with connection.cursor() as cursor:
        cursor.adbc_prepare("SELECT $b - $a AS n")
        cursor.adbc_statement.bind(pa.record_batch({"a": [1], "b": [5]}))
        stream, _ = cursor.adbc_statement.execute_query()
        reader = pa.RecordBatchReader._import_from_c(stream.address)
        assert reader.read_all().to_pylist() == [{"n": 4}]


def test_a_statement_is_executed_again_with_other_values(connection: Any) -> None:
    with connection.cursor() as cursor:
        for value in (1, 2):
            cursor.execute("SELECT ?::INTEGER AS n", (value,))
            assert cursor.fetchall() == [(value,)]


def test_values_that_do_not_fit(connection: Any) -> None:
    assert "to bind is 1, and 0 were sent" in refusal(connection, "SELECT ?")
    assert "to bind is 1, and 2" in refusal(connection, "SELECT ?", 1, 2)
    assert "to bind is 0, and 1" in refusal(connection, "SELECT 1", 1)
    assert "convert string 'x'" in refusal(connection, "FROM kernel WHERE start_ns > ?", "x")
    assert "longer than 256 KiB" in refusal(connection, "SELECT ?", "x" * (256 << 10))
    assert "longer than 256 KiB" in refusal(connection, "SELECT 1" + " " * (256 << 10))
    with connection.cursor() as cursor:
        cursor.adbc_prepare("SELECT ?")
        cursor.adbc_statement.bind(pa.record_batch({"a": [1, 2]}))
        with pytest.raises(dbapi.Error, match="2 executions"):
            cursor.adbc_statement.execute_query()


def test_the_columns_of_a_prepared_statement(connection: Any) -> None:
    with connection.cursor() as cursor:
        assert cursor.adbc_prepare("SELECT ?, ?").types == [pa.null()] * 2
        columns = cursor.adbc_execute_schema("SELECT 1::BIGINT AS n, 'x' AS t")
        assert columns == pa.schema([("n", pa.int64()), ("t", pa.string())])


@pytest.mark.slow
def test_what_there_is(connection: Any, kept_client: Any) -> None:
    (found,) = connection.adbc_get_objects(depth="columns").read_all().to_pylist()
    assert found["catalog_name"] == "memory"
    (schema,) = found["catalog_db_schemas"]
    assert schema["db_schema_name"] == "main"
    tables = {each["table_name"]: each for each in schema["db_schema_tables"]}
    # The same as the page shows.
    catalogue = kept_client.get("/catalogue.json").json()
    for each in catalogue["tables"]:
        assert tables.pop(each["name"])["table_type"] == "TABLE"
    for each in catalogue["queries"]:
        if not each["parameters"]:
            told = tables.pop(each["name"])
            assert told["table_type"] == "VIEW"
            columns = [column["column_name"] for column in told["table_columns"]]
            assert columns == [column["name"] for column in each["columns"]]
    assert not tables


def test_a_part_of_what_there_is(connection: Any) -> None:
    def names(**filters: Any) -> list[str]:
        (found,) = connection.adbc_get_objects(depth="tables", **filters).read_all().to_pylist()
        schemas = found["catalog_db_schemas"]
        return [each["table_name"] for each in schemas[0]["db_schema_tables"]] if schemas else []

    assert names(table_name_filter="kernel_s%y") == ["kernel_summary"]
    assert names(table_name_filter="gp_") == ["gpu"]
    assert names(table_name_filter="memcpy", table_types_filter=["VIEW"]) == []
    assert names(db_schema_filter="other") == []
    assert connection.adbc_get_table_types() == ["TABLE", "VIEW"]
    assert connection.adbc_get_table_schema("kernel").names[:2] == ["process_id", "start_ns"]


def test_declared_columns_are_those_of_the_answer(connection: Any) -> None:
    for name in ("kernel_summary", "gpu_busy", "kernel"):
        with connection.cursor() as cursor:
            answered = cursor.adbc_execute_schema(f"FROM {name}")
        assert connection.adbc_get_table_schema(name) == answered


def test_what_the_server_says_of_itself(connection: Any, running: Running) -> None:
    told = connection.adbc_get_info()
    assert told["vendor_name"] == "cupti-etl"
    assert told["vendor_arrow_version"] == pa.__version__
    rows = fetched(running, "CommandGetSqlInfo", {1: b"\x03\x08\xc0\xbb\x78"}).to_pylist()
    # Packed: 3 is whether it is read only, 8 transactions; the last is none.
    assert rows == [{"info_name": 3, "value": True}, {"info_name": 8, "value": 0}]


def fetched(running: Running, name: str, fields: dict[int, bytes] | None = None) -> pa.Table:
    """The answer to a command; its columns are those that were announced."""
    client = running.client()
    info = client.get_flight_info(command(name, fields), WITH_TOKEN)
    rows = client.do_get(info.endpoints[0].ticket, WITH_TOKEN).read_all()
    assert rows.schema == info.schema
    assert client.get_schema(command(name, fields), WITH_TOKEN).schema == info.schema
    return rows


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("CommandGetPrimaryKeys", 6),
        ("CommandGetExportedKeys", 13),
        ("CommandGetImportedKeys", 13),
        ("CommandGetCrossReference", 13),
    ],
)
def test_a_trace_has_no_keys(running: Running, name: str, count: int) -> None:
    rows = fetched(running, name, {3: b"kernel"})
    assert (rows.num_rows, rows.num_columns) == (0, count)


def test_catalogs_and_schemas(running: Running) -> None:
    assert fetched(running, "CommandGetCatalogs").to_pylist() == [{"catalog_name": "memory"}]
    one = {"catalog_name": "memory", "db_schema_name": "main"}
    assert fetched(running, "CommandGetDbSchemas", {2: b"m%"}).to_pylist() == [one]
    assert fetched(running, "CommandGetDbSchemas", {1: b"other"}).to_pylist() == []


def test_pandas_reads_it(connection: Any) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.read_sql("FROM kernel_summary", connection)
    assert list(frame["name"]) == ["b", "a"]


def test_polars_reads_it(connection: Any) -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    statement = "SELECT name FROM kernel WHERE start_ns > ?"
    frame = polars.read_database(statement, connection, execute_options={"parameters": (5,)})
    assert json.loads(frame.write_json()) == [{"name": "b"}, {"name": "b"}]
