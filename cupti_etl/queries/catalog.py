"""The query library: one ``.sql`` a query, described by its own header comment.

A query is ``library/<topic>/<name>.sql``: a header, then one SELECT::

    -- What it answers, in a sentence or two.
    --
    -- computed: How; what is divided by what; whether a sum of intervals is a sum or a union.
    -- needs: kernel, kernel_name
    -- requires:
    --   kernel: no kernels were recorded.
    -- materialized: Why its rows are computed once for a trace.
    -- native: How plain DuckDB, which runs the SELECT, differs from an opened trace.
    -- limits: What it cannot see.
    -- parameters:
    --   min_ns BIGINT = 1000 [ns]: Shortest gap that is listed.
    -- columns:
    --   device.*
    --   busy_ns BIGINT [ns]: Time with at least one activity.
    SELECT ...

``needs`` lists the tables and queries that the SELECT reads; ``requires`` those of them, however
far down, without a row of which the answer is empty, and the reason to give; ``device.*`` stands
for all columns of a table.  Text goes on in lines that are indented further.  A query without
parameters becomes a view, one with parameters a table macro.  What is ``native`` is computed
by ``cupti_etl.pm.attribution`` in an opened trace.  Reading the library needs neither
duckdb nor pyarrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from cupti_etl.errors import SchemaError, UsageError
from cupti_etl.schema.arrow import TABLES

LIBRARY = Path(__file__).with_name("library")
# Made by the runner from the schema, so that a new kind is in it without an edit.
TABLE_EXTENT = "_table_extent"

_KEYS = (
    "computed",
    "needs",
    "requires",
    "materialized",
    "native",
    "limits",
    "parameters",
    "columns",
)
_LISTS = ("requires", "parameters", "columns")
_KEY = re.compile(rf"({'|'.join(_KEYS)}):(?: (.*))?\Z")
_ENTRY = re.compile(
    r"(?P<name>[a-z][a-z0-9_]*) (?P<type>[A-Z]+(?:\[\])?)"
    r"(?: = (?P<default>.+?))?(?: \[(?P<unit>[^\]]+)\])?: (?P<doc>.+)\Z"
)
_REASON = re.compile(r"(?P<name>[a-z][a-z0-9_]*): (?P<reason>.+)\Z")
_STAR = re.compile(r"([a-z][a-z0-9_]*)\.\*\Z")


@dataclass(frozen=True)
class Field:
    """A column or a parameter of a query; ``default`` is SQL text, None where one must be given."""

    name: str
    type: str
    doc: str
    unit: str = "1"
    default: str | None = None


@dataclass(frozen=True)
class Query:
    """One query of the library."""

    name: str
    topic: str
    doc: str
    computed: str
    needs: tuple[str, ...]
    limits: str
    parameters: tuple[Field, ...]
    columns: tuple[Field, ...]
    sql: str
    requires: tuple[tuple[str, str], ...] = ()
    materialized: str = ""
    native: str = ""

    @property
    def create(self) -> str:
        """The statement that installs it: a view, or a table macro if it takes parameters."""
        if not self.parameters:
            return f"CREATE OR REPLACE VIEW {self.name} AS\n{self.sql}"
        # DuckDB wants parameters with a default last.
        ordered = sorted(self.parameters, key=lambda field: field.default is not None)
        signature = ", ".join(
            f"{field.name} {field.type}" + ("" if field.default is None else f" := {field.default}")
            for field in ordered
        )
        return f"CREATE OR REPLACE MACRO {self.name}({signature}) AS TABLE\n{self.sql}"


class Catalog:
    """Queries by name, each after those that it needs."""

    def __init__(self, queries: Iterable[Query]) -> None:
        by_name: dict[str, Query] = {}
        for query in queries:
            if query.name in by_name or query.name in TABLES:
                raise SchemaError(f"query {query.name}: the name is taken")
            by_name[query.name] = query
        self._queries = {name: by_name[name] for name in _in_order(by_name)}

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries.values())

    def __contains__(self, name: object) -> bool:
        return name in self._queries

    def __getitem__(self, name: str) -> Query:
        """A query by its name.

        Raises:
            UsageError: there is none; the hint names similar ones.
        """
        if name in self._queries:
            return self._queries[name]
        similar = get_close_matches(name, self._queries, n=3)
        hint = f"did you mean {' or '.join(similar)}?" if similar else "cupti-etl query --list"
        raise UsageError(f"there is no query {name!r}", hint)

    def topics(self) -> dict[str, list[Query]]:
        """The queries by topic, both in alphabetical order."""
        found: dict[str, list[Query]] = {}
        for query in sorted(self, key=lambda query: (query.topic, query.name)):
            found.setdefault(query.topic, []).append(query)
        return found


def parse(text: str, name: str, topic: str) -> Query:
    """Read one query.

    Raises:
        SchemaError: the header is not of the form above; the message says where.
    """
    lines = text.splitlines()
    body = next((at for at, line in enumerate(lines) if not line.startswith("--")), len(lines))
    sections = _sections(name, [line[2:] for line in lines[:body]])
    query = Query(
        name=name,
        topic=topic,
        doc=" ".join(sections["doc"]),
        computed=" ".join(sections["computed"]),
        needs=tuple(word.strip() for word in " ".join(sections["needs"]).split(",")),
        limits=" ".join(sections["limits"]),
        parameters=tuple(_field(name, line) for line in sections["parameters"]),
        columns=tuple(_columns(name, sections["columns"])),
        sql="\n".join(lines[body:]).strip().rstrip(";"),
        requires=tuple(_reason(name, line) for line in sections["requires"]),
        materialized=" ".join(sections["materialized"]),
        native=" ".join(sections["native"]),
    )
    _complain(query)
    return query


def load(folder: Path = LIBRARY) -> Catalog:
    """Read every query of a library folder."""
    return Catalog(
        parse(path.read_text(encoding="utf-8"), path.stem, path.parent.name)
        for path in sorted(folder.glob("*/*.sql"))
    )


@cache
def library() -> Catalog:
    """The library that is part of cupti-etl."""
    return load()


def _sections(name: str, lines: list[str]) -> dict[str, list[str]]:
    """Header lines by key; each item of a list is one string, however many lines it took."""
    sections: dict[str, list[str]] = {"doc": [], **{key: [] for key in _KEYS}}
    current, seen = "doc", {"doc"}
    for line in lines:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            continue
        key = _KEY.match(text)
        if indent <= 1 and key:
            current = key[1]
            if current in seen:
                raise SchemaError(f"query {name}: {current!r} stands twice")
            seen.add(current)
            if key[2]:
                sections[current].append(key[2])
        elif indent <= 1 and current != "doc":
            raise SchemaError(f"query {name}: {text!r} is neither a key nor indented")
        elif current in _LISTS and indent > 3:
            if not sections[current]:
                raise SchemaError(f"query {name}: {text!r} continues nothing")
            sections[current][-1] += " " + text
        else:
            sections[current].append(text)
    for key_ in ("doc", "computed", "needs", "columns"):
        if not sections[key_]:
            raise SchemaError(f"query {name}: the header has no {key_!r}")
    return sections


def _field(name: str, line: str) -> Field:
    entry = _ENTRY.match(line)
    if not entry:
        raise SchemaError(
            f"query {name}: cannot read {line!r}", "write: name TYPE [unit]: A sentence."
        )
    return Field(entry["name"], entry["type"], entry["doc"], entry["unit"] or "1", entry["default"])


def _reason(name: str, line: str) -> tuple[str, str]:
    entry = _REASON.match(line)
    if not entry or not entry["reason"].endswith("."):
        raise SchemaError(f"query {name}: cannot read {line!r}", "write: table: why it is empty.")
    return entry["name"], entry["reason"]


def _columns(name: str, lines: list[str]) -> Iterator[Field]:
    for line in lines:
        star = _STAR.match(line)
        if not star:
            yield _field(name, line)
        elif star[1] not in TABLES:
            raise SchemaError(f"query {name}: there is no table {star[1]!r}")
        else:
            for column in TABLES[star[1]].columns:
                yield Field(column.name, column.type.sql, column.doc, column.unit)


def _complain(query: Query) -> None:
    """Refuse a query whose description leaves out what its reader must know."""
    for field in (*query.parameters, *query.columns):
        where = f"query {query.name}, {field.name}"
        if not field.doc.endswith("."):
            raise SchemaError(f"{where}: the description must be a sentence")
        if field.name.endswith("_ns") and field.unit != "ns":
            raise SchemaError(f"{where}: a name in _ns needs the unit [ns]")
        if field.unit == "%" and " of " not in field.doc:
            raise SchemaError(f"{where}: a percentage must say of what")
    if query.materialized and query.parameters:
        raise SchemaError(f"query {query.name}: what takes parameters cannot be materialized")
    if query.native and not query.materialized:
        raise SchemaError(f"query {query.name}: what is made natively must be materialized")
    names = [field.name for field in query.columns]
    if len(set(names)) != len(names):
        raise SchemaError(f"query {query.name}: a column stands twice")
    if not re.match(r"(SELECT|WITH|FROM)\b", query.sql):
        raise SchemaError(f"query {query.name}: the body must be one SELECT")


def _in_order(queries: dict[str, Query]) -> list[str]:
    """Names so that each query comes after those it needs."""
    done: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise SchemaError(f"queries need each other: {' -> '.join((*path, name))}")
        if name in done or name not in queries:
            return
        for needed in queries[name].needs:
            if needed not in queries and needed not in TABLES and needed != TABLE_EXTENT:
                raise SchemaError(f"query {name} needs {needed!r}, which does not exist")
            visit(needed, (*path, name))
        for required, _ in queries[name].requires:
            if required not in queries and required not in TABLES:
                raise SchemaError(f"query {name} requires {required!r}, which does not exist")
        done.append(name)

    for name in sorted(queries):
        visit(name, ())
    return done
