"""What the library says about itself, as text: ``--list``, ``--help`` and the reference page."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from cupti_etl.queries.catalog import Catalog, library
from cupti_etl.queries.fields import Field
from cupti_etl.queries.query import Query

if TYPE_CHECKING:
    import pyarrow as pa


def signature(query: Query) -> str:
    """How the query is written in SQL."""
    if not query.parameters:
        return f"FROM {query.name}"
    arguments = ", ".join(
        f"{field.name} := {field.default if field.default is not None else '...'}"
        for field in query.parameters
    )
    return f"FROM {query.name}({arguments})"


def _unit(field: Field) -> str:
    return "" if field.unit == "1" else field.unit


def _workers(query: Query) -> str:
    """What several workers make of a query."""
    estimated = ", ".join(query.approximate)
    return (
        f"they estimate {estimated}; all else is exact." if estimated else "their answer is exact."
    )


def describe(query: Query) -> str:
    """All that is known about one query, for a terminal."""
    lines = [f"{query.name} ({query.topic})", ""]
    lines += [query.front, ""] if query.front else []
    lines += [query.doc, "", f"Computed: {query.computed}"]
    lines += [f"Reads: {', '.join(query.needs)}"]
    if query.alias:
        lines += [f"Also: {', '.join(query.alias)}"]
    if query.limits:
        lines += [f"Limits: {query.limits}"]
    if query.is_distributed:
        lines += [f"Several workers: {_workers(query)}"]
    if query.saving:
        shown = f"{query.saving.shown} {query.saving.options}".rstrip()
        lines += [f"To do: {query.saving.advice}", f"Shown by: {shown}"]
    lines += [f"Empty without {name}: {reason}" for name, reason in query.requires]
    for title, fields in (("Parameters", query.parameters), ("Columns", query.columns)):
        if fields:
            lines += ["", f"{title}:"]
        wide = max((len(field.name) for field in fields), default=0)
        for field in fields:
            unit = f" [{_unit(field)}]" if _unit(field) else ""
            default = "" if field.default is None else f" (default {field.default})"
            lines.append(f"  {field.name:<{wide}}  {field.type}{unit}{default}  {field.doc}")
    lines += ["", f"Example: {query.example}"] if query.example else [""]
    lines += [f'In SQL: cupti-etl sql TRACE "{signature(query)}"']
    return "\n".join(lines)


def overview(queries: Collection[Query]) -> str:
    """Queries by topic, each with the question that it answers, or its first sentence."""
    lines: list[str] = []
    wide = max((len(query.name) for query in queries), default=0)
    for topic, of_topic in by_topic(queries).items():
        lines.append(f"{topic}:")
        lines += [f"  {query.name:<{wide}}  {_about(query)}" for query in of_topic]
    return "\n".join(lines)


def overview_rows(queries: Collection[Query]) -> pa.Table:
    """The same as rows, for programs."""
    import pyarrow as pa

    of_topics = by_topic(queries).values()
    rows = [
        {
            "query": query.name,
            "topic": query.topic,
            "about": _about(query),
            "parameters": ", ".join(field.name for field in query.parameters),
            "is_building_block": query.is_building_block,
        }
        for of_topic in of_topics
        for query in of_topic
    ]
    return pa.Table.from_pylist(rows)


def by_topic(queries: Iterable[Query]) -> dict[str, list[Query]]:
    """The queries by topic; in each, those that people ask first."""
    found: dict[str, list[Query]] = {}
    for query in sorted(queries, key=_place):
        found.setdefault(query.topic, []).append(query)
    return found


def _place(query: Query) -> tuple[str, bool, bool, str]:
    return query.topic, query.is_building_block, not query.front, query.name


def _about(query: Query) -> str:
    return query.front or _first_sentence(query.doc)


def _first_sentence(doc: str) -> str:
    return doc.split(". ")[0].rstrip(".") + "."


def _anchor(heading: str) -> str:
    """What a link to a heading of Markdown calls it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def queries_markdown(catalog: Catalog | None = None) -> str:
    """The reference page of all queries."""
    lines = [
        "# Queries",
        "",
        "Each is a view of every opened trace and, unless it says otherwise, of `trace.duckdb`, or",
        "a table macro where it takes parameters: `FROM kernel_summary` works in any SQL.",
        "Names that begin with `_` are",
        "building blocks, which may change from one release to the next.",
        "",
        "| question | query |",
        "|---|---|",
    ]
    topics = by_topic(catalog or library())
    for queries in topics.values():
        lines += [
            f"| {each.front} | [{each.name}](#{each.name}) |" for each in queries if each.front
        ]
    lines += ["", "All, by topic:", ""]
    for topic, queries in topics.items():
        lines += [f"* {topic}: {', '.join(f'[{q.name}](#{q.name})' for q in queries)}"]
    for topic, queries in topics.items():
        lines += ["", f"## {topic}"]
        for query in queries:
            lines += ["", f"### {query.name}", ""]
            if query.front:
                answer = f"answers.md#{_anchor(query.front)}"
                lines += [f"**{query.front}** ([an answer]({answer}))", ""]
            lines += [query.doc, ""]
            lines += ["```sh", query.example, "```", ""] if query.example else []
            lines += ["```sql", signature(query), "```", ""]
            lines += [f"* Computed: {query.computed}"]
            lines += [f"* Reads: {', '.join(f'`{name}`' for name in query.needs)}"]
            if query.alias:
                lines += [f"* Also: {', '.join(f'`{name}`' for name in query.alias)}"]
            if query.opened:
                lines += [f"* Of an opened trace, not of `trace.duckdb`: {query.opened}"]
            if query.limits:
                lines += [f"* Limits: {query.limits}"]
            if query.is_distributed:
                lines += [f"* [Several workers](../howto/engines.md): {_workers(query)}"]
            if query.saving:
                lines += [f"* Finding ({query.saving.sure}): {query.saving.what}"]
                lines += [f"* To do: {query.saving.advice}"]
                options = f" with `{query.saving.options}`" if query.saving.options else ""
                lines += [f"* Shown by: [{query.saving.shown}](#{query.saving.shown}){options}"]
            lines += [f"* Empty without `{name}`: {reason}" for name, reason in query.requires]
            if query.parameters:
                lines += ["", "| parameter | type | default | unit | meaning |"]
                lines += ["|---|---|---|---|---|"]
                lines += [
                    f"| {field.name} | {field.type} | {field.default or ''} | {_unit(field)} "
                    f"| {field.doc} |"
                    for field in query.parameters
                ]
            lines += ["", "| column | type | unit | meaning |", "|---|---|---|---|"]
            lines += [
                f"| {field.name} | {field.type} | {_unit(field)} | {field.doc} |"
                for field in query.columns
            ]
    return "\n".join(lines) + "\n"
