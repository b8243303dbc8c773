"""An answer as a table for people; ``text`` and ``html`` draw it.

What a column is comes from the header of the query, or for other SQL from its name; what a row is
about from ``labels``; when the trace began and what its processes are called from the trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cupti_etl.progress import printable
from cupti_etl.queries.choose import begin_ns
from cupti_etl.queries.query import Label
from cupti_etl.render.columns import PROCESS, WHOSE, Column, Shape
from cupti_etl.render.labels import FULL, MANGLED, label_rows, processes
from cupti_etl.render.rows import Ask, Rows
from cupti_etl.render.values import NOTHING, has_fraction, in_unit, one_line, plain

if TYPE_CHECKING:
    import pyarrow as pa

ROW_LIMIT = 40


@dataclass(frozen=True)
class View:
    """How a table is shown.

    Attributes:
        wide: every column.
        raw: values as they are, without units and labels.
        time_unit: of durations: auto, ns, us, ms or s.
        limit: rows that are shown; None for all.
    """

    wide: bool = False
    raw: bool = False
    time_unit: str = "auto"
    limit: int | None = ROW_LIMIT


@dataclass(frozen=True)
class Shown:
    """A column of a table: its cells, and how they stand.

    Attributes:
        name: in SQL.
        heading: what stands above it.
        cells: texts.
        is_number: stands to the right, and is never cut.
        is_label: has names, which are cut where there is no room.
        values: of which the cells are made.
        unit: of the values, as a header says it.
        is_chosen: is among those that are shown unless all are asked for.
        is_subject: says what a row is about.
    """

    name: str
    heading: str
    cells: Sequence[str]
    is_number: bool
    is_label: bool = False
    values: Sequence[Any] = ()
    unit: str = "1"
    is_chosen: bool = True
    is_subject: bool = False


@dataclass(frozen=True)
class Table:
    """What is drawn.

    Attributes:
        columns: the most important first, the label last.
        hidden: names of those that are not among them.
        more: rows that are not shown.
    """

    columns: Sequence[Shown]
    hidden: Sequence[str]
    more: int


def table(rows: Rows, view: View) -> Table:
    """The first rows, or all, as a table."""
    schema, shown, more = _head(rows, view.limit)
    form = rows.shape
    values = {name: [row[at] for row in shown] for at, name in enumerate(schema.names)}
    differ = _differ(values, form.first)
    chosen = form.chosen(differ, wide=view.wide)
    facts = _Facts(rows.ask)
    in_view = [each for each in chosen if not _says_nothing(each, form, values, view, facts)]
    narrow = replace(view, wide=False)
    usual = {
        each.name
        for each in form.chosen(differ, wide=False)
        if not _says_nothing(each, form, values, narrow, facts)
    }
    columns = [
        replace(
            _column(each, form, values, schema, view, facts),
            values=values[each.name],
            unit=each.unit,
            is_chosen=each.name in usual,
            is_subject=each.name == form.subject,
        )
        for each in in_view
    ]
    kept = {each.name for each in columns}
    told = {"unit"} if _has_units(form, view) else set()
    hidden = [each.name for each in form.columns if each.name not in kept | told]
    return Table(_headed(columns, {each.name for each in form.columns}), hidden, more)


def subject_first(columns: Sequence[Shown]) -> list[Shown]:
    """What a row is about before its numbers, where what has no room is scrolled and not cut."""
    return sorted(columns, key=lambda each: not each.is_subject)


def whose(shown: Table) -> list[str]:
    """Of each row in words whose it is, such as ``GPU 1``; "" where all are of one."""
    told = [each for each in shown.columns if each.name in WHOSE]
    words = {"gpu": "GPU ", "rank": "rank ", "thread_id": "thread "}
    columns = [
        [f"{words.get(each.name, '')}{cell}" for cell in each.cells]
        for each in told
        if len(set(each.cells)) > 1
    ]
    rows = max((len(each.cells) for each in shown.columns), default=0)
    return [", ".join(cells) for cells in zip(*columns, strict=True)] if columns else [""] * rows


def _differ(values: Mapping[str, Sequence[Any]], first: Sequence[str]) -> list[str]:
    """Columns that say whose the rows are, where that is not the same for all.

    Of two that part the rows alike, as where each process has its GPU, one is enough: the one that
    is shown anyway.
    """
    found: list[str] = []
    parts: list[set[tuple[int, ...]]] = []
    for name in sorted(WHOSE, key=lambda name: name not in first):
        groups: dict[Any, list[int]] = {}
        for at, value in enumerate(values.get(name, ())):
            groups.setdefault(value, []).append(at)
        part = {tuple(group) for group in groups.values()}
        if len(groups) > 1 and part not in parts:
            found.append(name)
            parts.append(part)
    return found


def _says_nothing(
    column: Column, form: Shape, values: Mapping[str, Sequence[Any]], view: View, facts: _Facts
) -> bool:
    """Whether a column of a query can be left out, as all rows have the same to say."""
    if not form.is_known or view.wide:
        return False
    if column.name == "unit" and _has_units(form, view):
        return True
    if column.name == PROCESS and not view.raw and len(facts.processes) == 1:
        return True
    cells = values[column.name]
    is_label = form.label is not None and column.name == form.label.column
    return bool(cells) and not is_label and all(value in (None, "") for value in cells)


def _has_units(form: Shape, view: View) -> bool:
    """Whether each row has a value and its unit."""
    names = {column.name for column in form.columns}
    return {"value", "unit"} <= names and form.is_known and not view.raw


def _column(
    column: Column,
    form: Shape,
    values: Mapping[str, Sequence[Any]],
    schema: pa.Schema,
    view: View,
    facts: _Facts,
) -> Shown:
    cells = values[column.name]
    if form.is_known and not view.raw:  # an importer may not know the name of a thing
        cells = [None if value == "" else value for value in cells]
    label = form.label if form.label and form.label.column == column.name else None
    numeric = is_number(schema.field(column.name).type)
    if view.raw:
        texts = [plain(value) for value in cells]
        return Shown(column.name, printable(column.name), texts, numeric, label is not None)
    if label:
        texts = _labels(label, values, facts)
        return Shown(column.name, printable(column.heading), texts, False, True)
    if form.is_known and column.name not in FULL and any(map(_is_kernel, cells)):
        texts = _labels(Label(column.name, "kernel", (column.name,)), values, facts)
        return Shown(column.name, printable(column.heading), texts, False)
    if column.name == PROCESS:
        texts = [facts.process(value) for value in cells]
        return Shown(column.name, column.heading, texts, False)
    if column.name in ("value", "stderr") and _has_units(form, view):
        units = [str(unit or "1") for unit in values["unit"]]
    else:
        units = [column.unit] * len(cells)
    begin = facts.begin_ns if column.unit == "epoch ns" else 0
    is_fraction = len(set(units)) == 1 and has_fraction(cells)
    texts = [
        in_unit(value, unit, view.time_unit, begin, is_fraction=is_fraction)
        for value, unit in zip(cells, units, strict=True)
    ]
    is_label = form.label is None and column.name == form.subject and not numeric
    return Shown(column.name, printable(column.heading), texts, numeric, is_label)


def _is_kernel(value: Any) -> bool:
    """Whether it is the name of a function, mangled, or of a template's as PyTorch gives it."""
    return isinstance(value, str) and value.startswith(("_Z", "void "))


def _labels(label: Label, values: Mapping[str, Sequence[Any]], facts: _Facts) -> list[str]:
    names = (label.column, *label.of)
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(*(values[name] for name in names), strict=True)
    ]
    if label.kind == "process":
        rows = [{name: facts.process(row[name]) for name in names} for row in rows]
    return [one_line(text) or NOTHING for text in _named(label, rows, facts)]


def kernel_labels(names: Iterable[str], ask: Ask) -> dict[str, str]:
    """Labels of kernels by their mangled names; of what is none, it stays what it is."""
    label = Label("kernel", "kernel", ("kernel",))
    distinct = sorted(set(names))
    texts = _named(label, [{"kernel": name} for name in distinct], _Facts(ask))
    return dict(zip(distinct, map(one_line, texts), strict=True))


def _named(label: Label, rows: Sequence[Mapping[str, Any]], facts: _Facts) -> list[str]:
    """Labels of rows, with what the trace knows of the names in them."""
    mangled = {"kernel": (label.column,), "kernels": label.of}.get(label.kind, ())
    if label.kind == "kernel" and any(each in label.of for each in FULL):
        mangled = (MANGLED,) if MANGLED in label.of else ()
    unknown = {row[name] for row in rows for name in mangled} - {None}
    return label_rows(label, rows, facts.demangled(unknown) if unknown else {})


def _headed(columns: Sequence[Shown], names: Collection[str]) -> list[Shown]:
    """Columns under their names without units, unless something else is called so.

    Of a time and its share the time has the short name.
    """
    taken = {*names, *WHOSE}
    times = {each.heading for each in columns if each.name == f"{each.heading}_ns"}
    short = Counter(each.heading for each in columns)

    def is_clear(column: Shown) -> bool:
        if column.heading in taken:
            return False
        return short[column.heading] == 1 or (
            column.heading in times and column.name == f"{column.heading}_ns"
        )

    return [
        each
        if each.heading == each.name or is_clear(each)
        else replace(each, heading=printable(each.name))
        for each in columns
    ]


class _Facts:
    """What a table needs to know of the trace; asked when it is first needed."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._processes: dict[int, str] | None = None
        self._begin: int | None = None

    @property
    def begin_ns(self) -> int:
        """When the trace begins."""
        if self._begin is None:
            self._begin = begin_ns(self._ask)
        return self._begin

    @property
    def processes(self) -> Mapping[int, str]:
        """Labels of the processes by their ids."""
        if self._processes is None:
            rows = self._ask("SELECT process_id, pid, rank, host FROM process")
            self._processes = processes([row for row in rows if row["process_id"] is not None])
        return self._processes

    def process(self, process_id: Any) -> str:
        """The label of a process; its id where nothing is known of it."""
        return NOTHING if process_id is None else self.processes.get(process_id, str(process_id))

    def demangled(self, mangled: Iterable[str]) -> Mapping[str, str]:
        """Demangled names of kernels by those in their rows, where these are of kernels."""
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in sorted(mangled))
        sql = f"SELECT mangled, demangled FROM kernel_name WHERE mangled IN ({names})"
        return {row["mangled"]: row["demangled"] or "" for row in self._ask(sql)}


def _head(rows: Rows, limit: int | None) -> tuple[pa.Schema, list[tuple[Any, ...]], int]:
    """The first rows, and how many more there are."""
    schema, found = _first(rows, None if limit is None else limit + 1)
    if limit is None or len(found) <= limit:
        return schema, found, 0
    return schema, found[:limit], rows.count() - limit


def _first(rows: Rows, limit: int | None) -> tuple[pa.Schema, list[tuple[Any, ...]]]:
    # The reader is let go on return, which frees its connection for the counting.
    found: list[tuple[Any, ...]] = []
    reader = rows.reader()
    for batch in reader:
        wanted = batch if limit is None else batch.slice(0, limit - len(found))
        found += zip(*(column.to_pylist() for column in wanted.columns), strict=True)
        if limit is not None and len(found) >= limit:
            break
    return reader.schema, found


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type has numbers."""
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
