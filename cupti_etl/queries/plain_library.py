"""The query library for a plain DuckDB: a view a query, and a table macro below it.

DuckDB binds a view anew wherever it is read, with all that is below it: ``finding_rank_wait`` is
made of 36 queries, most of which read some of the others twice, and would be planned as tens of
thousands.  So a view reads no other view.  It names each query below it once, as a common table
expression, of which the SELECT is a macro: in a macro, DuckDB looks for a name among the
expressions of the query that calls it before it looks for a view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from cupti_etl.queries.catalog import TABLE_EXTENT, Catalog
from cupti_etl.queries.header import each_read
from cupti_etl.queries.tables import table_extent
from cupti_etl.storage.sources import quoted


def library_views(catalog: Catalog) -> Iterator[str]:
    """Statements that create the library over the tables, or views, of the current database.

    What DuckDB creates it binds, with all that is below it.  So each is created while what it reads
    is only declared columns, which a test compares with the real ones.

    Queries that only an opened trace answers are left out.
    """
    queries = [query for query in catalog if not query.opened]
    plain = [query for query in queries if not query.parameters]
    names = {query.name for query in plain}
    read = {
        query.name: Counter(name for name in each_read(query.sql) if name in names)
        for query in queries
    }
    yield f"CREATE OR REPLACE VIEW {TABLE_EXTENT} AS\n{table_extent()}"
    for query in plain:
        yield replace(query, sql=query.no_rows).create_macro
    for query in queries:
        select = f"(\n{query.sql}\n)" if query.parameters else f"{query.name}()"
        yield replace(query, sql=f"{_below(query.name, read)}FROM {select}").create
        what = "MACRO TABLE" if query.parameters else "VIEW"
        yield f"COMMENT ON {what} {query.name} IS {quoted(query.doc)}"
    for query in reversed(plain):
        yield query.create_macro


def _below(name: str, read: dict[str, Counter[str]]) -> str:
    """The queries below one, each after those that it reads; what is read once is not kept."""
    found = {name}
    for each in reversed(read):
        if each in found:
            found |= read[each].keys()
    times = sum((read[each] for each in found), Counter[str]())
    named = (
        f"{each} AS {'' if times[each] > 1 else 'NOT '}MATERIALIZED (FROM {each}())"
        for each in read
        if each in times
    )
    return f"WITH {', '.join(named)}\n" if times else ""
