"""The SQLAlchemy tables, their DDL, and the Parquet files of a trace agree."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from cupti_etl.errors import SchemaError
from cupti_etl.schema import tables
from cupti_etl.schema.arrow import TABLES, arrow_schema
from cupti_etl.schema.spec import Column, Table
from cupti_etl.schema.tables import comment, ddl, metadata
from cupti_etl.schema.types import TYPES, i64


@functools.cache
def created() -> duckdb.DuckDBPyConnection:
    """An empty database with all tables, made from the DDL text; it is only read."""
    connection = duckdb.connect()
    connection.execute(ddl())
    return connection


def test_every_table_and_column_is_there_in_order() -> None:
    made = metadata().tables
    assert list(made) == list(TABLES)
    for name, table in TABLES.items():
        assert made[name].columns.keys() == [column.name for column in table.columns]


@pytest.mark.parametrize("type_", TYPES, ids=lambda type_: type_.name)
def test_a_column_of_each_type_is_the_type_that_the_spec_names(type_: object) -> None:
    column = Column("a", i64, "", "A sentence.")
    object.__setattr__(column, "type", type_)  # enum would ask for labels
    (made,) = metadata([Table("one", "A row.", (column,))]).tables["one"].columns
    connection = duckdb.connect()
    connection.execute(ddl(tables=[Table("one", "A row.", (column,))]))
    reported = connection.execute(
        "SELECT data_type FROM duckdb_columns() WHERE table_name = 'one'"
    ).fetchone()
    assert reported == (column.type.sql,)
    assert made.nullable


def test_comments_are_doc_and_unit() -> None:
    connection = created()
    found = dict(connection.sql("SELECT table_name, comment FROM duckdb_tables()").fetchall())
    assert found == {name: table.doc for name, table in TABLES.items()}
    columns = connection.sql(
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
    ).fetchall()
    assert set(columns) == {
        (name, column.name, comment(column))
        for name, table in TABLES.items()
        for column in table.columns
    }
    assert comment(TABLES["kernel"].columns[1]) == "When the kernel began. Unit: ns."


def types_in_parquet(schema: pa.Schema, path: Path) -> list[tuple[str, str]]:
    """Columns and DuckDB types of a zero-row part."""
    pq.write_table(schema.empty_table(), path)
    rows = duckdb.connect().execute("DESCRIBE FROM read_parquet(?)", [str(path)]).fetchall()
    return [(row[0], row[1]) for row in rows]


def types_in_ddl(name: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in created().execute(f"DESCRIBE {name}").fetchall()]


@pytest.mark.parametrize("name", TABLES)
def test_duckdb_reads_the_same_types_from_parquet(name: str, tmp_path: Path) -> None:
    parquet = types_in_parquet(arrow_schema(name), tmp_path / "part-000000.parquet")
    assert parquet == types_in_ddl(name)


@pytest.mark.parametrize("other", [pa.int32(), pa.uint64(), pa.timestamp("ns"), pa.large_string()])
def test_another_type_in_parquet_is_noticed(other: pa.DataType, tmp_path: Path) -> None:
    schema = arrow_schema("clock").set(0, pa.field("realtime_ns", other))
    assert types_in_parquet(schema, tmp_path / "part.parquet") != types_in_ddl("clock")


def test_a_type_without_a_sqlalchemy_type_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "TYPES", (*TYPES, dataclasses.replace(i64, sql="HUGEINT")))
    with pytest.raises(SchemaError, match="HUGEINT"):
        tables._sql_types()


@pytest.mark.slow
def test_ddl_runs_through_sqlalchemy_as_well() -> None:
    engine = sa.create_engine("duckdb+etl://")
    with engine.begin() as connection:
        metadata().create_all(connection)
        assert sorted(sa.inspect(connection).get_table_names()) == sorted(TABLES)
    engine.dispose()


def test_ddl_of_one_table_in_another_dialect() -> None:
    text = ddl(postgresql.dialect(), [TABLES["clock"]])  # type: ignore[no-untyped-call]
    assert text.startswith("CREATE TABLE clock (\n    realtime_ns BIGINT,\n")
    assert text.count("COMMENT ON COLUMN") == len(TABLES["clock"].columns)
    assert "\t" not in text
