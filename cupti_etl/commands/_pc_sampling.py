"""The options of PC sampling."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from cupti_etl.config import PC_SAMPLING_MODES, PcSamplingOptions
from cupti_etl.errors import UsageError
from cupti_etl.render.help import Option
from cupti_etl.units import duration_ns

_option = functools.partial(click.option, cls=Option, section="PC sampling")


def pc_sampling_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options, which the command gets as one: ``pc_sampling``."""

    @_option(
        "--pc-sampling",
        is_flag=False,
        flag_value=str(PcSamplingOptions.period),
        metavar="[=PERIOD]",
        help="Sample the instructions that warps are at and what they wait for, every 2^PERIOD"
        f" cycles (5 to 31; {PcSamplingOptions.period} if none is given).",
    )
    @_option(
        "--pc-duty",
        metavar="TIME/TIME",
        help="Sample for the first TIME of every second one, such as 30ms/1s.",
    )
    @_option(
        "--pc-sampling-mode",
        type=click.Choice(PC_SAMPLING_MODES),
        default="continuous",
        show_default=True,
        help="serialized: one kernel at a time, with the launch of each sample; about 1 ms a"
        " kernel.",
    )
    @_option("--no-cubins", is_flag=True, help="Do not store the code that is sampled.")
    @functools.wraps(function)
    def command(
        pc_sampling: str | None,
        pc_duty: str | None,
        pc_sampling_mode: str,
        no_cubins: bool,
        **others: Any,
    ) -> Any:
        asked = _chosen(pc_sampling, pc_duty, pc_sampling_mode, not no_cubins)
        if asked is not None and others["pm"] is not None:
            raise UsageError(
                "--pc-sampling and --pm need the same counters of the GPU",
                "make two captures, one with each",
            )
        if asked is not None and others["capture_range"]:
            raise UsageError(
                "--pc-sampling does not go with --capture-range",
                "CUPTI cannot switch records of kernels on again while it samples PCs: use --delay"
                " and --duration",
            )
        return function(pc_sampling=asked, **others)

    return command


def _chosen(
    period: str | None, duty: str | None, mode: str, cubins: bool
) -> PcSamplingOptions | None:
    """What the options ask for; None if nothing is to be sampled.

    Raises:
        UsageError: one of them cannot be, or needs another.
    """
    if period is None:
        if (duty, mode, cubins) != (None, "continuous", True):
            raise UsageError(
                "--pc-duty, --pc-sampling-mode and --no-cubins go with --pc-sampling",
                "add --pc-sampling",
            )
        return None
    if not period.isdecimal() or not 5 <= int(period) <= 31:
        raise UsageError(
            f"--pc-sampling {period!r} is no period",
            "give a number from 5 to 31: samples are 2 to the power of it cycles apart",
        )
    on, _, cycle = (duty or "").partition("/")
    on_ns, cycle_ns = (duration_ns(part) if part else 0 for part in (on, cycle))
    if duty and not 0 < on_ns < cycle_ns:
        raise UsageError(
            f"--pc-duty {duty!r} is no duty cycle",
            "give how long to sample and how often, such as 30ms/1s",
        )
    return PcSamplingOptions(int(period), mode, on_ns, cycle_ns, cubins)
