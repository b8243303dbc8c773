"""What a header of a query must say, and must not contradict."""

from __future__ import annotations

import re
from collections.abc import Collection

from cupti_etl.errors import SchemaError
from cupti_etl.queries.query import SCOPE, Query

_SELECT = re.compile(r"(SELECT|WITH|FROM)\b")


def complain(query: Query) -> None:
    """Refuse a query whose description leaves out what its reader must know."""
    for field in (*query.parameters, *query.columns):
        where = f"query {query.name}, {field.name}"
        if not field.doc.endswith("."):
            raise SchemaError(f"{where}: the description must be a sentence")
        if field.name.endswith("_ns") and field.unit not in ("ns", "epoch ns"):
            raise SchemaError(f"{where}: a name in _ns needs the unit [ns] or [epoch ns]")
        if field.unit == "%" and " of " not in field.doc:
            raise SchemaError(f"{where}: a percentage must say of what")
    if query.materialized and query.parameters:
        raise SchemaError(f"query {query.name}: what takes parameters cannot be materialized")
    if query.native and not query.materialized:
        raise SchemaError(f"query {query.name}: what is made natively must be materialized")
    names = [field.name for field in query.columns]
    if len(set(names)) != len(names):
        raise SchemaError(f"query {query.name}: a column stands twice")
    _complain_of_looks(query, names)
    if not _SELECT.match(query.sql):
        raise SchemaError(f"query {query.name}: the body must be one SELECT")
    _complain_of_merging(query, names)


def _complain_of_looks(query: Query, columns: Collection[str]) -> None:
    """Refuse a header whose keys about how an answer looks do not fit its columns."""
    label = (query.label.column, *query.label.of) if query.label else ()
    chart = [*filter(None, (query.chart.x, query.chart.y, query.chart.by))] if query.chart else ()
    if query.is_of_whole and query.lookup:
        raise SchemaError(f"query {query.name}: in a scope, what has one is computed whole")
    for name in query.lookup:
        if name not in query.needs:
            raise SchemaError(f"query {query.name}: lookup names {name!r}, which it does not need")
    if query.scope and not SCOPE.fullmatch(query.scope):
        raise SchemaError(
            f"query {query.name}: cannot read the scope {query.scope!r}",
            "write: whole, steady, start_ns or start_ns to end_ns, or host and one of the last two",
        )
    if query.is_of_host and "process_id" not in columns:
        raise SchemaError(f"query {query.name}: a scope by times of the host needs process_id")
    for key, names in (("first", query.first), ("label", label), ("chart", chart)):
        for name in names:
            if name not in columns:
                raise SchemaError(f"query {query.name}: {key} names {name!r}, which is no column")
    for name in query.chosen_by:
        if name not in columns:
            raise SchemaError(f"query {query.name}: scope names {name!r}, which is no column")
    if query.is_of_whole and query.parameters:
        raise SchemaError(
            f"query {query.name}: what takes parameters has no scope of its own",
            "say with lookup what is read whole",
        )
    if query.front and not query.front.endswith("?"):
        raise SchemaError(f"query {query.name}: front must be a question")
    if query.front and not query.first:
        raise SchemaError(f"query {query.name}: a front query needs first")
    if query.front and query.is_building_block:
        raise SchemaError(f"query {query.name}: a building block cannot be a front query")
    if query.example and not query.example.startswith(f"cupti-etl query {query.name} TRACE"):
        raise SchemaError(
            f"query {query.name}: cannot read {query.example!r}",
            f"write: cupti-etl query {query.name} TRACE",
        )


def _complain_of_merging(query: Query, columns: Collection[str]) -> None:
    """Refuse statements of workers that do not go together."""
    for key, statement in (("partial", query.partial), ("merge", query.merge)):
        if statement and not _SELECT.match(statement):
            raise SchemaError(f"query {query.name}: {key} must be one SELECT")
    if (query.partial or query.approximate or query.shared) and not query.merge:
        raise SchemaError(
            f"query {query.name}: only what has a merge is partial, approximate or shared"
        )
    if query.merge and query.gathered:
        raise SchemaError(f"query {query.name}: it has a merge, or something is gathered, not both")
    if query.partial and query.parameters:
        raise SchemaError(f"query {query.name}: a partial takes no parameters")
    for name in query.approximate:
        if name not in columns:
            raise SchemaError(f"query {query.name}: approximate names {name!r}, which is no column")
