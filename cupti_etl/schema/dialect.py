"""A small SQLAlchemy dialect for DuckDB, and what alembic needs to migrate with it.

It knows what the schema needs and no more: DDL in transactions, comments on tables
and columns, reflection, and statements with small results.  Large results belong to
DuckDB's own API, which stands at ``connection.connection.driver_connection``, in the
same transaction.  Once this module is imported, an engine is made with::

    sqlalchemy.create_engine("duckdb+etl:///run.duckdb?access_mode=read_only")

The URL's query names DuckDB settings.  ENUM and nested types are reflected as
:class:`VerbatimType`; savepoints do not exist in DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import sqlalchemy as sa
from alembic.ddl.base import ColumnComment
from alembic.ddl.impl import DefaultImpl
from sqlalchemy import pool
from sqlalchemy.dialects import registry
from sqlalchemy.engine import default, reflection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import compiler

from cupti_etl.schema import dbapi

if TYPE_CHECKING:
    from types import ModuleType

    from sqlalchemy.engine import URL, interfaces
    from sqlalchemy.types import TypeEngine

MAIN = "main"
# Tables and views, which share their names.
RELATIONS = (
    "(SELECT database_name, schema_name, table_name, comment FROM duckdb_tables()"
    " UNION ALL SELECT database_name, schema_name, view_name, comment FROM duckdb_views())"
)
# Reserved in DuckDB 1.5 and 2.0 (duckdb_keywords()), beyond SQLAlchemy's own list.
RESERVED = frozenset(
    ("describe", "fetch", "lambda", "lateral", "pivot", "pivot_longer", "pivot_wider", "qualify")
    + ("returning", "show", "summarize", "unpivot", "variadic", "window", "with")
)
_TYPES: dict[str, type[TypeEngine[Any]]] = {
    "BIGINT": sa.BigInteger,
    "BLOB": sa.LargeBinary,
    "BOOLEAN": sa.Boolean,
    "DATE": sa.Date,
    "DOUBLE": sa.Double,
    "FLOAT": sa.Float,
    "INTEGER": sa.Integer,
    "SMALLINT": sa.SmallInteger,
    "TIME": sa.Time,
    "TIMESTAMP": sa.DateTime,
    "UUID": sa.Uuid,
    "VARCHAR": sa.String,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


class VerbatimType(sa.types.UserDefinedType[Any]):
    """A DuckDB type that SQLAlchemy has no name for, kept as DuckDB writes it."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: Any) -> str:
        """The type's name in DDL."""
        return self.name


def to_sqlalchemy(name: str) -> TypeEngine[Any]:
    """The SQLAlchemy type of a ``data_type`` in duckdb_columns()."""
    if name in _TYPES:
        return _TYPES[name]()
    if name == "TIMESTAMP WITH TIME ZONE":
        return sa.DateTime(timezone=True)
    if decimal := _DECIMAL.fullmatch(name):
        return sa.Numeric(int(decimal[1]), int(decimal[2]))
    return VerbatimType(name)


class DuckDBIdentifierPreparer(compiler.IdentifierPreparer):
    """Quotes what DuckDB reserves."""

    reserved_words = compiler.RESERVED_WORDS | RESERVED


class DuckDBTypeCompiler(compiler.GenericTypeCompiler):
    """Writes types the way duckdb_columns() reports them, so that they compare as text."""

    def visit_VARCHAR(self, type_: sa.types.TypeEngine[Any], **kw: Any) -> str:
        return "VARCHAR"

    visit_CHAR = visit_NVARCHAR = visit_TEXT = visit_VARCHAR

    def visit_DATETIME(self, type_: sa.DateTime, **kw: Any) -> str:
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    visit_TIMESTAMP = visit_DATETIME

    def visit_NUMERIC(self, type_: sa.Numeric[Any], **kw: Any) -> str:
        if type_.precision is None:
            return "DECIMAL(18,3)"
        return f"DECIMAL({type_.precision},{type_.scale or 0})"


class DuckDBDialect(default.DefaultDialect):
    """DuckDB 1.5 to 2.x under SQLAlchemy 2.0 and 2.1."""

    name = "duckdb"
    driver = "etl"
    default_paramstyle = "qmark"
    preparer = DuckDBIdentifierPreparer
    type_compiler_cls = DuckDBTypeCompiler
    default_schema_name = MAIN
    supports_statement_cache = True
    supports_alter = True
    supports_comments = True
    supports_default_values = True
    supports_multivalues_insert = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_native_uuid = True
    supports_sane_multi_rowcount = False
    insert_returning = True
    update_returning = True
    delete_returning = True
    postfetch_lastrowid = False

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """DuckDB's module: its errors and parameter style."""
        return duckdb

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """One connection for a database in memory; none kept open for a file."""
        in_memory = not url.database or url.database.startswith(":memory:")
        return pool.SingletonThreadPool if in_memory else pool.NullPool

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of duckdb.connect(): the path, and the URL's query as settings."""
        return [url.database or ":memory:"], {"config": dict(url.query)}

    def connect(self, *args: Any, **kwargs: Any) -> interfaces.DBAPIConnection:
        """Open a database."""
        connection: Any = dbapi.Connection(duckdb.connect(*args, **kwargs))
        return connection  # type: ignore[no-any-return]

    def get_driver_connection(self, connection: Any) -> duckdb.DuckDBPyConnection:
        """DuckDB's own connection, for Arrow and for large results."""
        driver_connection: duckdb.DuckDBPyConnection = connection.driver_connection
        return driver_connection

    def do_begin(self, dbapi_connection: Any) -> None:
        """Start a transaction; DuckDB would otherwise commit each statement."""
        dbapi_connection.begin()

    def _get_server_version_info(self, connection: sa.Connection) -> tuple[int, ...]:
        return tuple(int(part) for part in duckdb.__version__.split(".")[:2])

    def _get_default_schema_name(self, connection: sa.Connection) -> str:
        return MAIN

    # Reflection.

    def _catalog(
        self, connection: sa.Connection, select: str, schema: str | None, **equal: str
    ) -> Sequence[Any]:
        # The catalogue functions also list attached databases and DuckDB's own.
        where = "".join(f" AND {column} = ?" for column in equal)
        query = (
            f"{select} WHERE database_name = current_database() AND schema_name = ?{where}"
            " ORDER BY 1"
        )
        return connection.exec_driver_sql(query, (schema or MAIN, *equal.values())).fetchall()

    def _of_table(
        self,
        connection: sa.Connection,
        select: str,
        schema: str | None,
        table: str,
        kw: dict[str, Any],
        **more: str,
    ) -> Sequence[Any]:
        rows = self._catalog(connection, select, schema, table_name=table, **more)
        if not rows and table not in self._relations(connection, schema, **kw):
            raise sa.exc.NoSuchTableError(table)
        return rows

    @reflection.cache
    def _relations(
        self, connection: sa.Connection, schema: str | None = None, **kw: Any
    ) -> set[str]:
        rows = self._catalog(connection, f"SELECT table_name FROM {RELATIONS}", schema)
        return {row[0] for row in rows}

    def has_table(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        """Whether there is a table or a view of that name."""
        select = f"SELECT 1 FROM {RELATIONS}"
        return bool(self._catalog(connection, select, schema, table_name=table_name))

    @reflection.cache
    def get_schema_names(self, connection: sa.Connection, **kw: Any) -> list[str]:
        """Schemas of the database."""
        query = (
            "SELECT schema_name FROM duckdb_schemas()"
            " WHERE database_name = current_database() ORDER BY 1"
        )
        return [row[0] for row in connection.exec_driver_sql(query)]

    @reflection.cache
    def get_table_names(
        self, connection: sa.Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Tables of a schema."""
        rows = self._catalog(connection, "SELECT table_name FROM duckdb_tables()", schema)
        return [row[0] for row in rows]

    @reflection.cache
    def get_view_names(
        self, connection: sa.Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Views of a schema, without DuckDB's own."""
        select = "SELECT view_name FROM (FROM duckdb_views() WHERE NOT internal)"
        return [row[0] for row in self._catalog(connection, select, schema)]

    @reflection.cache
    def get_view_definition(
        self, connection: sa.Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """The CREATE VIEW statement."""
        select = "SELECT sql FROM duckdb_views()"
        rows = self._catalog(connection, select, schema, view_name=view_name)
        if not rows:
            raise sa.exc.NoSuchTableError(view_name)
        return str(rows[0][0])

    @reflection.cache
    def get_columns(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedColumn]:
        """Columns of a table or view, in their order."""
        select = (
            "SELECT column_index, column_name, data_type, is_nullable, column_default, comment"
            " FROM duckdb_columns()"
        )
        return [
            {
                "name": name,
                "type": to_sqlalchemy(type_),
                "nullable": nullable,
                "default": default_,
                "autoincrement": False,
                "comment": comment,
            }
            for _, name, type_, nullable, default_, comment in self._of_table(
                connection, select, schema, table_name, kw
            )
        ]

    @reflection.cache
    def get_table_comment(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> interfaces.ReflectedTableComment:
        """The comment of a table or view."""
        select = f"SELECT comment FROM {RELATIONS}"
        return {"text": self._of_table(connection, select, schema, table_name, kw)[0][0]}

    def _constraints(
        self,
        connection: sa.Connection,
        table_name: str,
        schema: str | None,
        type_: str,
        kw: dict[str, Any],
    ) -> Sequence[Any]:
        select = (
            "SELECT constraint_index, constraint_name, constraint_column_names, referenced_table,"
            " referenced_column_names, expression FROM duckdb_constraints()"
        )
        return self._of_table(connection, select, schema, table_name, kw, constraint_type=type_)

    @reflection.cache
    def get_pk_constraint(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> interfaces.ReflectedPrimaryKeyConstraint:
        """The primary key."""
        for _, name, columns, *_ in self._constraints(
            connection, table_name, schema, "PRIMARY KEY", kw
        ):
            return {"name": name, "constrained_columns": columns}
        return {"name": None, "constrained_columns": []}

    @reflection.cache
    def get_foreign_keys(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedForeignKeyConstraint]:
        """Foreign keys; DuckDB allows them inside one schema only."""
        return [
            {
                "name": name,
                "constrained_columns": columns,
                "referred_schema": schema,
                "referred_table": referred,
                "referred_columns": referred_columns,
            }
            for _, name, columns, referred, referred_columns, _ in self._constraints(
                connection, table_name, schema, "FOREIGN KEY", kw
            )
        ]

    @reflection.cache
    def get_unique_constraints(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedUniqueConstraint]:
        """Unique constraints."""
        rows = self._constraints(connection, table_name, schema, "UNIQUE", kw)
        return [{"name": name, "column_names": columns} for _, name, columns, *_ in rows]

    @reflection.cache
    def get_check_constraints(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedCheckConstraint]:
        """Check constraints."""
        rows = self._constraints(connection, table_name, schema, "CHECK", kw)
        return [{"name": name, "sqltext": expression} for _, name, *_, expression in rows]

    @reflection.cache
    def get_indexes(
        self, connection: sa.Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[interfaces.ReflectedIndex]:
        """Indexes made with CREATE INDEX."""
        select = "SELECT index_name, is_unique, expressions::VARCHAR[] FROM duckdb_indexes()"
        return [
            {"name": name, "unique": unique, "column_names": [_unquote(term) for term in terms]}
            for name, unique, terms in self._of_table(connection, select, schema, table_name, kw)
        ]


def _unquote(term: str) -> str | None:
    # The column that an index term names; None for an expression.
    if term.startswith('"'):
        return term[1:-1].replace('""', '"')
    return term if term.isidentifier() else None


class DuckDBImpl(DefaultImpl):
    """Alembic on DuckDB: a migration that fails leaves nothing behind."""

    __dialect__ = DuckDBDialect.name
    transactional_ddl = True

    def compare_type(
        self, inspector_column: sa.Column[Any], metadata_column: sa.Column[Any]
    ) -> bool:
        """Whether the two columns' types differ in DDL."""
        process = self.dialect.type_compiler_instance.process
        return process(inspector_column.type) != process(metadata_column.type)


@compiles(ColumnComment, DuckDBDialect.name)
def _column_comment(element: ColumnComment, ddl: compiler.DDLCompiler, **kw: Any) -> str:
    column: sa.Column[Any] = sa.Column(element.column_name, comment=element.comment)
    sa.Table(element.table_name, sa.MetaData(), column, schema=element.schema)
    if element.comment is None:
        return ddl.process(sa.schema.DropColumnComment(column))
    return ddl.process(sa.schema.SetColumnComment(column))


registry.register(f"{DuckDBDialect.name}.{DuckDBDialect.driver}", __name__, DuckDBDialect.__name__)
