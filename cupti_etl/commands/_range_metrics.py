"""The options of the range profiler."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cupti_etl.commands._pattern import check_pattern
from cupti_etl.config import RANGE_CACHE_CONTROLS, RangeOptions
from cupti_etl.errors import UsageError
from cupti_etl.render.help import Option
from cupti_etl.units import counted

if TYPE_CHECKING:
    from cupti_etl.pm.checking import RangeCheck

# What a pass of a launch took on an H200, with CUPTI 13.5 and 13.0 (docs/howto/range-metrics.md).
_PASS_MS = (10, 20)
# native/include/etl/range_metrics.h.
_MOST_METRICS, _MOST_NAME, _MOST_LIST = 128, 159, 8191
_option = functools.partial(click.option, cls=Option, section="Exact counters")


def range_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, which the command gets as one: ``range_metrics``."""

    @_option(
        "--range-metrics",
        metavar="NAME,...",
        help="Measure these metrics or presets of each kernel exactly, by executing it again for"
        " each pass. Times of such kernels are not those of the program.",
    )
    @_option(
        "--range-by",
        type=click.Choice(("kernel", "range")),
        default="kernel",
        show_default=True,
        help="Measure each kernel, or as a whole what runs while the range of --capture-range is"
        " open. A range is executed once: metrics that need several passes are counted by turns.",
    )
    @_option(
        "--range-replay",
        type=click.Choice(("kernel", "application")),
        default="kernel",
        show_default=True,
        help="Execute each kernel again for each pass (ranges: count by turns), or run CMD again:"
        " nothing is executed twice within a run, and each kernel or range gets all metrics.",
    )
    @_option(
        "--range-filter",
        default="",
        metavar="REGEX",
        help="Measure only kernels whose mangled name matches this extended regular expression.",
    )
    @_option(
        "--range-limit",
        type=click.IntRange(1),
        metavar="N",
        help="Measure only the first N launches of each kernel and shape.",
    )
    @_option(
        "--range-cache-control",
        type=click.Choice(RANGE_CACHE_CONTROLS),
        default="flush",
        show_default=True,
        help="Whether to empty caches before each execution (CUDA 13.4 or later).",
    )
    @functools.wraps(function)
    def command(
        range_metrics: str | None,
        range_by: str,
        range_replay: str,
        range_filter: str,
        range_limit: int | None,
        range_cache_control: str,
        **others: Any,
    ) -> Any:
        how = RangeOptions(
            (), range_filter, range_limit or 0, range_cache_control, range_by, range_replay
        )
        if range_metrics is None:
            if how != RangeOptions(()):
                raise UsageError(
                    "--range-by, --range-replay, --range-filter, --range-limit and"
                    " --range-cache-control go with --range-metrics",
                    "add --range-metrics",
                )
            return function(range_metrics=None, **others)
        if range_filter:
            check_pattern("--range-filter", range_filter)
        asked = replace(how, metrics=check_metrics(range_metrics))
        if asked.by == "range":
            _check_by_range(asked, others["capture_range"], others["kinds"])
        if asked.replay == "application":
            _check_application(others)
        if others["pm"] is not None:
            raise UsageError(
                "--range-metrics and --pm need the same counters of the GPU",
                "make two captures, one with each",
            )
        if others["pc_sampling"] is not None:
            raise UsageError(
                "--range-metrics does not go with --pc-sampling: kernels that are executed several"
                " times would be sampled several times",
                "make two captures, one with each",
            )
        return function(range_metrics=asked, **others)

    return command


def _check_by_range(asked: RangeOptions, capture_range: str, kinds: str) -> None:
    """Whether ranges can be measured.

    Raises:
        UsageError: an option is missing, or is of kernels.
    """
    if not capture_range:
        raise UsageError(
            "--range-by range does not know which range",
            "add --capture-range nvtx:NAME, or --capture-range cudaProfilerApi",
        )
    if "kernel" in kinds.split(","):
        raise UsageError(
            "--range-by range does not go with records of kernels: CUPTI adds instructions to"
            " kernels for them, which the counters would count",
            "leave kernel out of --kinds, and make another capture for their times",
        )
    if asked.filter or asked.limit:
        raise UsageError(
            "--range-filter and --range-limit choose kernels, and --range-by range measures all"
            " that runs in a range",
            "leave them out",
        )


# Options that choose a part of the run, or of what it records, by what came before.
_PARTS = {
    "delay": "0", "duration": "0", "max_rows": None, "max_size": None, "flight": None,
}  # fmt: skip


def _check_application(others: dict[str, Any]) -> None:
    """Whether the command can be run again for each pass.

    Raises:
        UsageError: runs would not be comparable.
    """
    if any(others[name] != default for name, default in _PARTS.items()):
        raise UsageError(
            "--range-replay application compares runs of the command, and --delay, --duration,"
            " --max-rows, --max-size and --flight-recorder would cut each of them elsewhere",
            "choose a part with --capture-range, --range-filter or --range-limit",
        )


def check_metrics(names: str) -> tuple[str, ...]:
    """Names of metrics, those of presets among them.

    Raises:
        UsageError: there are none, too many, or some that cannot be measured.
    """
    from cupti_etl.pm.range_presets import metrics_of

    metrics = metrics_of(names)
    for name in (name for metric in metrics for name in metric.rstrip("|").split("|")):
        if "__" not in name or "." not in name or len(name) > _MOST_NAME or ":" in name:
            raise UsageError(
                f"{name!r} is no metric with a rollup, and no preset",
                "give names such as dram__bytes_read.sum; `cupti-etl metrics list` has them",
            )
        if "__sass_" in name:
            raise UsageError(
                f"{name} cannot be measured here: CUPTI counts it by patching the code, and beside"
                " records of kernels it reads 0",
                "use a counter of the hardware, such as smsp__inst_executed.sum",
            )
    if not metrics or len(metrics) > _MOST_METRICS or len(",".join(metrics)) > _MOST_LIST:
        raise UsageError(
            f"--range-metrics names {len(metrics)} metrics",
            f"name from 1 to {_MOST_METRICS}, of {_MOST_LIST} characters altogether",
        )
    return metrics


def columns_of(done: RangeCheck | str) -> tuple[dict[str, list[Any]], str]:
    """What ``metrics check --range`` prints: columns, and a sentence.

    Args:
        done: what CUPTI said, or why it cannot be asked.

    Raises:
        UsageError: it cannot be asked.
    """
    from cupti_etl.pm.checking import MOST_RUNS

    if isinstance(done, str):
        raise UsageError(
            f"the number of passes is not known: {done}",
            "ask on a machine with CUPTI and an NVIDIA driver",
        )
    names = ("metric", "verdict", "passes", "certain", "run", "why")
    columns = {name: [getattr(row, name) for row in done.rows] for name in names}
    if done.passes is None:
        return columns, "an unknown number of passes, as metrics are refused"
    times, runs = counted(done.passes, "pass", "passes"), counted(done.runs, "run")
    if done.runs > MOST_RUNS:
        runs += f", which is refused, as it is more than {MOST_RUNS}: ask for fewer metrics"
    least, most = (f"{done.passes * ms / 1000:g} s" for ms in _PASS_MS)
    several = sum(row.passes is not None and row.run is None for row in done.rows)
    left_out = f", without the {several} that need several passes by themselves" if several else ""
    return columns, (
        f"{times}: each launch is executed so often, with its memory saved and restored. On an"
        f" H200, a launch of 128 MiB took {least} to {most}. With --range-replay application, the"
        f" command is run instead: {runs}{left_out}"
    )
