"""What of a trace a person asks, found in the trace: ``--steps 5-8 --rank 3`` becomes a choice."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import index
from typing import Any

from cupti_etl.errors import UsageError
from cupti_etl.queries.scope import Choice, Gpu, Window
from cupti_etl.queries.which_steps import Ask, which_steps
from cupti_etl.storage.sources import quoted
from cupti_etl.units import duration_ns

# A whole number that is at least as large is a time since 1970, of 1970-01-12 or later.
LEAST_EPOCH = 10**15
_LEAST_TIME, _MOST_TIME = -(2**63), 2**63 - 1
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%\Z")


@dataclass(frozen=True)
class Scope:
    """The part of a trace that is asked; what is None or empty asks for all.

    Attributes:
        from_: when it begins: an offset from the trace's beginning (``1.5s``; ``-2s`` from its
            end), a share of it (``40%``), or nanoseconds since 1970.
        to: when it is over, alike.
        steps: numbers of steps: ``5``, ``5-8``, ``5-`` (to the last) or ``-8``; ``steady``, those
            after the warm-up; ``complete``, these without the last; or ``all`` of the trace.
        gpu: numbers of GPUs, as in the query ``gpu``.
        rank: ranks.
        process: pids, or process_ids.
        range: the name of an NVTX range: the times in which a process was in one of that name.
    """

    from_: str | int | None = None
    to: str | int | None = None
    steps: str | int | None = None
    gpu: tuple[int, ...] = ()
    rank: tuple[int, ...] = ()
    process: tuple[int, ...] = ()
    range: str = ""

    def __bool__(self) -> bool:
        return self not in (Scope(), Scope(steps="all"))

    @property
    def says_when(self) -> bool:
        """Whether it chooses times, if only all of them."""
        return not (
            self.from_ is None and self.to is None and self.steps is None and not self.range
        )


SCOPE_NAMES = tuple(field.name.rstrip("_") for field in fields(Scope))


def parse(words: Mapping[str, str]) -> Scope:
    """A scope by its names, with values as in the options of a command.

    Raises:
        UsageError: a value is to be numbers, and is not.
    """
    given: dict[str, Any] = {}
    for field in fields(Scope):
        name = field.name.rstrip("_")
        if name in words:
            is_numbers = field.default == ()
            given[field.name] = numbers(name, words[name]) if is_numbers else words[name]
    return Scope(**given)


def numbers(name: str, given: int | str | Iterable[int]) -> tuple[int, ...]:
    """The numbers, as they are or of a text such as ``0,2``; none, which is to say all, of ``all``.

    Raises:
        UsageError: it is something else.
    """
    try:
        if isinstance(given, str):
            return () if given in ("", "all") else tuple(map(int, given.split(",")))
        return tuple(map(index, given if isinstance(given, Iterable) else [given]))
    except (TypeError, ValueError):
        raise UsageError(
            f"{name}: {given!r} is not a number, numbers with commas between, or all",
            f"for instance {name} 0 or {name} 0,2",
        ) from None


def choose(scope: Scope, ask: Ask) -> Choice:
    """Find in a trace what a scope says.

    Args:
        scope: what is asked.
        ask: gives the rows of a statement over the whole trace.

    Raises:
        UsageError: there is no such GPU, rank, process, step or range, or a time is none.
    """
    processes, gpus = _who(scope, ask)
    windows = [_times(scope, ask)]
    words = list(_words(scope))
    if scope.steps not in (None, "all"):
        chosen, which = which_steps(str(scope.steps), processes, gpus, ask)
        windows = _both(windows, chosen)
        words.append(which)
    if scope.range:
        # These are times of the host.
        windows = [each.of_host or each for each in windows]
        windows = _both(windows, _ranges(scope.range, processes, ask))
    return Choice(
        ", ".join(words),
        "".join(_options(scope)),
        processes,
        gpus,
        bool(scope.gpu),
        () if windows == [Window(None, None)] else tuple(windows),
    )


def _who(scope: Scope, ask: Ask) -> tuple[tuple[int, ...] | None, tuple[Gpu, ...]]:
    """The processes, None for all of them, and the GPUs."""
    processes = _processes(scope, ask)
    gpus = _gpus(scope, processes, ask)
    if scope.gpu:
        processes = tuple(sorted({gpu.process_id for gpu in gpus}))
    return processes, gpus


def _words(scope: Scope) -> Iterable[str]:
    for name, value in (("from", scope.from_), ("up to", scope.to)):
        if value is not None:
            yield f"{name} {value}"
    for name, numbers in (("GPU", scope.gpu), ("rank", scope.rank), ("process", scope.process)):
        if numbers:
            yield f"{name} {', '.join(map(str, numbers))}"
    if scope.range:
        yield f"in {scope.range}"


def _options(scope: Scope) -> Iterable[str]:
    for field in fields(scope):
        value = getattr(scope, field.name)
        if value not in (None, (), ""):
            text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
            yield f" --{field.name.rstrip('_')} {shlex.quote(text)}"


def _processes(scope: Scope, ask: Ask) -> tuple[int, ...] | None:
    if not (scope.rank or scope.process):
        return None
    rows = ask("SELECT process_id, pid, rank FROM process ORDER BY rank, pid")
    for what, wanted, names in (
        ("rank", scope.rank, ("rank",)),
        ("process", scope.process, ("pid", "process_id")),
    ):
        _check(what, wanted, [row[name] for row in rows for name in names], names[0], rows)
    return tuple(
        row["process_id"]
        for row in rows
        if (not scope.rank or row["rank"] in scope.rank)
        and (not scope.process or {row["pid"], row["process_id"]} & set(scope.process))
    )


def _gpus(scope: Scope, processes: tuple[int, ...] | None, ask: Ask) -> tuple[Gpu, ...]:
    columns = "gpu, process_id, device_id, device_uuid, device_name, host"
    rows = ask(f"SELECT {columns} FROM gpu ORDER BY gpu, process_id")
    _check("GPU", scope.gpu, [row["gpu"] for row in rows], "gpu", rows)
    return tuple(
        Gpu(**row)
        for row in rows
        if (not scope.gpu or row["gpu"] in scope.gpu)
        and (processes is None or row["process_id"] in processes)
    )


def _check(
    what: str,
    wanted: Sequence[int],
    known: Sequence[Any],
    column: str,
    rows: Sequence[dict[str, Any]],
) -> None:
    for number in wanted:
        if number not in known:
            there = sorted({row[column] for row in rows if row[column] is not None})
            names = ", ".join(map(str, there[:20])) + (" ..." if len(there) > 20 else "")
            several = f"{what}es" if what == "process" else f"{what}s"
            has = f"its only {what} is {names}" if len(there) == 1 else f"its {several} are {names}"
            raise UsageError(
                f"the trace has no {what} {number}",
                has if there else f"it says nothing of {several}",
            )


def begin_ns(ask: Callable[[str], Iterable[Mapping[str, Any]]]) -> int:
    """When a trace begins, from which its times are counted: with the first of its captures.

    Where nothing is said of the capture it is the earliest time of a record, which takes far
    longer to find.
    """
    for table in ("capture", "_table_extent WHERE is_activity"):
        for row in ask(f"SELECT min(start_ns) AS begin_ns FROM {table}"):
            if row["begin_ns"] is not None:
                return int(row["begin_ns"])
    return 0


def _times(scope: Scope, ask: Ask) -> Window:
    if scope.from_ is None and scope.to is None:
        return Window(None, None)
    (row,) = ask("SELECT max(end_ns) AS end_ns FROM _table_extent WHERE is_activity")
    first = begin_ns(ask)
    last = max(row["end_ns"] or 0, first)
    start, end = _at(scope.from_, first, last), _at(scope.to, first, last)
    if start is not None and end is not None and start >= end:
        raise UsageError(
            f"the time from {scope.from_} to {scope.to} is empty",
            f"the trace lasts {(last - first) / 1e9:.6g} s",
        )
    # What begins with the trace, and what has no time, is in its first part.
    return Window(
        None if start is None or start <= first else start,
        None if end is None or end > last else end,
    )


def _at(given: str | int | None, first: int, last: int) -> int | None:
    """A point in time, as nanoseconds since 1970, that a column can hold."""
    return None if given is None else max(_LEAST_TIME, min(_point(given, first, last), _MOST_TIME))


def _point(given: str | int, first: int, last: int) -> int:
    text = str(given).strip()
    if text.isdecimal() and int(text) >= LEAST_EPOCH:
        return int(text)
    if share := _PERCENT.match(text):
        # The end of the trace is within it.
        return first + round(float(share[1]) / 100 * (last + 1 - first))
    if text.startswith("-"):
        return last - duration_ns(text[1:])
    return first + duration_ns(text.removeprefix("+"))


def _ranges(name: str, processes: tuple[int, ...] | None, ask: Ask) -> list[Window]:
    rows = ask(
        "SELECT process_id, start_ns, end_ns FROM nvtx_range"
        f" WHERE name = {quoted(name)} ORDER BY process_id, start_ns"
    )
    found: list[Window] = []
    for row in rows:
        start, end, process = row["start_ns"], row["end_ns"], row["process_id"]
        if processes is not None and process not in processes:
            continue
        last = found[-1] if found and found[-1].process_id == process else None
        if last is not None and (last.end_ns is None or start <= last.end_ns):
            # One that did not end lasts to the trace's end.
            is_open = last.end_ns is None or end is None
            found[-1] = Window(last.start_ns, None if is_open else max(last.end_ns, end), process)
        else:
            found.append(Window(start, end, process))
    if not found:
        raise UsageError(
            f"the trace has no range {name!r}",
            'cupti-etl sql TRACE "SELECT DISTINCT name FROM nvtx_range"',
        )
    return found


def _both(some: Sequence[Window], others: Sequence[Window]) -> list[Window]:
    """What lies in a window of either."""
    found = []
    for one in some:
        for other in others:
            if (
                None not in (one.process_id, other.process_id)
                and one.process_id != other.process_id
            ):
                continue
            window = _meet(one, other)
            if one.of_host or other.of_host:
                of_host = _meet(one.of_host or one, other.of_host or other)
                window = replace(window, of_host=of_host)
            if window.is_some or (window.of_host and window.of_host.is_some):
                found.append(window)
    if not found:
        raise UsageError("the scope is empty: its times do not meet", "ask for less at once")
    return found


def _meet(one: Window, other: Window) -> Window:
    """The time in both, which ends before it begins if there is none."""
    starts = [each.start_ns for each in (one, other) if each.start_ns is not None]
    ends = [each.end_ns for each in (one, other) if each.end_ns is not None]
    process = one.process_id if other.process_id is None else other.process_id
    return Window(max(starts, default=None), min(ends, default=None), process)


def has_steady_steps(scope: Scope, ask: Ask) -> bool:
    """Whether there are steps, named or well guessed, so that their steady state can be asked.

    A process that is asked, worked on a GPU and has none would be left out.  What a poor guess
    leaves out may be most of what a program did.
    """
    processes, _ = _who(scope, ask) if scope else (None, ())
    among = "true" if processes is None else f"process_id IN ({', '.join(map(str, processes))})"
    return bool(ask(f"SELECT 1 FROM _sure_step WHERE is_steady AND {among} LIMIT 1")) and not ask(
        f"SELECT process_id FROM kernel WHERE {among} EXCEPT SELECT process_id FROM step"
    )
