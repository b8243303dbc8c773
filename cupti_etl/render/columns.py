"""What the columns of an answer are: units, ids, labels, and which of them people want first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from cupti_etl.queries.catalog import library
from cupti_etl.queries.query import Chart, Label, Query
from cupti_etl.render.labels import FULL
from cupti_etl.schema.arrow import TABLES
from cupti_etl.schema.types import timestamp

_SUFFIXES = {"_ns": "ns", "_bytes": "bytes", "_pct": "%", "_gbps": "gigabytes/s"}
_IDS = ("_id", "_uuid", "_address", "_handle", "pid", "cbid")
# Of whom or where a row is; shown where rows differ in it, whatever comes first.
PROCESS, THREAD = "process_id", "thread_id"
WHOSE = ("gpu", "rank", PROCESS, THREAD)
_BEFORE_WHOSE = 2
# Sentences, of which a part says nothing, and how many lines they take at most: what to do is told
# to its end, and a command can be of any length.
IN_WORDS = {"advice": 9, "cause": 5, "detail": 5, "reason": 5, "why": 5}
# Shares that are named after the whole: without a suffix, its length would seem to be meant.
_SHARES_OF = ("kernel_pct", "peak_pct", "roof_pct", "span_pct")


# What people say for the end of a name that no other heading can be without.
_SAID = {"_ns": " time", "_pct": " %", "_bytes": " size", "_per_s": "/s", "_gbps": " rate"}


def in_words(heading: str) -> str:
    """A heading where there is room for words: ``idle %`` for ``idle_pct``."""
    for suffix, said in _SAID.items():
        if heading.endswith(suffix):
            heading = heading.removesuffix(suffix) + said
            break
    return heading.replace("_", " ")


@dataclass(frozen=True)
class Column:
    """A column of an answer.

    Attributes:
        name: its name in SQL.
        unit: as in a header: ns, epoch ns, bytes, %, a noun, "1"; "id" for what counts nothing.
    """

    name: str
    unit: str

    @property
    def heading(self) -> str:
        """Its name without the unit, which stands in its cells."""
        if self.name in (PROCESS, THREAD):
            return self.name.removesuffix("_id")
        if self.name in _SHARES_OF:
            return self.name
        for suffix, unit in _SUFFIXES.items():
            if self.name.endswith(suffix) and self.unit in (unit, f"epoch {unit}"):
                return self.name.removesuffix(suffix)
        return self.name


@dataclass(frozen=True)
class Shape:
    """The columns of an answer, and how it is shown.

    Attributes:
        columns: all of them.
        label: which of them has the names, and what tells two of those apart.
        first: the columns that answer the question; empty where nobody has said.
        is_known: whether a header says all that; else columns stay where they were asked for.
        chart: how it looks as a picture.
        why: gives what to say where there is no row.
    """

    columns: tuple[Column, ...]
    label: Label | None = None
    first: tuple[str, ...] = ()
    is_known: bool = False
    chart: Chart | None = None
    why: Callable[[], Iterable[str]] = tuple

    @property
    def subject(self) -> str:
        """The column that says what a row is about; "" if none is known to."""
        if self.chart is not None and self.chart.kind == "bars":
            return self.chart.x
        return self.label.column if self.label is not None else ""

    def early(self, name: str) -> Shape:
        """The same, of which one more column is shown, and early, as rows are sorted by it."""
        first = self.first
        is_label = self.label is not None and name == self.label.column
        if not first or name in first[:_BEFORE_WHOSE] or is_label:
            return self
        return replace(self, first=tuple(dict.fromkeys((first[0], name, *first[1:]))))

    def chosen(self, differ: Sequence[str], *, wide: bool) -> list[Column]:
        """Those to show, the most important first; the label last unless `first` says so.

        Args:
            differ: columns in which the rows are not all alike.
            wide: all.
        """
        by_name = {column.name: column for column in self.columns}
        names = list(by_name)
        if self.is_known:
            full = {name for name in FULL if self.label and name in self.label.of}
            said = tuple(name for name in names if by_name[name].unit != "id" and name not in full)
            # Where there is nothing but ids, they are the answer.
            wanted = self.first or said or tuple(names)
            whose = (name for name in WHOSE if name in differ and name in names)
            label = (self.label.column,) if self.label else ()
            # Early, or a narrow terminal has no room for it and rows look alike.
            head, rest = wanted[:_BEFORE_WHOSE], wanted[_BEFORE_WHOSE:]
            wanted = tuple(dict.fromkeys((*head, *whose, *rest, *label)))
            names = [*wanted, *(name for name in names if wide and name not in wanted)]
        last = self.label.column if self.label and self.is_known else None
        if last in self.first[:-1]:
            return [by_name[name] for name in names]
        names = [name for name in names if name != last] + [name for name in names if name == last]
        return [by_name[name] for name in names]


def shape(names: Sequence[str], query: Query | None) -> Shape:
    """The shape of an answer with these columns, be it a query's or that of any SQL."""
    if query is not None and [field.name for field in query.columns] == list(names):
        columns = tuple(
            Column(field.name, _unit(field.name, field.unit)) for field in query.columns
        )
        return Shape(columns, query.label, query.first, True, query.chart)
    columns = tuple(Column(name, unit_of(name)) for name in names)
    # What is selected from a query is labelled as its rows are, and to look for it takes time.
    queries = library() if len(set(names)) > 1 else ()
    labels = {each.label for each in queries if each.label and _fits(each.label, names)}
    return Shape(columns, max(labels, key=lambda each: (len(each.of), str(each)), default=None))


def unit_of(name: str) -> str:
    """The unit of a column of this name: where all that have it agree, else by its suffix."""
    # A query can count a time from elsewhere than the tables do.
    known = _units_of_tables().get(name) or _units_of_queries().get(name, set())
    if len(known) == 1:
        return _unit(name, next(iter(known)))
    by_suffix = (unit for suffix, unit in _SUFFIXES.items() if name.endswith(suffix))
    return _unit(name, next(by_suffix, "1"))


def _fits(label: Label, names: Sequence[str]) -> bool:
    # A column alone may be of anything that has its name.
    return len({label.column, *label.of}) > 1 and {label.column, *label.of} <= set(names)


def _unit(name: str, unit: str) -> str:
    return "id" if unit == "1" and name.endswith(_IDS) else unit


@cache
def _units_of_tables() -> dict[str, set[str]]:
    units: dict[str, set[str]] = {}
    for table in TABLES.values():
        for column in table.columns:
            unit = "epoch ns" if column.type is timestamp else column.unit
            units.setdefault(column.name, set()).add(unit)
    return units


@cache
def _units_of_queries() -> dict[str, set[str]]:
    units: dict[str, set[str]] = {}
    for query in library():
        for field in query.columns:
            units.setdefault(field.name, set()).add(field.unit)
    return units
