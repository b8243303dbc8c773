"""The options of SASS metrics."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from cupti_etl.commands._pattern import check_pattern
from cupti_etl.config import SassOptions
from cupti_etl.errors import UsageError
from cupti_etl.progress import say
from cupti_etl.render.help import Option

# native/inject/sass_context.h.
_MOST_METRICS, _MOST_NAME, _MOST_LIST = 64, 159, 8191
# By scripts/gpu_sass_metrics.sh.
PRICE = (
    "instructions are counted: kernels take longer, on an H100 7 times as long if they are short"
    " and 240 times if they mostly store; they are not recorded"
)
_option = functools.partial(click.option, cls=Option, section="Exact counters")


def sass_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, which the command gets as one: ``sass_metrics``."""

    @_option(
        "--sass-metrics",
        metavar="NAME,...",
        help="Count what each instruction does, such as smsp__sass_inst_executed. CUPTI patches"
        " the kernels: a program can take more than a hundred times as long. Kernels, copies and"
        " memsets are not recorded beside it.",
    )
    @_option(
        "--sass-filter",
        default="",
        metavar="REGEX",
        help="Store only the counts of functions whose mangled name matches this extended regular"
        " expression. All kernels are patched.",
    )
    @functools.wraps(function)
    def command(sass_metrics: str | None, sass_filter: str, **others: Any) -> Any:
        if sass_metrics is None:
            if sass_filter:
                raise UsageError("--sass-filter goes with --sass-metrics", "add --sass-metrics")
            return function(sass_metrics=None, **others)
        for option in ("--pm", "--pc-sampling", "--range-metrics"):
            if others[option[2:].replace("-", "_")] not in (None, "gpm"):
                raise UsageError(
                    f"--sass-metrics does not go with {option}: it patches the code of kernels,"
                    " which would be measured with it",
                    "make two captures, one with each",
                )
        for option in ("--duration", "--capture-range", "--max-rows", "--max-size"):
            if others[option[2:].replace("-", "_")] not in (None, "", "0"):
                raise UsageError(
                    f"--sass-metrics does not go with {option}: instructions are counted to the"
                    " end of the program",
                    "let the program do less",
                )
        if sass_filter:
            check_pattern("--sass-filter", sass_filter)
        asked = SassOptions(_check(sass_metrics), sass_filter)
        if not others["quiet"]:
            say(f"cupti-etl: {PRICE}")
        return function(sass_metrics=asked, **others)

    return command


def _check(names: str) -> tuple[str, ...]:
    """Names of metrics, each once.

    Raises:
        UsageError: there are none, too many, or some that instructions do not count.
    """
    metrics = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    for name in metrics:
        if "__sass_" not in name or "." in name or ":" in name or len(name) > _MOST_NAME:
            raise UsageError(
                f"{name!r} is no metric that an instruction counts",
                "give names without a rollup, such as smsp__sass_inst_executed",
            )
    if not metrics or len(metrics) > _MOST_METRICS or len(",".join(metrics)) > _MOST_LIST:
        raise UsageError(
            f"--sass-metrics names {len(metrics)} metrics",
            f"name from 1 to {_MOST_METRICS}, of {_MOST_LIST} characters altogether",
        )
    return metrics
