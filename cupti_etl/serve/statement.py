"""What of SQL is run that anybody may have written: one SELECT, or EXPLAIN of one.

The DuckDB that runs it reaches the files of the trace alone, but it would let them be written to:
by COPY, also in a WITH, and by EXPLAIN ANALYZE of one.  So the parsed statement is looked at, node
by node; what is not known is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from cupti_etl.errors import UsageError, did_you_mean
from cupti_etl.queries.catalog import library
from cupti_etl.queries.runner import connect

_EXPLAIN = re.compile(r"\s*EXPLAIN\s+(?:ANALYZE\s+)?(?=\S)", re.IGNORECASE)
_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
# Others of DuckDB's read files, change settings or run a text as SQL.
_FUNCTIONS = {
    "duckdb_columns",
    "duckdb_functions",
    "duckdb_tables",
    "duckdb_views",
    "generate_series",
    "json_each",
    "json_tree",
    "pragma_table_info",
    "range",
    "repeat",
    "unnest",
}
_HINT = "one SELECT, or EXPLAIN of one: cupti-etl sql runs anything on this machine"


def check(statement: str) -> None:
    """See that a statement is one that is run.

    Raises:
        UsageError: it is not.
    """
    import duckdb

    if "\0" in statement:
        raise UsageError("the statement has a character that SQL has not: NUL", _HINT)
    explained = _EXPLAIN.match(statement)
    select = statement[explained.end() :] if explained else statement
    with connect() as con:
        try:
            found = con.extract_statements(select)
            if len(found) != 1:
                raise UsageError(f"{len(found)} statements were sent", _HINT)
            if found[0].type != duckdb.StatementType.SELECT:
                kind = found[0].type.name
                raise UsageError(f"{kind} is not run here", _HINT)
            text = con.execute("SELECT json_serialize_sql($1)", [select]).fetchall()[0][0]
        except duckdb.Error as error:
            raise UsageError(str(error).strip(), _HINT) from None
    try:
        tree = json.loads(text)
    except RecursionError:
        raise UsageError("the statement is nested too deeply", _HINT) from None
    if tree.get("error"):
        raise UsageError(str(tree.get("error_message", "it cannot be parsed")), _HINT)
    for item in _items(tree):
        _check_item(item)


def _items(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object in it, without recursion, as somebody else chose the depth."""
    left = [tree]
    while left:
        each = left.pop()
        if isinstance(each, dict):
            yield each
            left += each.values()
        elif isinstance(each, list):
            left += each


def _check_item(item: dict[str, Any]) -> None:
    kind = item.get("type")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES:
        raise UsageError(f"{kind.split('_')[0]} is not run here", _HINT)
    if kind == "TABLE_FUNCTION":
        called = item.get("function")
        name = str(called.get("function_name", "")) if isinstance(called, dict) else ""
        known = _FUNCTIONS | {query.name for query in library() if query.parameters}
        if name.lower() not in known:
            raise UsageError(
                f"the table function {name[:80]!r} is not run here",
                did_you_mean(name[:80], known, "tables and queries of the trace need none"),
            )
