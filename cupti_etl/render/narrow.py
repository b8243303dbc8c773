"""Which rows of an answer are given, and in which order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from cupti_etl.errors import UsageError, did_you_mean
from cupti_etl.storage.sources import identifier

if TYPE_CHECKING:
    from cupti_etl.render.rows import Rows

_UNKNOWN = re.compile(r'Referenced column "(?P<name>[^"]+)" (?:was )?not found')
_OF_CONDITION = re.compile(r"(?:Parser|Binder|Catalog) Error: ")
# Where the condition ends too early, DuckDB names the parenthesis that is put behind it.
_ENDS = re.compile(r'at or near "\)"(?=\n\nLINE \d+: \)\n)')
_ORDERS = ("asc", "desc")


@dataclass(frozen=True)
class Narrowing:
    """What ``--where``, ``--sort`` and ``--limit`` say.

    Attributes:
        where: SQL that is true of a row; "" for all.
        sort: a column, and ``:asc`` or ``:desc`` behind it; "" for the order of the query.
        limit: how many rows; None for all.
    """

    where: str = ""
    sort: str = ""
    limit: int | None = None


EVERYTHING = Narrowing()


def narrow(rows: Rows, narrowing: Narrowing) -> Rows:
    """The rows that are asked for.

    Raises:
        UsageError: there is no such column, or DuckDB refuses the condition.
    """
    from cupti_etl.render.rows import Passed

    clauses = []
    if narrowing.where:
        clauses.append(f"WHERE (\n{narrowing.where}\n)")
    if narrowing.sort:
        name, order = _order(rows, narrowing.sort)
        # Among equals the order of the query stays.
        clauses.append(f"ORDER BY {identifier(name)} {order} NULLS LAST, row_number() OVER ()")
        rows = Passed(rows, rows.shape.early(name))
    if narrowing.limit is not None:
        clauses.append(f"LIMIT {narrowing.limit}")
    if not clauses:
        return rows
    try:
        return rows.refined("\n".join(clauses))
    except UsageError as error:
        unknown = _UNKNOWN.search(error.message)
        if unknown and unknown["name"] not in rows.columns:
            _refuse(rows, unknown["name"])
        if narrowing.where and _OF_CONDITION.match(error.message):
            told = _ENDS.sub("at its end", error.message).splitlines()[0]
            raise UsageError(
                f"--where {narrowing.where!r} cannot be used: {_OF_CONDITION.sub('', told)}",
                "it is SQL that is true or false of each row, such as 'total_ns > 1e6'",
            ) from error
        raise


def _order(rows: Rows, text: str) -> tuple[str, str]:
    """The column and the order that ``--sort`` says."""
    name, colon, order = text.rpartition(":")
    if not colon:
        name, order = text, ""
    elif order.lower() not in _ORDERS:
        raise UsageError(
            f"{order!r} is not a sort order", f"--sort {name}:asc or --sort {name}:desc"
        )
    # A heading leaves out the unit.
    headings = [column.name for column in rows.shape.columns if column.heading == name]
    if name not in rows.columns and len(headings) == 1:
        (name,) = headings
    if name not in rows.columns:
        _refuse(rows, name)
    return name, order or _usual_order(rows, name)


def _usual_order(rows: Rows, name: str) -> str:
    from cupti_etl.render.table import is_number

    return "desc" if is_number(rows.reader().schema.field(name).type) else "asc"


def _refuse(rows: Rows, name: str) -> NoReturn:
    hint = did_you_mean(name, rows.columns, ", ".join(rows.columns))
    raise UsageError(f"there is no column {name!r}", hint)
