"""The tables as SQLAlchemy describes them, and their DDL.

For trace files that hold the rows themselves; a folder of Parquet needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.types import TypeEngine

from cupti_etl.errors import SchemaError
from cupti_etl.schema import spec
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.dialect import DuckDBDialect
from cupti_etl.schema.types import TYPES

_BY_SQL: dict[str, type[TypeEngine[Any]]] = {
    "BIGINT": sa.BigInteger,
    "BLOB": sa.LargeBinary,
    "BOOLEAN": sa.Boolean,
    "DOUBLE": sa.Double,
    "INTEGER": sa.Integer,
    "SMALLINT": sa.SmallInteger,
    "VARCHAR": sa.String,
}


def _sql_types() -> dict[str, type[TypeEngine[Any]]]:
    missing = sorted({type_.sql for type_ in TYPES} - _BY_SQL.keys())
    if missing:
        raise SchemaError(f"schema/tables.py has no SQLAlchemy type for {', '.join(missing)}")
    return {type_.name: _BY_SQL[type_.sql] for type_ in TYPES}


SQL_TYPES = _sql_types()


def comment(column: spec.Column) -> str:
    """What the database says about a column: its doc line and its unit."""
    return column.doc if column.unit == "1" else f"{column.doc} Unit: {column.unit}."


def metadata(tables: Iterable[spec.Table] = TABLES.values()) -> sa.MetaData:
    """All tables, in the order of the specification.

    No column is NOT NULL and no table has a key: a trace stores what CUPTI gave.
    """
    result = sa.MetaData()
    for table in tables:
        columns = [
            sa.Column(column.name, SQL_TYPES[column.type.name](), comment=comment(column))
            for column in table.columns
        ]
        sa.Table(table.name, result, *columns, comment=table.doc)
    return result


def ddl(dialect: Dialect | None = None, tables: Iterable[spec.Table] = TABLES.values()) -> str:
    """CREATE TABLE and COMMENT statements, each ended by a semicolon and a newline.

    Args:
        dialect: whose SQL to write; DuckDB's if not given.
        tables: which tables.
    """
    dialect = dialect or DuckDBDialect()
    statements: list[sa.schema.ExecutableDDLElement] = []
    for table in metadata(tables).tables.values():
        statements.append(sa.schema.CreateTable(table))
        if dialect.supports_comments and not dialect.inline_comments:
            statements.append(sa.schema.SetTableComment(table))
            statements.extend(sa.schema.SetColumnComment(column) for column in table.columns)
    texts = (str(statement.compile(dialect=dialect)) for statement in statements)
    return "".join(f"{_tidy(text)};\n" for text in texts)


def _tidy(statement: str) -> str:
    lines = (line.rstrip() for line in statement.strip().splitlines())
    return "\n".join(line.replace("\t", "    ", 1) for line in lines)
