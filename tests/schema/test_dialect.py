"""The DuckDB dialect: statements, transactions, Arrow, reflection."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa
from sqlalchemy.sql import compiler

from cupti_etl.schema import dialect

ITEMS = sa.Table(
    "item",
    sa.MetaData(),
    sa.Column("id", sa.BigInteger(), primary_key=True, autoincrement=False),
    sa.Column("name", sa.String(40), server_default="it's", nullable=False, comment="50 % of 'it'"),
    sa.Column("size", sa.Double()),
    sa.Column("window", sa.SmallInteger()),
    sa.Column("Mixed Case", sa.Boolean()),
    comment="One row: an item.",
)


@pytest.fixture
def engine() -> Iterator[sa.Engine]:
    engine = sa.create_engine("duckdb+etl://")
    yield engine
    engine.dispose()


@pytest.fixture
def connection(engine: sa.Engine) -> Iterator[sa.Connection]:
    with engine.connect() as connection:
        ITEMS.metadata.create_all(connection)
        connection.commit()
        yield connection


def test_rows_come_back_as_they_were_inserted(connection: sa.Connection) -> None:
    row = {"id": 2**62, "name": "a", "size": 0.5, "window": 3, "Mixed Case": True}
    connection.execute(sa.insert(ITEMS), row)
    assert dict(connection.execute(sa.select(ITEMS)).one()._mapping) == row


def test_parameters_of_many_rows(connection: sa.Connection) -> None:
    connection.execute(sa.insert(ITEMS), [{"id": i, "name": str(i)} for i in range(5)])
    names = connection.scalars(sa.select(ITEMS.c.name).where(ITEMS.c.id.in_([1, 3])))
    assert sorted(names) == ["1", "3"]


def test_insert_returns_values_that_the_database_chose(connection: sa.Connection) -> None:
    statement = sa.insert(ITEMS).values(id=1).returning(ITEMS.c.name)
    assert connection.scalar(statement) == "it's"


def test_rowcount_is_the_number_of_changed_rows(connection: sa.Connection) -> None:
    connection.execute(sa.insert(ITEMS), [{"id": i} for i in range(3)])
    assert connection.execute(sa.update(ITEMS).where(ITEMS.c.id < 2).values(size=1)).rowcount == 2
    assert connection.execute(sa.delete(ITEMS)).rowcount == 3


def test_a_query_whose_column_is_named_count_has_rows(connection: sa.Connection) -> None:
    assert connection.exec_driver_sql('SELECT 7 AS "Count"').scalar_one() == 7


def test_two_open_results_do_not_disturb_each_other(connection: sa.Connection) -> None:
    numbers = connection.exec_driver_sql("SELECT range FROM range(3)")
    letters = connection.exec_driver_sql("SELECT unnest(['a', 'b', 'c'])")
    assert [(numbers.fetchone(), letters.fetchone()) for _ in range(3)] == [
        ((0,), ("a",)),
        ((1,), ("b",)),
        ((2,), ("c",)),
    ]
    assert numbers.fetchone() is None


def test_result_in_parts(connection: sa.Connection) -> None:
    result = connection.exec_driver_sql("SELECT range FROM range(5)")
    assert [len(part) for part in result.partitions(2)] == [2, 2, 1]


def test_rollback_undoes_rows_tables_and_comments(connection: sa.Connection) -> None:
    connection.execute(sa.insert(ITEMS), {"id": 1})
    connection.exec_driver_sql("CREATE TABLE more (a INTEGER)")
    connection.exec_driver_sql("COMMENT ON TABLE item IS 'other'")
    connection.rollback()
    assert connection.scalar(sa.select(sa.func.count()).select_from(ITEMS)) == 0
    inspector = sa.inspect(connection)
    assert inspector.get_table_names() == ["item"]
    assert inspector.get_table_comment("item") == {"text": "One row: an item."}


def test_a_failed_statement_can_be_rolled_back(connection: sa.Connection) -> None:
    connection.execute(sa.insert(ITEMS), {"id": 1})
    with pytest.raises(sa.exc.IntegrityError):
        connection.execute(sa.insert(ITEMS), {"id": 1})
    connection.rollback()
    assert connection.execute(sa.select(ITEMS)).all() == []


def test_rollback_after_a_commit_that_was_sent_as_sql(connection: sa.Connection) -> None:
    connection.execute(sa.insert(ITEMS), {"id": 1})
    connection.exec_driver_sql("COMMIT")
    connection.rollback()
    assert len(connection.execute(sa.select(ITEMS)).all()) == 1


def test_arrow_goes_through_the_same_transaction(connection: sa.Connection) -> None:
    connection.execute(sa.insert(ITEMS), [{"id": i} for i in range(3)])
    driver = connection.connection.driver_connection
    assert isinstance(driver, duckdb.DuckDBPyConnection)
    assert driver.sql("FROM item ORDER BY id").to_arrow_table()["id"].to_pylist() == [0, 1, 2]


def test_a_file_is_free_once_its_connection_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "a file.duckdb"
    engine = sa.create_engine(sa.URL.create("duckdb+etl", database=str(path)))
    with engine.begin() as connection:
        ITEMS.metadata.create_all(connection)
    read_only = sa.create_engine(f"duckdb+etl:///{path}?access_mode=read_only")
    with (
        read_only.connect() as connection,
        pytest.raises(sa.exc.DBAPIError, match="read-only"),
    ):
        connection.exec_driver_sql("DROP TABLE item")


def test_table_reflects_as_it_was_made(connection: sa.Connection) -> None:
    table = sa.Table("item", sa.MetaData(), autoload_with=connection)
    assert table.comment == ITEMS.comment
    assert [column.name for column in table.primary_key] == ["id"]
    assert table.c.name.comment == "50 % of 'it'"
    assert table.c.name.server_default is not None
    for column in ITEMS.columns:
        reflected = table.c[column.name]
        assert isinstance(reflected.type, type(column.type))
        assert reflected.nullable == column.nullable


def test_inspection_of_constraints_indexes_and_views(connection: sa.Connection) -> None:
    for statement in (
        "CREATE TABLE part (item BIGINT REFERENCES item (id), "
        "code INTEGER UNIQUE CHECK (code > 1))",
        'CREATE UNIQUE INDEX part_index ON part (item, "code")',
        "CREATE INDEX part_expression ON part ((code + 1))",
        "CREATE VIEW big AS SELECT id FROM item",
        "COMMENT ON VIEW big IS 'Large items.'",
    ):
        connection.exec_driver_sql(statement)
    inspector = sa.inspect(connection)
    assert inspector.get_schema_names() == ["main"]
    assert inspector.get_table_names() == ["item", "part"]
    assert inspector.get_view_names() == ["big"]
    assert "SELECT id FROM item" in inspector.get_view_definition("big")
    assert inspector.get_table_comment("big") == {"text": "Large items."}
    assert [column["name"] for column in inspector.get_columns("big")] == ["id"]
    assert inspector.get_pk_constraint("part")["constrained_columns"] == []
    (foreign,) = inspector.get_foreign_keys("part")
    assert (foreign["referred_table"], foreign["referred_columns"]) == ("item", ["id"])
    assert [key["column_names"] for key in inspector.get_unique_constraints("part")] == [["code"]]
    assert [check["sqltext"] for check in inspector.get_check_constraints("part")] == ["(code > 1)"]
    indexes = {index["name"]: index for index in inspector.get_indexes("part")}
    assert indexes["part_index"]["column_names"] == ["item", "code"]
    assert indexes["part_index"]["unique"]
    assert indexes["part_expression"]["column_names"] == [None]


@pytest.mark.parametrize(
    "method",
    [
        "get_columns",
        "get_table_comment",
        "get_pk_constraint",
        "get_foreign_keys",
        "get_unique_constraints",
        "get_check_constraints",
        "get_indexes",
        "get_view_definition",
    ],
)
def test_inspection_of_a_table_that_is_not_there(connection: sa.Connection, method: str) -> None:
    inspector = sa.inspect(connection)
    assert not inspector.has_table("nothing")
    with pytest.raises(sa.exc.NoSuchTableError):
        getattr(inspector, method)("nothing")


def test_attached_databases_are_not_reflected(connection: sa.Connection) -> None:
    connection.commit()
    connection.exec_driver_sql("ATTACH ':memory:' AS other")
    connection.exec_driver_sql("CREATE TABLE other.elsewhere (a INTEGER)")
    inspector = sa.inspect(connection)
    assert inspector.get_table_names() == ["item"]
    assert not inspector.has_table("elsewhere")


@pytest.mark.parametrize(
    ("type_", "ddl"),
    [
        (sa.String(7), "VARCHAR"),
        (sa.Text(), "VARCHAR"),
        (sa.Unicode(), "VARCHAR"),
        (sa.Enum("a", "b"), "VARCHAR"),
        (sa.Numeric(10, 2), "DECIMAL(10,2)"),
        (sa.Numeric(), "DECIMAL(18,3)"),
        (sa.DateTime(), "TIMESTAMP"),
        (sa.DateTime(timezone=True), "TIMESTAMP WITH TIME ZONE"),
        (sa.LargeBinary(), "BLOB"),
        (sa.Uuid(), "UUID"),
        (sa.Float(), "FLOAT"),
        (dialect.VerbatimType("STRUCT(a INTEGER, b VARCHAR[])"), "STRUCT(a INTEGER, b VARCHAR[])"),
        (dialect.VerbatimType("ENUM('a', 'b')"), "ENUM('a', 'b')"),
    ],
)
def test_types_compile_to_what_duckdb_reports(
    connection: sa.Connection, type_: sa.types.TypeEngine[object], ddl: str
) -> None:
    assert type_.compile(dialect=connection.dialect) == ddl
    sa.Table("typed", sa.MetaData(), sa.Column("a", type_)).create(connection)
    (column,) = sa.inspect(connection).get_columns("typed")
    assert column["type"].compile(dialect=connection.dialect) == ddl


def test_decimals_stay_exact(connection: sa.Connection) -> None:
    table = sa.Table("exact", sa.MetaData(), sa.Column("a", sa.Numeric(10, 2)))
    table.create(connection)
    connection.execute(sa.insert(table), {"a": Decimal("0.10")})
    assert connection.scalar(sa.select(table.c.a)) == Decimal("0.10")


def test_reserved_words_are_duckdbs(connection: sa.Connection) -> None:
    reserved = set(
        connection.exec_driver_sql(
            "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        ).scalars()
    )
    assert reserved - compiler.RESERVED_WORDS == dialect.RESERVED
