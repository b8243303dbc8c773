"""What an agent can ask of some traces: each tool is a method that answers with a text."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from cupti_etl.analysis.notes import losses
from cupti_etl.analysis.report import build
from cupti_etl.errors import EtlError, UsageError, did_you_mean
from cupti_etl.mcp.told import answer, section
from cupti_etl.queries.catalog import library
from cupti_etl.queries.choose import SCOPE_NAMES, Scope, parse
from cupti_etl.queries.reference import describe, overview
from cupti_etl.render.narrow import Narrowing
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.reference import table_markdown
from cupti_etl.serve.analysed import compared_rows, findings_rows
from cupti_etl.serve.asked import Asked, part_of, rows_of, statement_rows
from cupti_etl.serve.formats import Answered
from cupti_etl.serve.opened import Opened
from cupti_etl.serve.running import Running
from cupti_etl.serve.statement import check

ROWS = 20
_STATEMENT_CHARACTERS = 64 << 10
# An interrupt can fall between two statements, and is then said once more.
_PERSIST_S = 0.1

# Agents write numbers as numbers.
Words = Mapping[str, str | int | float] | None


class Tools:
    """The tools, over some traces.

    Args:
        paths: of the traces.
        time_limit_s: for one answer to be computed.
        memory: of the DuckDB that runs statements, as it writes sizes.
    """

    def __init__(
        self, paths: Sequence[Path], time_limit_s: float = 60.0, memory: str = "1GB"
    ) -> None:
        self._paths = tuple(paths)
        self._limit_s = time_limit_s
        self._opened = Opened(paths, memory)

    def close(self) -> None:
        """Close the traces."""
        self._opened.close()

    def trace_overview(self) -> str:
        """What was recorded: programs, GPUs, when and how long, how busy, and what was lost.

        Ask this first.  Then findings says what could be saved, and list_queries what can be asked.
        """
        with self._opened.trace.lease() as trace:
            verdict = [
                f"Capture: {row['subject']}."
                for row in trace.query("capture_health")
                if row["section"] == "verdict"
            ]
            names = f"Traces: {', '.join(path.name for path in trace.paths)}."
        rows = self.run_query("run_summary", limit=100)
        return "\n".join([names, *verdict, rows])

    def list_queries(self, about: str = "") -> str:
        """The queries that answer questions about a trace, each with its question.

        Args:
            about: only those about this, for instance "idle", "memory" or "nccl"; "" for the usual.
        """
        found = library().search(about)
        shown = [each for each in found if (each.front or about) and not each.is_building_block]
        if not shown:
            raise UsageError(f"no query is about {about!r}", "list_queries without about")
        return section([overview(shown), "", "describe explains one, run_query runs it."])

    def describe(self, name: str, sql: bool = False) -> str:
        """What a query or a table is: how it is computed, its columns with units, its limits.

        Args:
            name: of a query (list_queries) or a table ("kernel", "memcpy", "api_call", ...).
            sql: also show the SELECT of a query.
        """
        _see_that_it_exists(name)
        if name in TABLES:
            return section([table_markdown(TABLES[name])])
        query = library()[name]
        return section([describe(query), *(["", query.sql] if sql else [])])

    def run_query(
        self,
        name: str,
        parameters: Words = None,
        scope: Words = None,
        sort: str = "",
        limit: int = ROWS,
        offset: int = 0,
    ) -> str:
        """The rows of a query, or of a table, with units.

        Args:
            name: of the query (list_queries) or the table.
            parameters: of the query, by name (describe lists them).
            scope: the part of the trace, of: from and to ("1.5s" or "40%" since the beginning),
                steps ("5-8" or "steady"), gpu, rank, process (numbers), range (a name).
            sort: a column, with ":desc" or ":asc" behind it; "" for the query's own order.
            limit: rows of this answer.
            offset: rows to leave out, to go on where an answer ended.
        """
        _see_that_it_exists(name)
        given = {key: str(value) for key, value in (parameters or {}).items()}
        asked = Asked(given, _scope(scope), Narrowing(sort=sort), "")
        ask = partial(self._opened.trace.leased, rows_of, name, asked)
        return self._told(ask, limit, offset)

    def run_sql(
        self, statement: str, scope: Words = None, limit: int = ROWS, offset: int = 0
    ) -> str:
        """The rows of one SELECT of DuckDB over the tables and queries of the trace.

        Queries are views, or functions where they have parameters: FROM gpu_gaps(min_ns := 1000).
        Times are nanoseconds.  Without an ORDER BY, rows have no order that lasts.

        Args:
            statement: the SELECT; nothing else is run.
            scope: as of run_query.
            limit: as of run_query.
            offset: as of run_query.
        """
        if len(statement) > _STATEMENT_CHARACTERS:
            raise UsageError("the statement is longer than 64 KiB", "shorten it")
        check(statement)
        asked = Asked({}, _scope(scope), Narrowing(), "")
        ask = partial(self._opened.for_strangers.leased, statement_rows, statement, asked)
        return self._told(ask, limit, offset, self._lost())

    def findings(self, scope: Words = None, limit: int = ROWS, offset: int = 0) -> str:
        """What could be saved, the most first, what to do about it, and the query that shows it.

        Of the steady state, where there are steps and the scope says nothing else.  Two findings
        can be of the same time.

        Args:
            scope: as of run_query.
            limit: as of run_query.
            offset: as of run_query.
        """
        asked = Asked({}, _scope(scope), Narrowing(), "")
        ask = partial(self._opened.trace.leased, findings_rows, asked)
        return self._told(ask, limit, offset, self._lost())

    def compare(self, limit: int = ROWS, offset: int = 0) -> str:
        """What became slower or faster from the first trace to the second, with how sure that is.

        Args:
            limit: as of run_query.
            offset: as of run_query.
        """
        if len(self._paths) != 2:
            raise UsageError(
                f"two traces are compared, and there are {len(self._paths)} here",
                "cupti-etl mcp BEFORE AFTER",
            )
        asked = Asked({}, Scope(), Narrowing(), "")
        return self._told(lambda running: compared_rows(self._paths, asked, running), limit, offset)

    def report(self, title: str = "", scope: Words = None) -> str:
        """One section of the report on a trace; without a title, which sections there are.

        Args:
            title: of the section, or words of it.
            scope: as of run_query; the steady state, where it says nothing of times.
        """
        with self._limited() as running, self._opened.trace.lease() as whole:
            chosen = whole.usual(_scope(scope))
            with part_of(whole, chosen) as part, running.session(part) as session:
                head, *texts = str(build(session)).split("\n## ")
                running.check()
        titles = [text.partition("\n")[0] for text in texts]
        if not title:
            return section([head.strip(), "", "Sections:", *(f"* {each}" for each in titles)])
        found = [text for text in texts if title.lower() in text.partition("\n")[0].lower()]
        if not found:
            raise UsageError(f"the report has no section {title[:80]!r}", "; ".join(titles))
        return section([f"## {found[0].strip()}"])

    def _lost(self) -> list[str]:
        with self._opened.trace.lease() as trace:
            lost = losses(trace)
        return [f"the capture has losses ({lost}), so numbers may be too small."] if lost else []

    def _told(
        self,
        ask: Callable[[Running], AbstractContextManager[Answered]],
        limit: int,
        offset: int,
        beside: Sequence[str] = (),
    ) -> str:
        with self._limited() as running, ask(running) as answered:
            text = answer(answered, limit, offset, beside)
            running.check()
            return text

    @contextmanager
    def _limited(self) -> Iterator[Running]:
        """Statements that are stopped when their time is over.

        Raises:
            UsageError: it was.
        """
        running, over = Running(), threading.Event()
        late = False

        def watch() -> None:
            nonlocal late
            wait = self._limit_s
            while not over.wait(wait):
                late, wait = True, _PERSIST_S
                running.stop()

        watcher = threading.Thread(target=watch, name="time limit", daemon=True)
        watcher.start()
        try:
            yield running
        except EtlError:
            if not late:
                raise
            raise UsageError(
                f"the answer took longer than {self._limit_s:g} s",
                "ask for a part of the trace with scope",
            ) from None
        finally:
            over.set()
            watcher.join()


def _see_that_it_exists(name: str) -> None:
    try:
        if name not in TABLES:
            _ = library()[name]
    except UsageError:
        names = sorted({*TABLES, *(query.name for query in library())})
        raise UsageError(
            f"there is no query or table {name[:80]!r}",
            did_you_mean(name[:80], names, "list_queries lists them"),
        ) from None


def _scope(words: Words) -> Scope:
    for name in words or ():
        if name not in SCOPE_NAMES:
            raise UsageError(
                f"there is no scope {name[:80]!r}",
                did_you_mean(name[:80], SCOPE_NAMES, f"one of {', '.join(SCOPE_NAMES)}"),
            )
    return parse({name: str(value) for name, value in (words or {}).items()})
