"""A trace divided into shards: processes that can be asked without knowing about the others.

Two processes are in one shard if they share a GPU, as its busy time is the union of what both
did, and so are all processes of folders that have a process or a GPU in common.  A shard
opens its own folders and no others.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cupti_etl.queries.empty import Asked
from cupti_etl.queries.scope import Choice, Gpu
from cupti_etl.queries.tables import owners
from cupti_etl.schema.arrow import TABLES
from cupti_etl.storage.sources import Source

if TYPE_CHECKING:
    import pyarrow as pa

_T = TypeVar("_T")


class Opened(Asked, Protocol):
    """An opened trace: ``cupti_etl.api.Trace``."""

    @property
    def choice(self) -> Choice | None: ...  # noqa: D102

    @property
    def settings(self) -> Mapping[str, str]: ...  # noqa: D102

    @property
    def sources(self) -> tuple[Source, ...]: ...  # noqa: D102

    @property
    def paths(self) -> tuple[Path, ...]: ...  # noqa: D102

    def sql(self, query: str, **params: Any) -> Any: ...  # noqa: D102

    def __enter__(self) -> Opened: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True)
class Portion(Choice):
    """The part of a trace that a shard is: each row is in one portion.

    Attributes:
        own: its processes.
        elsewhere: those of other shards of the same paths; rows of processes that nobody knows, or
            of none, are in the shard that has this.
    """

    own: tuple[int, ...] = ()
    elsewhere: tuple[int, ...] | None = None

    @property
    def is_of_some(self) -> bool:
        """Always so: its GPUs have the numbers that they have in the whole trace."""
        return True

    def who(self, table: str) -> str:
        """The condition on rows of a table."""
        columns = {column.name for column in TABLES[table].columns} if table in TABLES else set()
        words = [chosen] if (chosen := super().who(table)) else []
        if "process_id" in columns and self.elsewhere is None:
            words.append(f"process_id IN ({', '.join(map(str, self.own))})")
        elif "process_id" in columns and self.elsewhere:
            others = ", ".join(map(str, self.elsewhere))
            words.append(f"(process_id NOT IN ({others}) OR process_id IS NULL)")
        return " AND ".join(words)


@dataclass(frozen=True)
class Shard:
    """What a worker opens.

    Attributes:
        paths: of the trace, those with something of it.
        portion: which part of them; None for all.
        settings: of DuckDB.
    """

    paths: tuple[Path, ...]
    portion: Portion | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def with_given(self, rows: Mapping[str, pa.Table]) -> Shard:
        """The same, with rows of tables and queries that all shards have in common."""
        return replace(self, portion=replace(self.portion or Portion(""), given=rows))

    @property
    def says(self) -> str:
        """Its paths and how many of their processes, in words."""
        names = ", ".join(str(path) for path in self.paths[:3])
        more = f" and {len(self.paths) - 3} more" if len(self.paths) > 3 else ""
        part = self.portion
        if not part or part.elsewhere == ():
            return f"{names}{more}"
        processes = ", ".join(str(each) for each in part.own[:3])
        return f"{names}{more} (process_id {processes}{', ...' if len(part.own) > 3 else ''})"


def shards(trace: Opened, settings: Mapping[str, str]) -> list[Shard]:
    """Divide a trace, or the part of it that is asked.

    Args:
        trace: as it was opened.
        settings: of DuckDB on the workers.

    Raises:
        TraceError: a part is damaged, or has vanished.
    """
    choice = trace.choice or Choice("")
    # One that knows all numbers of GPUs, however few are asked.
    gpus: dict[int, list[Gpu]] = {}
    for row in trace.sql("FROM gpu ORDER BY ALL"):
        gpus.setdefault(row["process_id"], []).append(Gpu(**row))
    held: dict[Path, set[int]] = {source.path: set() for source in trace.sources}
    for select in owners(trace.sources):
        for row in trace.sql(select):
            held[Path(row["path"])].add(row["process_id"])
    found = []
    for paths in _together(held, gpus):
        own = set().union(*(held[path] for path in paths))
        groups = _groups(own, gpus) if len(paths) == 1 else [own]
        for at, group in enumerate(groups):
            if choice.processes is not None and group.isdisjoint(choice.processes):
                continue
            elsewhere = tuple(sorted(own - group)) if at == 0 else None
            portion = Portion(
                **{name: getattr(choice, name) for name in _CHOICE}
                | {"gpus": tuple(gpu for each in sorted(group) for gpu in gpus.get(each, ()))},
                own=tuple(sorted(group)),
                elsewhere=elsewhere,
            )
            found.append(Shard(paths, portion, settings))
    if len(found) == 1 and trace.choice is None:
        # Then what is kept in the trace's folder will do.
        return [Shard(found[0].paths, None, settings)]
    return found


_CHOICE = tuple(each.name for each in fields(Choice))


def _together(
    held: Mapping[Path, set[int]], gpus: Mapping[int, Sequence[Gpu]]
) -> list[tuple[Path, ...]]:
    """Paths, in their order; those with the same process or GPU stand together."""
    links = {
        path: {("process", each) for each in processes}
        | {("gpu", gpu.gpu) for each in processes for gpu in gpus.get(each, ())}
        for path, processes in held.items()
    }
    return [tuple(each) for each in _united(links)]


def _groups(processes: Collection[int], gpus: Mapping[int, Sequence[Gpu]]) -> list[set[int]]:
    """Processes by the GPUs that they share; one group of none where there are none."""
    links = {each: {gpu.gpu for gpu in gpus.get(each, ())} for each in sorted(processes)}
    return [set(each) for each in _united(links)] or [set()]


def _united(links: Mapping[_T, Collection[Hashable]]) -> list[list[_T]]:
    """Things that are linked, directly or through others, by something that they have in common."""
    leader: dict[Hashable, Hashable] = {}

    def lead(one: Hashable) -> Hashable:
        while (up := leader.setdefault(one, one)) != one:
            leader[one] = leader[up]
            one = up
        return one

    for at, names in enumerate(links.values()):
        lead(("thing", at))
        for name in names:
            leader[lead(("name", name))] = lead(("thing", at))
    found: dict[Hashable, list[_T]] = {}
    for at, thing in enumerate(links):
        found.setdefault(lead(("thing", at)), []).append(thing)
    return list(found.values())
