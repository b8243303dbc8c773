"""The options that bound what recording costs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from cupti_etl.config import BudgetOptions
from cupti_etl.errors import UsageError
from cupti_etl.render.help import Option
from cupti_etl.units import duration_ns, share

_option = functools.partial(click.option, cls=Option, section="When to record")
_WINDOW = "100ms"
# Switching all records on and off takes some tenths of a millisecond.
_SHORTEST_NS = 10_000_000
# What does not go with it, by its option, and why.
_OTHERS = {
    "flight_recorder": ("--flight-recorder", "the flight recorder has to see all of the run"),
    "capture_range": ("--capture-range", "both say when to record"),
    "range_metrics": ("--range-metrics", "kernels that are replayed take times of their own"),
    "sass_metrics": ("--sass-metrics", "patched kernels are slow, recorded or not"),
    "api": ("--api", "calls are not recorded, as switching them gives kernels wrong correlations"),
    "pc_sampling": ("--pc-sampling", "samples have --pc-duty"),
}
# What of an option does go with it.
_HARMLESS = {"api": ("default", "none")}


def budget_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, which the command gets as one: ``budget``."""

    @_option(
        "--budget",
        metavar="PERCENT",
        help="Record kernels, copies and memsets for parts of the time, so that CMD takes at most"
        " PERCENT longer, such as 1%. Before, launches are counted, and delayed if need be, to tell"
        " what CMD can afford.",
    )
    @_option(
        "--budget-window",
        metavar="TIME",
        help=f"How long to record at a time with --budget, on average.  [default: {_WINDOW}]",
    )
    @functools.wraps(function)
    def command(budget: str | None, budget_window: str | None, **others: Any) -> Any:
        return function(budget=_chosen(budget, budget_window, others), **others)

    return command


def _chosen(budget: str | None, window: str | None, others: dict[str, Any]) -> BudgetOptions | None:
    """What the options ask for; None if all of the run is to be recorded.

    Raises:
        UsageError: one of them cannot be, or does not go with another.
    """
    if budget is None:
        if window is not None:
            raise UsageError("--budget-window goes with --budget", "add --budget 1%")
        return None
    window_ns = duration_ns(window or _WINDOW)
    if window_ns < _SHORTEST_NS:
        raise UsageError(
            f"--budget-window {window} is too short: switching records on and off takes as long",
            "give 10ms or more",
        )
    for name, (option, why) in _OTHERS.items():
        if others.get(name) not in ("", None, *_HARMLESS.get(name, ())):
            raise UsageError(f"--budget does not go with {option}: {why}", "leave out one of them")
    return BudgetOptions(share(budget), window_ns)
