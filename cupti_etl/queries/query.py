"""What is known of a query of the library; see ``header`` for how its file says it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cupti_etl.queries.fields import Field
from cupti_etl.storage.sources import identifier

SCOPE = re.compile(r"whole|steady|(?:host )?(\w+_ns)(?: to (\w+_ns)(?:, (\w+_ns))?)?\Z")


@dataclass(frozen=True)
class Label:
    """A column of names, and what tells two of them apart.

    Attributes:
        column: where the names are.
        kind: what they are names of: kernel, kernels, copy, range, operator or process.
        of: the columns that tell two of them apart.
    """

    column: str
    kind: str
    of: tuple[str, ...]


@dataclass(frozen=True)
class Chart:
    """How an answer looks as a picture: bars, lines or flame, of two columns.

    ``by`` is a third, of what the parts of a bar are, each a row; "": each row is a bar.
    """

    kind: str
    x: str
    y: str
    by: str = ""


@dataclass(frozen=True)
class Saving:
    """What a finding says of its rows.

    Attributes:
        what: what takes the time.
        sure: measured or estimated.
        advice: what to do about it.
        shown: the query that shows it.
        options: with which its command does; "" for none.
    """

    what: str
    sure: str
    advice: str
    shown: str
    options: str = ""


@dataclass(frozen=True)
class Query:
    """One query of the library; its fields are the keys of its header."""

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
    none: str = ""
    materialized: str = ""
    rare: str = ""
    native: str = ""
    opened: str = ""
    front: str = ""
    first: tuple[str, ...] = ()
    label: Label | None = None
    chart: Chart | None = None
    example: str = ""
    alias: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    scope: str = ""
    lookup: tuple[str, ...] = ()
    saving: Saving | None = None
    partial: str = ""
    merge: str = ""
    approximate: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    gathered: tuple[str, ...] = ()

    @property
    def is_distributed(self) -> bool:
        """Whether workers can compute it."""
        return bool(self.merge or self.gathered)

    @property
    def chosen_by(self) -> tuple[str, ...]:
        """The columns of ``scope``: a time, or a start, an end and a length; none for all rows."""
        found = SCOPE.fullmatch(self.scope)
        return tuple(filter(None, found.groups())) if found else ()

    @property
    def is_of_host(self) -> bool:
        """Whether the times of ``scope`` are those at which the host did something."""
        return self.scope.startswith("host ")

    @property
    def is_of_whole(self) -> bool:
        """Whether it is computed over the whole trace, and rows are chosen of that in a scope."""
        return self.scope not in ("", "steady")

    @property
    def is_building_block(self) -> bool:
        """Whether it is made for other queries to read."""
        return self.name.startswith("_")

    @property
    def no_rows(self) -> str:
        """A SELECT that gives its columns and no row."""
        columns = (f"CAST(NULL AS {each.type}) AS {identifier(each.name)}" for each in self.columns)
        return f"SELECT {', '.join(columns)} WHERE false"

    @property
    def create(self) -> str:
        """The statement that installs it: a view, or a table macro if it takes parameters."""
        if self.parameters:
            return self.create_macro
        return f"CREATE OR REPLACE VIEW {self.name} AS\n{self.sql}"

    @property
    def create_macro(self) -> str:
        """The statement that installs it as a table macro."""
        # DuckDB wants parameters with a default last.
        ordered = sorted(self.parameters, key=lambda field: field.default is not None)
        signature = ", ".join(
            f"{field.name} {field.type}" + ("" if field.default is None else f" := {field.default}")
            for field in ordered
        )
        return f"CREATE OR REPLACE MACRO {self.name}({signature}) AS TABLE\n{self.sql}"
