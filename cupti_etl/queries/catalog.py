"""The query library: one ``library/<topic>/<name>.sql`` a query; see ``header`` for its form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path

from cupti_etl.errors import SchemaError, UsageError, did_you_mean
from cupti_etl.queries.fields import Field
from cupti_etl.queries.header import parse
from cupti_etl.queries.query import Query
from cupti_etl.schema.arrow import TABLES

LIBRARY = Path(__file__).with_name("library")
# Made by the runner from the schema, so that a new kind is in it without an edit.
TABLE_EXTENT = "_table_extent"
# How many rows each table has, by the ends of its parts.
TABLE_ROWS = "_table_rows"


class Catalog:
    """Queries by name, each after those that it needs."""

    def __init__(self, queries: Iterable[Query]) -> None:
        by_name: dict[str, Query] = {}
        for query in queries:
            if query.name in by_name or query.name in TABLES:
                raise SchemaError(f"query {query.name}: the name is taken")
            by_name[query.name] = query
        self._queries = {name: by_name[name] for name in _in_order(by_name)}
        self._aliases: dict[str, str] = {}
        self._renamed: dict[str, str] = {}
        for query in self._queries.values():
            for names, found in ((query.alias, self._aliases), (query.renamed, self._renamed)):
                for name in names:
                    if name in self or name in TABLES or name in self._aliases | self._renamed:
                        raise SchemaError(f"query {query.name}: the name {name!r} is taken")
                    found[name] = query.name

    def __iter__(self) -> Iterator[Query]:
        return iter(self._queries.values())

    def __contains__(self, name: object) -> bool:
        return name in self._queries

    def __getitem__(self, name: str) -> Query:
        """A query by its name, an alias or a former name.

        Raises:
            UsageError: there is none; the hint names similar ones.
        """
        name = self._aliases.get(name) or self.former(name) or name
        if name in self._queries:
            return self._queries[name]
        hint = did_you_mean(name, (*self._queries, *self._aliases), "cupti-etl query --list")
        raise UsageError(f"there is no query {name!r}", hint)

    def former(self, name: str) -> str:
        """The query that had this name in the release before; "" if none had.

        What is now a building block had its name without the underscore.
        """
        block = f"_{name}" if name not in self._queries else ""
        return self._renamed.get(name, block if block in self._queries else "")

    def search(self, text: str) -> list[Query]:
        """Queries with all of the words in their topics, names, questions or descriptions."""

        def said(query: Query) -> str:
            return " ".join((query.topic, query.name, *query.alias, query.front, query.doc)).lower()

        return [
            query for query in self if all(word in said(query) for word in text.lower().split())
        ]


class Library(Catalog):
    """The queries of a folder, each read when it is first asked for.

    One question needs a few of them; all are read, and compared, where all are looked at.
    """

    def __init__(self, folder: Path = LIBRARY) -> None:
        self._found = _files(folder)
        self._paths = _paths(folder)

    @cached_property
    def _all(self) -> Catalog:
        return Catalog(map(_read, self._found))

    def __iter__(self) -> Iterator[Query]:
        return iter(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __getitem__(self, name: str) -> Query:
        """As of ``Catalog``."""
        return _read(self._paths[name]) if name in self._paths else self._all[name]

    def former(self, name: str) -> str:
        """As of ``Catalog``."""
        return self._all.former(name)


@cache
def _files(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*/*.sql")))


@cache
def _paths(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in _files(folder)}


@cache
def _read(path: Path) -> Query:
    def columns(name: str) -> tuple[Field, ...] | None:
        other = _paths(path.parent.parent).get(name)
        return _read(other).columns if other else None

    return parse(path.read_text(encoding="utf-8"), path.stem, path.parent.name, columns)


@cache
def library() -> Catalog:
    """The library that is part of cupti-etl."""
    return Library()


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
            if needed in queries and queries[needed].opened and not queries[name].opened:
                raise SchemaError(f"query {name} needs {needed}, which is of an opened trace only")
        for required, _ in queries[name].requires:
            if required not in queries and required not in TABLES:
                raise SchemaError(f"query {name} requires {required!r}, which does not exist")
        saving = queries[name].saving
        if saving and saving.shown not in queries:
            raise SchemaError(f"query {name} is shown by {saving.shown!r}, which does not exist")
        done.append(name)

    for name in sorted(queries):
        visit(name, ())
    return done
