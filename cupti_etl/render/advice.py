"""What to say of SQL that cannot be run: what its writer may have meant."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from cupti_etl.errors import UsageError
from cupti_etl.queries.catalog import library
from cupti_etl.schema.arrow import TABLES

_BEGIN = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_NAME = r"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?:main\.)?\"?(\w+)"
_CHANGE = re.compile(
    rf"{_BEGIN}(INSERT(?:\s+OR\s+\w+)?\s+INTO|UPDATE|DELETE\s+FROM|TRUNCATE(?:\s+TABLE)?"
    rf"|(?:DROP|ALTER)\s+(?:TABLE|VIEW))\s+{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_CREATION = re.compile(
    rf"{_BEGIN}CREATE\s+(?:OR\s+REPLACE\s+)?(?:TEMP(?:ORARY)?\s+)?(?:TABLE|VIEW)\s+{_NAME}",
    re.IGNORECASE | re.DOTALL,
)
_SAMPLES = re.compile(r"\bpm_sample\b", re.IGNORECASE)
_NO_COLUMN = re.compile(r"Referenced column \"([^\"]+)\" (?:was )?not found")
_NO_TABLE = re.compile(r"Table with name \"?(\w+)\"? does not exist")


def created(statement: str) -> str:
    """The table or view that the statement makes; "" if it makes none."""
    found = _CREATION.match(statement)
    return found[1].lower() if found else ""


def refuse_change(statement: str, own: Collection[str]) -> None:
    """See that a statement does not set out to change a trace.

    Args:
        statement: SQL.
        own: tables and views that were created on this connection, which may be changed.

    Raises:
        UsageError: it does.
    """
    found = _CHANGE.match(statement)
    name = found[2].lower() if found else ""
    if found and name not in own and (name in TABLES or name in library()):
        what = " ".join(found[1].upper().split())
        raise UsageError(
            f"{what} {name} is refused: a trace is only read, never changed",
            f"change a copy: CREATE TABLE mine AS FROM {name}",
        )


def explained(error: UsageError, statement: str) -> UsageError:
    """The same error, or one that says what was meant, if that can be guessed."""
    alone = statement_for(statement)
    if alone:
        return UsageError(f"{statement.strip()!r} is no SQL", f"did you mean {alone}?")
    found = _NO_TABLE.search(error.message)
    meant = statement_for(found[1]) if found else ""
    if found and meant:
        # DuckDB itself suggests what is like it among its own tables.
        return UsageError(f"Table with name {found[1]} does not exist", f"did you mean {meant}?")
    column = _NO_COLUMN.search(error.message)
    if column and not error.hint:
        hint = "DESCRIBE lists columns (DESCRIBE kernel); a duration is end_ns - start_ns"
        if f'"{column[1]}"' in statement:
            hint = f"if it is a text, write '{column[1]}'"
        elif _SAMPLES.search(statement):
            hint = "FROM pm_metric lists the metrics; a trace has those that capture --pm sampled"
        return UsageError(error.message, hint)
    return error


def statement_for(name: str) -> str:
    """A statement that shows the table or query of that name, or a similar one; "" for none."""
    name = name.strip().rstrip(";").rstrip()
    if not name.isidentifier():
        return ""
    known = {*TABLES, *(query.name for query in library())}
    similar = [name] if name in known else get_close_matches(name.lower(), known, 1, 0.8)
    if not similar:
        return ""
    is_macro = similar[0] in library() and library()[similar[0]].parameters
    return f"FROM {similar[0]}{'()' if is_macro else ''}"
