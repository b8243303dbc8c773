"""The options of all commands that ask a trace: which part of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cupti_etl.progress import say

if TYPE_CHECKING:
    from cupti_etl.api import Trace
    from cupti_etl.queries.choose import Scope

_F = TypeVar("_F", bound=Callable[..., Any])


def _numbers(context: click.Context, option: click.Parameter, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a number, or numbers with commas between", context, option
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
        click.option(
            "--range", "range_", default="", metavar="NAME", help="Within NVTX range NAME."
        ),
        click.option(
            "--process", callback=_numbers, default="", metavar="N,...", help="Only these pids."
        ),
        click.option(
            "--rank", callback=_numbers, default="", metavar="N,...", help="Only these ranks."
        ),
        click.option(
            "--gpu",
            callback=_numbers,
            default="",
            metavar="N,...",
            help="Only these GPUs, as numbered by the query gpu.",
        ),
        click.option(
            "--steps",
            metavar="N[-M]",
            help="Only these steps: 5, 5-8, 5-, -8, steady (after the warm-up), or all.",
        ),
        click.option(*end, "to", metavar="TIME", help="Up to this time, alike."),
        click.option(
            "--from",
            "from_",
            metavar="TIME",
            help="From this time on: 1.5s after the trace begins, -2s before it ends, 40% of it, or"
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
    said: set[str] | None = None,
) -> Iterator[Trace]:
    """Open traces, or the part of them that is asked; say which on standard error.

    Args:
        traces: their names.
        scope: what is asked.
        steady: ask the steady state, where there are steps and the scope says nothing of times.
        confined: as of ``cupti_etl.open``.
        said: which parts were said already; they are said once.
    """
    from cupti_etl.api import open as open_trace

    with open_trace(*traces, confined=confined) as whole:
        # Steps are looked for only where nobody said which.
        is_chosen = steady and not scope.says_when and whole.has_steady_state
        if is_chosen:
            scope = replace(scope, steps="steady")
        if not scope:
            yield whole
            return
        with whole.part(scope) as part:
            hint = "; --steps all asks everything" if is_chosen else ""
            line = f"cupti-etl: about {part.says}{hint}"
            if said is None or line not in said:
                say(line)
            if said is not None:
                said.add(line)
            yield part
