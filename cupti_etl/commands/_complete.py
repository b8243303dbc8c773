"""What a shell offers while a command line is typed; duckdb and pyarrow are too slow for that."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

# Set by the scripts of `cupti-etl completion`, for a command line that is being typed.
VARIABLE = "_CUPTI_ETL_COMPLETE"


def queries(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Queries of the library, each with its question; building blocks once ``_`` is typed."""
    from cupti_etl.queries.catalog import library

    return [
        CompletionItem(query.name, help=query.front or query.doc)
        for query in sorted(library(), key=lambda query: query.name)
        if query.name.startswith(typed) and (typed or not query.is_building_block)
    ]


def tables(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Tables of a trace, also after a comma."""
    from cupti_etl.schema.arrow import TABLES

    before, comma, begun = typed.rpartition(",")
    return [
        CompletionItem(f"{before}{comma}{table.name}", help=table.doc)
        for table in TABLES.values()
        if table.name.startswith(begun)
    ]


def files(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Files and folders, which the shell finds by itself."""
    return [CompletionItem(typed, type="file")]
