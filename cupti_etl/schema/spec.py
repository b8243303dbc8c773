"""The vocabulary in which tables are described: Column, Kind, Table.

A *kind* is a table that is decoded from CUPTI activity records; its columns name
members of NVIDIA's record struct.  A *table* is one of our own, written by the
collector.  Both are data; everything else about a table is derived from it.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

from cupti_etl.errors import SchemaError
from cupti_etl.schema.types import Type, correlation, enum, process, string

# A member that user-defined records cannot have.
NO_FIELD = "-"

NAME = re.compile(r"[a-z][a-z0-9_]*\Z")
# Where words of a member's name meet, and the number of its version.
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_VERSION = re.compile(r"_v\d+\Z")


@dataclass(frozen=True)
class Enum:
    """Labels for the values of one CUPTI enumeration.

    ``labels`` maps the enumerator's name in the header to the short string that
    is stored; the numbers are taken from the header by ``make generate``.
    """

    name: str
    labels: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Args:
        name: column name; nanosecond columns end in ``_ns``.
        type: how the value is read and stored.
        source: member of the record struct, or ``""`` for a column of our own.
        doc: one sentence.
        unit: physical unit (``ns``, ``bytes``, ``threads``, ...); ``"1"`` for ids,
            names and counts without one.
        null: value of the record's member that means "not known".
        since: CUPTI API version from which the member has a meaning, where the
            record did not grow for it.
        labels: the enumeration, for type ``enum``.
        mask: only these bits of the member (flags).
        at: byte offset inside the member, for unions.
        width: bytes to read there, where it differs from the member's size.
        joins: ``table.column`` that this column refers to.
        only: ``(member, value, ...)``, values being enumerators or numbers: the column
            has a meaning only in records whose ``member`` (its first 32 bits) is one of
            them, as with the parts of a union; elsewhere it is NULL.
        field: field of a user-defined record, as in ``KERNEL_FIELD_<field>``, where its
            name is not that of the member; ``NO_FIELD`` if there is none.
        was: names that it had before, the oldest first, each with the version of the schema that
            no longer has it: ``(("grid", 2),)``. What is in files under such a name is read.
    """

    name: str
    type: Type
    source: str
    doc: str
    unit: str = "1"
    null: int | None = None
    since: int = 0
    labels: Enum | None = None
    mask: int = 0
    at: int = 0
    width: int = 0
    joins: str = ""
    only: tuple[str | int, ...] = ()
    field: str = ""
    # Not part of the fingerprint, which is made of this text: records know nothing of it.
    was: tuple[tuple[str, int], ...] = dataclasses.field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not NAME.match(self.name):
            raise SchemaError(f"column name {self.name!r} is not snake_case")
        if not self.doc.endswith("."):
            raise SchemaError(f"column {self.name}: the doc line must be a sentence")
        if (self.type is enum) != (self.labels is not None):
            raise SchemaError(f"column {self.name}: labels go with type enum, and only there")
        if self.name.endswith("_ns") and self.unit != "ns":
            raise SchemaError(f"column {self.name}: a name in _ns needs unit='ns'")
        if len(self.only) == 1:
            raise SchemaError(f"column {self.name}: only= needs a member and its values")
        if self.only and self.type in (string, correlation):
            # The injector follows every pointer, and call ids are widened one by one.
            raise SchemaError(f"column {self.name}: only= goes with numbers and enumerations")
        versions = [until for _, until in self.was]
        if versions != sorted({*versions}) or min(versions, default=2) < 2:
            raise SchemaError(f"column {self.name}: was= goes up, from version 2 of the schema on")

    def name_in(self, version: int) -> str:
        """What it is called in files of a version of the schema."""
        return next((name for name, until in self.was if version < until), self.name)


@dataclass(frozen=True)
class Table:
    """A table that the collector itself writes.

    ``key`` names the columns that tell one row from another, where several captures may
    hold the same row: opened together, they show it once.  ``more`` is the type of the
    columns that a capture adds after those that every trace has, and ``described_in`` the
    table with a row for each of them.  ``chosen_by`` is the column of time by which a scope
    chooses rows; "" if it takes all of them.  ``is_lasting`` and ``is_of_host`` are as of ``Kind``.
    """

    name: str
    doc: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    more: Type | None = None
    described_in: str = ""
    chosen_by: str = ""
    is_lasting: bool = False
    is_of_host: bool = False

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise SchemaError(f"table {self.name}: a column name stands twice")
        for key in (*self.sort, *self.key):
            if key not in names:
                raise SchemaError(f"table {self.name}: key {key!r} is not a column")
        if (self.more is None) != (not self.described_in):
            raise SchemaError(f"table {self.name}: more and described_in go together")
        for version in {until - 1 for column in self.columns for _, until in column.was}:
            if len(self.renamed(version)) < sum(c.name_in(version) != c.name for c in self.columns):
                raise SchemaError(f"table {self.name}: two columns were called the same")

    def renamed(self, version: int) -> dict[str, str]:
        """Present names by those that columns had in a version of the schema, if these differ."""
        names = {column.name_in(version): column.name for column in self.columns if column.was}
        return {before: now for before, now in names.items() if before != now}


PROCESS_ID = Column(
    "process_id",
    process,
    "",
    "The traced process that made the record.",
    joins="process.process_id",
)


# From the smallest to the largest; each includes those before it.
PRESETS = ("light", "default", "full")


@dataclass(frozen=True)
class Kind:
    """A table decoded from CUPTI activity records.

    Args:
        table: table name.
        activity: activity kinds (without ``CUPTI_ACTIVITY_KIND_``) that feed it.
        serialized: the one that feeds it instead where its work is to run one piece at a time,
            as counters of single kernels need it; empty if there is none.
        struct: newest record struct in the header; older ones are prefixes of it.
        doc: one sentence about a row.
        columns: the columns, without ``process_id``, which every kind has first.
        preset: smallest of ``PRESETS`` that includes it, or ``"graph"``: recorded with
            ``--graph graph`` and only then, because CUPTI then leaves out the records
            of a graph's nodes.
        is_lasting: its rows describe what outlives a window of recording (a device, a
            context), so they are recorded while recording is off, too, and kept however old.
        is_gpu_work: its rows are work that keeps a GPU busy, as ``gpu_interval`` has them.
        is_static: its rows describe, and are no activity: a trace with these alone has
            captured nothing.
        is_state: its rows change what lasts, as allocations do, so that what holds at some time
            follows from all rows before.
        is_of_host: its times are those at which a thread of the host did something, rather than
            those of work on a GPU, for which the host may have asked long before.
        fields: what the names of its fields in user-defined records begin with, where that
            is not the table's name; ``NO_FIELD`` if the kind cannot be had as such records.
        key: as of ``Table``; ``process_id`` is part of it and not named.
    """

    table: str
    activity: tuple[str, ...]
    struct: str
    doc: str
    columns: tuple[Column, ...]
    preset: str = "default"
    is_lasting: bool = False
    is_gpu_work: bool = False
    is_static: bool = False
    is_state: bool = False
    is_of_host: bool = False
    fields: str = ""
    key: tuple[str, ...] = ()
    serialized: str = ""

    def __post_init__(self) -> None:
        if self.preset not in (*PRESETS, "graph"):
            raise SchemaError(f"table {self.table}: there is no preset {self.preset!r}")

    @property
    def fed_by(self) -> tuple[str, ...]:
        """All activity kinds that feed it."""
        return (*self.activity, *filter(None, [self.serialized]))

    def field(self, column: Column) -> str | None:
        """The enumerator of a column's field in user-defined records; None if it has none."""
        name = column.field or _WORD.sub("_", _VERSION.sub("", column.source)).upper()
        if NO_FIELD in (self.fields, name) or not column.source:
            return None
        return f"{self.fields or self.table.upper()}_FIELD_{name}"

    def as_table(self) -> Table:
        """The table as it is stored: ``process_id`` first, and sorted by time."""
        key = (PROCESS_ID.name, *self.key) if self.key else ()
        times = tuple({column.name for column in self.columns} & {"start_ns", "timestamp_ns"})
        columns = (PROCESS_ID, *self.columns)
        return Table(
            self.table,
            self.doc,
            columns,
            times,
            key,
            chosen_by="" if self.is_static or self.is_state else "".join(times),
            is_lasting=self.is_lasting,
            is_of_host=self.is_of_host,
        )
