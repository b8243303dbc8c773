"""The options of all commands that ask a trace: which part of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cupti_etl.commands._computing import show_computing
from cupti_etl.errors import UsageError
from cupti_etl.progress import say
from cupti_etl.render.help import Option

if TYPE_CHECKING:
    from cupti_etl.api import Trace
    from cupti_etl.queries.choose import Scope

_F = TypeVar("_F", bound=Callable[..., Any])
_option = functools.partial(click.option, cls=Option, section="Part of the trace")


def _numbers(context: click.Context, option: click.Parameter, text: str) -> tuple[int, ...]:
    from cupti_etl.queries.choose import numbers

    try:
        return numbers(str(option.name), text)
    except UsageError as error:
        raise click.BadParameter(
            error.message.removeprefix(f"{option.name}: "), context, option
        ) from None


def scope_options(function: _F, end: Sequence[str] = ("--to", "--until")) -> Callable[..., None]:
    """Adds the options, as the argument ``scope``: a ``Scope``."""

    @functools.wraps(function)
    def command(
        from_: str | None,
        to: str | None,
        steps: str | None,
        gpu: tuple[int, ...],
        rank: tuple[int, ...],
        process: tuple[int, ...],
        range_: str,
        **others: Any,
    ) -> None:
        from cupti_etl.queries.choose import Scope

        function(scope=Scope(from_, to, steps, gpu, rank, process, range_), **others)

    options = (
        _option(
            "--range",
            "range_",
            default="",
            metavar="NAME",
            help="Only while in an NVTX range of that name.",
        ),
        _option(
            "--process",
            callback=_numbers,
            default="",
            metavar="N,...",
            help="Only these process ids.",
        ),
        _option("--rank", callback=_numbers, default="", metavar="N,...", help="Only these ranks."),
        _option(
            "--gpu",
            callback=_numbers,
            default="",
            metavar="N,...",
            help="Only these GPUs, by number as in the query gpu.",
        ),
        _option(
            "--steps",
            metavar="N[-M]",
            help="Only these steps: 5, 5-8, 5-, -8, steady (after the warm-up), complete (these"
            " without the last) or all.",
        ),
        _option(*end, "to", metavar="TIME", help="Only up to this time, in the same form."),
        _option(
            "--from",
            "from_",
            metavar="TIME",
            help="Only from this time on: 1.5s (from the beginning), -2s (from the end), 40%, or"
            " nanoseconds since 1970.",
        ),
    )
    return functools.reduce(lambda decorated, option: option(decorated), options, command)


@contextmanager
def open_part(
    traces: Sequence[str],
    scope: Scope,
    *,
    steady: bool = False,
    confined: bool = True,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Trace]:
    """Open traces, or the part of them that is asked; say which on standard error.

    Args:
        traces: their names.
        scope: what is asked.
        steady: ask the steady state, where there are steps and the scope says nothing of times.
        confined: as of ``cupti_etl.open``.
        settings: of DuckDB, as of ``cupti_etl.open``.
    """
    with open_whole(traces, confined=confined, settings=settings) as whole:
        usual = whole.usual(scope) if steady else scope
        with part_of(whole, usual, is_chosen=usual != scope) as part:
            yield part


@contextmanager
def open_whole(
    traces: Sequence[str], *, confined: bool = True, settings: Mapping[str, str] | None = None
) -> Iterator[Trace]:
    """Open traces; say what is computed. Arguments are as of ``open_part``."""
    from cupti_etl.api import open as open_trace

    with open_trace(*traces, confined=confined, settings=settings) as whole:
        show_computing(whole)
        yield whole


@contextmanager
def part_of(
    whole: Trace, scope: Scope, *, is_chosen: bool, said: set[str] | None = None
) -> Iterator[Trace]:
    """The part of a trace that is asked, or all of it; say which on standard error.

    Args:
        whole: the trace.
        scope: what is asked.
        is_chosen: whether nobody said that this is asked.
        said: which parts were said already; they are said once.
    """
    if not scope:
        yield whole
        return
    with whole.part(scope) as part:
        hint = "; --steps all: the whole trace" if is_chosen else ""
        line = f"cupti-etl: part of the trace: {part.says}{hint}"
        if said is None or line not in said:
            say(line)
        if said is not None:
            said.add(line)
        yield part
