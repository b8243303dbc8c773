"""What Flight SQL's clients ask about a database: its catalog, tables and abilities.

The columns are those that FlightSql.proto of Apache Arrow prescribes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial

import pyarrow as pa

from cupti_etl import __version__
from cupti_etl.api import Trace
from cupti_etl.queries.catalog import library
from cupti_etl.queries.query import Query
from cupti_etl.queries.runner import connect
from cupti_etl.serve.flight.protobuf import Message
from cupti_etl.storage.sources import identifier

# As DuckDB calls the database of an opened trace.
CATALOG, SCHEMA = "memory", "main"
TABLE, VIEW = "TABLE", "VIEW"


def _columns(*names: str, needed: Collection[str] = ()) -> pa.Schema:
    return pa.schema([pa.field(name, pa.string(), name not in needed) for name in names])


_CATALOGS = _columns("catalog_name", needed=["catalog_name"])
_SCHEMAS = _columns("catalog_name", "db_schema_name", needed=["db_schema_name"])
_TABLES = _columns(
    "catalog_name",
    "db_schema_name",
    "table_name",
    "table_type",
    needed=["table_name", "table_type"],
)
_TABLES_IN_FULL = _TABLES.append(pa.field("table_schema", pa.binary(), False))
_TYPES = _columns("table_type", needed=["table_type"])
_OWN_KEYS = _columns(
    "catalog_name",
    "db_schema_name",
    "table_name",
    "column_name",
    "key_name",
    needed=["table_name", "column_name"],
)
_OWN_KEYS = _OWN_KEYS.append(pa.field("key_sequence", pa.int32(), False))
_KEYS = pa.schema(
    [
        *_columns(
            *(
                f"{side}_{name}"
                for side in ("pk", "fk")
                for name in ("catalog_name", "db_schema_name", "table_name", "column_name")
            ),
            needed=["pk_table_name", "pk_column_name", "fk_table_name", "fk_column_name"],
        ),
        pa.field("key_sequence", pa.int32(), False),
        pa.field("fk_key_name", pa.string()),
        pa.field("pk_key_name", pa.string()),
        pa.field("update_rule", pa.uint8(), False),
        pa.field("delete_rule", pa.uint8(), False),
    ]
)
_INFO_VALUES: dict[str, pa.DataType] = {
    "string_value": pa.string(),
    "bool_value": pa.bool_(),
    "bigint_value": pa.int64(),
    "int32_bitmask": pa.int32(),
    "string_list": pa.list_(pa.string()),
    "int32_to_int32_list_map": pa.map_(pa.int32(), pa.list_(pa.int32())),
}
_INFO = pa.schema(
    [
        pa.field("info_name", pa.uint32(), False),
        pa.field(
            "value", pa.dense_union([pa.field(*each) for each in _INFO_VALUES.items()]), False
        ),
    ]
)
# Numbers of SqlInfo.
_KNOWN: dict[int, str | bool | int] = {
    0: "cupti-etl",  # the server's name, version, and that of Arrow
    1: __version__,
    2: pa.__version__,
    3: True,  # it is read only
    4: True,  # it runs SQL
    5: False,  # and no Substrait,
    8: 0,  # no transactions,
    9: False,  # no CancelQuery: a client that leaves ends its statement
    10: False,  # and no ingestion
    100: 0,  # handles of statements do not expire
    101: 0,
    500: False,  # catalogs, schemas and tables cannot be created
    501: False,
    502: False,
    504: '"',  # what quotes identifiers
    506: True,  # all tables can be read
}


def schema_of(name: str, asked: Message) -> pa.Schema | None:
    """The columns of the answer to a command; None if it is none of these."""
    if name == "CommandGetTables" and asked.is_true(5):
        return _TABLES_IN_FULL
    found = _ANSWERS.get(name)
    return found[0] if found else None


def answer(name: str, asked: Message, trace: Trace) -> pa.Table:
    """The answer to a command of which ``schema_of`` says the columns."""
    return _ANSWERS[name][1](asked, trace)


def _schemas(asked: Message, trace: Trace) -> pa.Table:
    is_asked = asked.optional_text(1) in (None, CATALOG) and _is_like(SCHEMA, asked, 2)
    rows = [[CATALOG], [SCHEMA]] if is_asked else [[], []]
    return pa.table(rows, schema=_SCHEMAS)


def _tables(asked: Message, trace: Trace) -> pa.Table:
    found = []
    if asked.optional_text(1) in (None, CATALOG) and _is_like(SCHEMA, asked, 2):
        types = asked.texts(4)
        found = [
            (name, kind, columns)
            for name, kind, columns in _all_tables(trace)
            if _is_like(name, asked, 3) and (not types or kind in types)
        ]
    rows: list[list[object]] = [
        [CATALOG] * len(found),
        [SCHEMA] * len(found),
        [name for name, _, _ in found],
        [kind for _, kind, _ in found],
    ]
    if not asked.is_true(5):
        return pa.table(rows, schema=_TABLES)
    rows.append([columns().serialize().to_pybytes() for _, _, columns in found])
    return pa.table(rows, schema=_TABLES_IN_FULL)


def _all_tables(trace: Trace) -> Iterator[tuple[str, str, Callable[[], pa.Schema]]]:
    """The names that stand behind FROM, and what gives their columns.

    A query that takes parameters is a table function, of which Flight SQL has no list.
    """
    found: dict[str, tuple[str, Callable[[], pa.Schema]]] = {
        name: (TABLE, partial(_table_columns, trace, name)) for name in trace.tables
    }
    for query in library():
        if not (query.parameters or query.is_building_block):
            found[query.name] = (VIEW, partial(_query_columns, query))
    for name, (kind, columns) in sorted(found.items()):
        yield name, kind, columns


def _table_columns(trace: Trace, name: str) -> pa.Schema:
    return trace.sql(f"FROM {identifier(name)} LIMIT 0").reader().schema


def _query_columns(query: Query) -> pa.Schema:
    """As its header declares them: to bind it could take long."""
    with connect() as con:
        return con.sql(query.no_rows).to_arrow_reader().schema


def _is_like(name: str, asked: Message, number: int) -> bool:
    """Whether a name is matched by a pattern of SQL's LIKE; one that is not there matches all."""
    pattern = asked.optional_text(number)
    if pattern is None:
        return True
    meant = {"%": ".*", "_": "."}
    regex = "".join(meant.get(each) or re.escape(each) for each in pattern)
    return re.fullmatch(regex, name, re.DOTALL) is not None


def _info(asked: Message, trace: Trace) -> pa.Table:
    numbers = asked.integers(1) or list(_KNOWN)
    known = [number for number in numbers if number in _KNOWN]
    kinds, offsets = [], []
    values: list[list[object]] = [[] for _ in _INFO_VALUES]
    for number in known:
        value = _KNOWN[number]
        kind = 0 if isinstance(value, str) else 1 if isinstance(value, bool) else 2
        kinds.append(kind)
        offsets.append(len(values[kind]))
        values[kind].append(value)
    union = pa.UnionArray.from_dense(
        pa.array(kinds, pa.int8()),
        pa.array(offsets, pa.int32()),
        [pa.array(*each) for each in zip(values, _INFO_VALUES.values(), strict=True)],
        list(_INFO_VALUES),
    )
    return pa.table([pa.array(known, pa.uint32()), union], schema=_INFO)


# By the names of the commands; a trace has no keys.
_ANSWERS: dict[str, tuple[pa.Schema, Callable[[Message, Trace], pa.Table]]] = {
    "CommandGetCatalogs": (
        _CATALOGS,
        lambda asked, trace: pa.table([[CATALOG]], schema=_CATALOGS),
    ),
    "CommandGetDbSchemas": (_SCHEMAS, _schemas),
    "CommandGetTables": (_TABLES, _tables),
    "CommandGetTableTypes": (
        _TYPES,
        lambda asked, trace: pa.table([[TABLE, VIEW]], schema=_TYPES),
    ),
    "CommandGetSqlInfo": (_INFO, _info),
    "CommandGetPrimaryKeys": (_OWN_KEYS, lambda asked, trace: _OWN_KEYS.empty_table()),
    **{
        name: (_KEYS, lambda asked, trace: _KEYS.empty_table())
        for name in ("CommandGetExportedKeys", "CommandGetImportedKeys", "CommandGetCrossReference")
    },
}
