"""Opening a trace and asking it: ``cupti_etl.open("run42").sql("FROM kernel_summary")``.

A trace is the folder of Parquet parts that a capture writes, also while it is still
writing, or a self-contained ``.duckdb`` file; several are opened as one.  Every table and
every query of the library is a view; answers are Arrow.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cupti_etl.engines.by_engine import ByEngine
from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import Scope, choose, has_steady_steps, numbers
from cupti_etl.queries.completion import Queries
from cupti_etl.queries.connection import Connection
from cupti_etl.queries.derived import Indexed
from cupti_etl.queries.empty import reasons, why_nothing
from cupti_etl.queries.lent_parts import LentParts
from cupti_etl.queries.materialize import Operator
from cupti_etl.queries.opening import check_version, in_order, threads_of
from cupti_etl.queries.part import PartViews
from cupti_etl.queries.present import present_files
from cupti_etl.queries.result import Result
from cupti_etl.queries.runner import call, check_values, connect, connect_to
from cupti_etl.queries.scope import Choice
from cupti_etl.queries.tables import found_tables
from cupti_etl.queries.views import Views
from cupti_etl.storage.sources import Folder, Given, Source, expand, open_sources

if TYPE_CHECKING:
    from cupti_etl.queries.names import QueryName

__all__ = ["ByEngine", "Indexed", "Result", "Scope", "Trace", "open"]


def open(
    *paths: Given | Iterable[Given],
    confined: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Trace:
    """Open a trace, or several as one: ``open("run42")``, ``open("node1", "node2.duckdb")``.

    Args:
        paths: folders and self-contained files, patterns such as ``"run-*"``, lists of them.
        confined: statements reach no file but the trace's, and no setting, for those that
            nobody has typed; else ``sql`` reads and writes whatever it names.
        settings: of DuckDB, such as its memory_limit.

    Raises:
        TraceError: a path does not exist, is not a trace, is of a newer version of
            cupti-etl, or holds a part that cannot be read.
        UsageError: two of them hold the same capture.
    """
    return Trace(tuple(expand(paths)), confined, settings=settings)


def open_for_strangers(paths: Iterable[Given], settings: Mapping[str, str]) -> Trace:
    """Open a trace for statements of others: they reach its present files and nothing else.

    Whoever opens it has to see to it that they are SELECTs alone, as DuckDB lets those files be
    written to that it may read.

    Args:
        paths: as of ``open``.
        settings: of DuckDB, such as its memory_limit, which stay as they are.

    Raises:
        TraceError, UsageError: as of ``open``.
    """
    return Trace(tuple(expand(paths)), confined=True, settings=settings, is_for_strangers=True)


class Trace:
    """A trace that can be asked; safe to use from several threads.

    Use it as a context manager, or call ``close``.  Statements that create something
    (``CREATE TABLE``, ``SET``) last as long as the trace is open and never change its files.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        confined: bool = False,
        choice: Choice | None = None,
        settings: Mapping[str, str] | None = None,
        is_for_strangers: bool = False,
        below: Trace | None = None,
    ) -> None:
        if confined:  # else they may read whatever they name
            given = settings or {}
            settings = {**threads_of(paths, given.get("memory_limit")), **given}
        self._given, self._confined, self._choice = paths, confined, choice
        self._settings, self._is_for_strangers = settings, is_for_strangers
        # The trace that this is a part of, or itself.
        self.whole = self
        self._parts: LentParts[Trace] = LentParts()
        self._sources: tuple[Source, ...] = ()
        self._told: Callable[[str], None] | None = None
        # What this lies on, or goes with, if it was opened for this one alone.
        self._owned: Trace | None = None
        if choice and choice.windows:
            if below is None:
                who = replace(choice, windows=())
                below = self._owned = Trace(paths, confined, who, settings, is_for_strangers)
            self._lie_on(below, choice)
            return
        views = Views(library(), _operators, choice)
        if is_for_strangers:
            con = connect_to(present_files(paths), settings, paths)
        else:
            con = connect(paths if confined else None, settings, paths)
        self._connection = Connection(con, views)
        try:
            self._sources = open_sources(con, paths)
            folders = tuple(s.path for s in self._sources if isinstance(s, Folder))
            self._connection.folders = folders
            attempt = self._connection.attempt
            attempt(lambda: check_version(con, self._sources))
            if len(paths) > 1:
                self._sources = attempt(lambda: in_order(con, self._sources))
            views.open(self._sources)
        except BaseException:
            self.close()
            raise

    def _lie_on(self, below: Trace, choice: Choice) -> None:
        """Be a part of what another trace has, in the same DuckDB."""
        views = PartViews(library(), _operators, choice, below._connection.views)
        try:
            con = below._connection.attempt(lambda: views.begin(below._connection.con.cursor()))
        except BaseException:
            if self._owned:
                self._owned.close()
            raise
        self._connection = Connection(con, views)
        self._connection.folders = below._connection.folders
        self._sources = below._sources
        views.open(self._sources)

    @property
    def path(self) -> Path:
        """The first of ``paths``."""
        return self.paths[0]

    @property
    def paths(self) -> tuple[Path, ...]:
        """The trace's folders and files, as absolute paths, in the order of their captures."""
        return tuple(source.path for source in self._sources)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of the trace; each is there, with or without rows."""
        return tuple(found_tables(self._sources))

    def sql(self, query: str, **params: Any) -> Result:
        """Run SQL over the tables and queries of the trace.

        A SELECT runs when its rows are asked for, and again each time they are; anything
        else runs at once.  ``params`` are the values of ``$name`` in the text.

        Raises:
            UsageError: DuckDB refuses the statement; the message is DuckDB's.
            TraceError: a part is damaged, or has vanished.
        """
        return Result(self._connection, query, params, why=partial(why_nothing, self, query))

    def query(self, name: QueryName | str, **params: Any) -> Result:
        """Run a query of the library, with values for its parameters.

        Raises:
            UsageError: there is no such query or parameter, or a parameter is missing or of another
                type.
            TraceError: a part is damaged, or has vanished.
        """
        query = library()[name]
        text = call(query, params)
        if params:
            check_values(self._connection.cursor(), query, params)
        return Result(self._connection, text, params, query, partial(reasons, self, query, params))

    def engine(self, name: str) -> ByEngine:
        """The same trace, its queries computed by "duckdb", "processes", "ray" or "spark"."""
        return ByEngine(self, self._connection, name)

    def has_rows(self, name: str) -> bool:
        """Whether a table, or a query without parameters, has a row.

        Raises:
            UsageError: there is none of that name.
            TraceError: a part is damaged, or has vanished.
        """
        views, now = self._connection.views, self._connection.attempt(self._connection.views.look)
        return views.rows_known.has_row(name, now, lambda sql: self.sql(sql).arrow().num_rows)

    def scope(
        self,
        *,
        from_: str | int | None = None,
        to: str | int | None = None,
        steps: str | int | None = None,
        gpu: int | str | Sequence[int] = (),
        rank: int | str | Sequence[int] = (),
        process: int | str | Sequence[int] = (),
        range: str = "",
    ) -> Trace:
        """A part of the trace, which is asked like the whole; close it, too.

        What has a start is in the part where it starts; what lasts is cut at its edges; the launch
        of a kernel, the ranges around it and the like are looked up in the whole trace.

        Args:
            from_: when the part begins: an offset from the trace's beginning (``"1.5s"``; ``"-2s"``
                from its end), a share of it (``"40%"``), or nanoseconds since 1970.
            to: when it is over, alike.
            steps: numbers of steps: ``5``, ``"5-8"``, ``"5-"`` or ``"-8"``; ``"steady"``, those
                after the warm-up; ``"complete"``, these without the last; or ``"all"``.
            gpu: numbers of GPUs, as in the query ``gpu``: ``0``, ``(0, 2)``, ``"0,2"``, ``"all"``.
            rank: ranks, alike.
            process: pids, or process_ids, alike.
            range: the name of an NVTX range: the times in which a process was in it.

        Raises:
            UsageError: there is no such GPU, rank, process, step or range, a time is none, or the
                trace is a part already.
        """
        who = numbers("gpu", gpu), numbers("rank", rank), numbers("process", process)
        return self.part(Scope(from_, to, steps, *who, range))

    def part(self, scope: Scope) -> Trace:
        """The same, of a scope as an object."""
        if self._choice:
            raise UsageError("this is a part of a trace already", "ask the whole trace for another")
        choice = choose(scope, self._ask) if scope else None
        strangers = self._is_for_strangers
        below = None if choice and choice.is_of_some else self
        part = Trace(self._given, self._confined, choice, self._settings, strangers, below)
        part.whole = self
        if self._told:
            part.tell(self._told)
        return part

    def lent_part(self, scope: Scope) -> AbstractContextManager[Trace]:
        """The same for a while, shared by all who ask for that part at once or soon after.

        It is not to be closed; what is created in it is there for the others.
        """
        return self._parts.lease(scope, self._connection.views.look(), self.part)

    @property
    def is_imported(self) -> bool:
        """Whether all of its processes were imported from files of other tools."""
        (row,) = self.sql("SELECT bool_and(coalesce(state, '') = 'imported') AS is_so FROM process")
        return bool(row["is_so"])

    def _ask(self, text: str) -> list[dict[str, Any]]:
        return list(self.sql(text))

    @property
    def has_steady_state(self) -> bool:
        """Whether each process with kernels has steps, named or guessed: see ``steps="steady"``."""
        return has_steady_steps(Scope(), self._ask)

    def usual(self, scope: Scope) -> Scope:
        """The scope, with the steady state where there are steps and it says nothing of times."""
        # Steps are looked for only where nobody said which.
        if scope.says_when or not has_steady_steps(scope, self._ask):
            return scope
        return replace(scope, steps="steady")

    @property
    def says(self) -> str:
        """What part of a trace this is, in words; "" for the whole."""
        return self._choice.says if self._choice else ""

    @property
    def options(self) -> str:
        """The options with which a command asks this part of a trace; "" for the whole."""
        return self._choice.options if self._choice else ""

    @property
    def choice(self) -> Choice | None:
        """The same, in the terms of the trace."""
        return self._choice

    @property
    def settings(self) -> Mapping[str, str]:
        """Of DuckDB, as they were given."""
        return self._settings or {}

    @property
    def sources(self) -> tuple[Source, ...]:
        """What ``paths`` are."""
        return self._sources

    @property
    def queries(self) -> Queries:
        """The queries by name: ``trace.queries.kernel_summary()``."""
        return Queries(self.query)

    def session(self) -> Trace:
        """The same trace on one connection of its own, as a shell needs it.

        There, temporary tables and transactions last from one statement to the next; it is
        for one thread, and each result must be read before the next statement.
        """
        other = copy.copy(self)
        other._connection = self._connection.session()
        other._parts = LentParts()
        other._owned = None if self.whole is self else self.whole.session()
        other.whole = other._owned or other
        return other

    def interrupt(self) -> None:
        """Stop the statements of a session, and of those that it has, from another thread."""
        self._connection.interrupt()
        if self.whole is not self:
            self.whole.interrupt()

    def stop(self) -> None:
        """Stop the statements of all sessions, and what is made for them, from another thread."""
        self.interrupt()
        self._connection.views.stop()

    @property
    def most_at_once(self) -> int:
        """How many questions may be asked at once, by the memory that there is."""
        return self._connection.views.most_at_once(self._connection.con)

    def tell(self, told: Callable[[str], None]) -> None:
        """Say what is computed of a trace that is not small, as that can take seconds.

        Args:
            told: gets the name of the query whose rows are being computed each time that this is
                another one, in whatever thread, and "" when none are any more.
        """
        self._told = told
        self._connection.views.tell(told)
        if self._owned:
            self._owned.tell(told)

    def prepare(self, *names: str) -> None:
        """Make what queries read, several things at once, before one after the other is asked.

        Raises:
            UsageError: there is no such query.
            TraceError: a part is damaged, or has vanished.
        """
        found, connection = [library()[name].name for name in names], self._connection
        connection.attempt(lambda: connection.views.prepare(connection.con, found))

    def index(self) -> Indexed:
        """Compute now what is otherwise computed when a query first needs it.

        Raises:
            TraceError: a part is damaged, or has vanished.
        """
        attempt, views, con = self._connection.attempt, self._connection.views, self._connection.con
        return attempt(lambda: views.index(con))

    def close(self) -> None:
        """Let go of everything; results that are still being read fail."""
        self._parts.close()
        self._connection.close()
        if self._owned:
            self._owned.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        from cupti_etl.render.html import trace_html

        return trace_html([path.name for path in self.paths], self.says, self.sql)

    def __repr__(self) -> str:
        given = ", ".join(repr(str(path)) for path in self.paths)
        return f"cupti_etl.open({given})" + (f", part: {self.says}" if self.says else "")


@cache
def _operators() -> dict[str, Operator]:
    from cupti_etl import sass
    from cupti_etl.pm import attribution
    from cupti_etl.queries import operators

    return {**attribution.OPERATORS, **operators.OPERATORS, **sass.operators()}
