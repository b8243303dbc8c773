"""A small SQL shell on a trace; also runs scripts, from an argument or a pipe."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cupti_etl.api import Result, Trace
from cupti_etl.errors import EtlError, UsageError
from cupti_etl.progress import printable, say
from cupti_etl.queries.catalog import library
from cupti_etl.queries.reference import describe, overview
from cupti_etl.render.advice import created, explained, refuse_change
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.sources import identifier

_HELP = """\
SQL ends with a semicolon and may take several lines.
.tables          the tables of the trace, with their numbers of rows
.schema [NAME]   columns of a table or query; of all tables without NAME
.queries         the queries of the library; FROM kernel_summary; runs one
.help            this text
.quit            leave; so do exit, quit and end of file"""
_PROMPT, _CONTINUED = "cupti-etl> ", "      ...> "


class Shell:
    """Runs statements one after another and shows what each gives.

    Args:
        trace: a session of a trace.
        show: writes the rows of a result, which is that of a statement.
    """

    def __init__(self, trace: Trace, show: Callable[[Result, str], None]) -> None:
        self._trace = trace
        self._show = show
        self._own: set[str] = set()  # what statements have made

    def run_script(self, lines: Iterable[str]) -> None:
        """Run all statements and dot commands of a script; the last needs no semicolon.

        Raises:
            EtlError: a statement cannot be run; those after it are not.
        """
        for statement in self._statements(lines):
            if not self._run(statement):
                return

    def run_interactive(self, history: Path | None = None) -> None:
        """Read from the terminal until end of file; errors are shown, not raised."""
        say(f"{', '.join(map(str, self._trace.paths))}: SQL ending with ';', or .help")
        with _line_editing(history, self._words()):
            lines = _TerminalLines()
            statements = self._statements(lines, lines)
            while True:
                try:
                    statement = next(statements, None)
                    if statement is None or not self._run(statement):
                        return
                except EtlError as error:
                    say(error.message)
                    if error.hint:
                        say(error.hint)
                except KeyboardInterrupt:
                    say("interrupted")

    def _statements(
        self, lines: Iterable[str], state: _TerminalLines | None = None
    ) -> Iterator[str]:
        """Statements and dot commands; a statement ends with a line that completes it."""
        text = ""
        for line in lines:
            if state is not None and state.discard:
                text, state.discard = "", False
            if not text and line.strip().startswith("."):
                yield line.strip()
                continue
            if not text and line.strip().rstrip(";").lower() in ("exit", "quit"):
                yield ".quit"
                continue
            done, text = split(f"{text}{line.rstrip()}\n")
            if state is not None:
                state.continued = bool(text)
            yield from done
        if text.strip():
            yield text

    def _run(self, statement: str) -> bool:
        """Run one statement or dot command; false ends the shell."""
        if not statement.startswith("."):
            self._answer(statement)
            return True
        command, *names = statement.split()
        if command in (".quit", ".exit"):
            return False
        answer = {
            ".help": lambda: _HELP,
            ".tables": lambda: self._tables(),
            ".queries": lambda: overview([each for each in library() if each.front]),
            ".schema": lambda: self._schema(names),
        }.get(command)
        if answer is None:
            raise UsageError(f"there is no command {command}", ".help lists them")
        print(printable(answer(), keep="\n"))
        return True

    def _answer(self, statement: str) -> None:
        refuse_change(statement, self._own)
        try:
            result = self._trace.sql(statement)
        except UsageError as error:
            raise explained(error, statement) from error
        self._own.add(created(statement))
        self._show(result, statement)

    def _tables(self) -> str:
        names = self._trace.tables
        counts = ", ".join(f"(SELECT count(*) FROM {identifier(name)})" for name in names)
        rows = [row["rows"] for row in self._trace.sql(f"SELECT unnest([{counts}]) AS rows")]
        wide = max(map(len, names))
        return "\n".join(
            f"{name:<{wide}}  {count:>13,}" for name, count in zip(names, rows, strict=True)
        )

    def _schema(self, names: list[str]) -> str:
        if names and names[0] in library():
            return describe(library()[names[0]])
        if names and names[0] not in self._trace.tables:
            raise UsageError(f"there is no table or query {names[0]!r}", ".tables lists the tables")
        return "\n\n".join(self._describe_table(name) for name in names or self._trace.tables)

    def _describe_table(self, name: str) -> str:
        if name not in TABLES:
            columns = self._trace.sql(f"FROM {identifier(name)}").columns
            return "\n  ".join([name, *columns])
        table = TABLES[name]
        lines = [f"{name}: {table.doc}"]
        wide = max(len(column.name) for column in table.columns)
        for column in table.columns:
            unit = "" if column.unit == "1" else f" [{column.unit}]"
            lines.append(f"  {column.name:<{wide}}  {column.type.sql}{unit}  {column.doc}")
        return "\n".join(lines)

    def _words(self) -> list[str]:
        words = {*self._trace.tables, *(query.name for query in library())}
        words.update(column.name for table in TABLES.values() for column in table.columns)
        words.update((".help", ".tables", ".schema", ".queries", ".quit"))
        words.update(("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "USING"))
        return sorted(words)


def split(text: str) -> tuple[list[str], str]:
    """The complete statements of a text, and the incomplete rest.

    A semicolon inside quotes or a comment completes nothing.
    """
    done = []
    start = 0
    for at, char in enumerate(text):
        if char == ";" and sqlite3.complete_statement(text[start : at + 1]):
            statement = text[start:at].strip()
            if statement:
                done.append(statement)
            start = at + 1
    rest = text[start:]
    return done, rest if rest.strip() else ""


class _TerminalLines:
    """Lines that a person types; Ctrl-C gives up the statement begun, not the shell."""

    def __init__(self) -> None:
        self.continued = False
        self.discard = False

    def __iter__(self) -> Iterator[str]:
        while True:
            try:
                yield input(_CONTINUED if self.continued else _PROMPT)
            except EOFError:
                print()
                return
            except KeyboardInterrupt:
                print()
                self.continued, self.discard = False, True


@contextmanager
def _line_editing(history: Path | None, words: list[str]) -> Iterator[None]:
    """Line editing, completion and a history file, where Python has readline."""
    try:
        import readline
    except ImportError:
        yield
        return

    def complete(text: str, state: int) -> str | None:
        matches = [word for word in words if word.lower().startswith(text.lower())]
        return matches[state] if state < len(matches) else None

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(1000)
    if history is not None:
        with suppress(OSError):
            readline.read_history_file(history)
    try:
        yield
    finally:
        if history is not None:
            # A history that cannot be kept is no reason to fail.
            with suppress(OSError):
                history.parent.mkdir(parents=True, exist_ok=True)
                readline.write_history_file(history)
