"""What the library says about itself, as text: ``--list``, ``--help`` and the reference page."""

from __future__ import annotations

from cupti_etl.queries.catalog import Catalog, Field, Query, library


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


def describe(query: Query) -> str:
    """All that is known about one query, for a terminal."""
    lines = [f"{query.name} ({query.topic})", "", query.doc, "", f"Computed: {query.computed}"]
    lines += [f"Reads: {', '.join(query.needs)}"]
    if query.limits:
        lines += [f"Limits: {query.limits}"]
    lines += [f"Empty without {name}: {reason}" for name, reason in query.requires]
    for title, fields in (("Parameters", query.parameters), ("Columns", query.columns)):
        if fields:
            lines += ["", f"{title}:"]
        wide = max((len(field.name) for field in fields), default=0)
        for field in fields:
            unit = f" [{_unit(field)}]" if _unit(field) else ""
            default = "" if field.default is None else f" (default {field.default})"
            lines.append(f"  {field.name:<{wide}}  {field.type}{unit}{default}  {field.doc}")
    lines += ["", f'In SQL: cupti-etl sql TRACE "{signature(query)}"']
    return "\n".join(lines)


def overview(catalog: Catalog, topic: str = "") -> str:
    """The queries with their first sentence, by topic; or those of one topic."""
    lines: list[str] = []
    wide = max(len(query.name) for query in catalog)
    for name, queries in catalog.topics().items():
        if topic in ("", name):
            lines.append(f"{name}:")
            lines += [f"  {query.name:<{wide}}  {_first_sentence(query.doc)}" for query in queries]
    return "\n".join(lines)


def _first_sentence(doc: str) -> str:
    return doc.split(". ")[0].rstrip(".") + "."


def queries_markdown(catalog: Catalog | None = None) -> str:
    """The reference page of all queries."""
    lines = [
        "# Queries",
        "",
        "Each is a view of every opened trace and of `trace.duckdb`, or a table macro where it",
        "takes parameters: `FROM kernel_summary` works in any SQL.",
    ]
    for topic, queries in (catalog or library()).topics().items():
        lines += ["", f"## {topic}"]
        for query in queries:
            lines += ["", f"### {query.name}", "", query.doc, ""]
            lines += ["```sql", signature(query), "```", ""]
            lines += [f"* Computed: {query.computed}"]
            lines += [f"* Reads: {', '.join(f'`{name}`' for name in query.needs)}"]
            if query.limits:
                lines += [f"* Limits: {query.limits}"]
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
