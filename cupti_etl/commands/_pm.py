"""The options of PM sampling, for the commands that have them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from cupti_etl.config import PmOptions
from cupti_etl.errors import UsageError
from cupti_etl.render.help import Option
from cupti_etl.units import duration_ns

_F = TypeVar("_F", bound=Callable[..., Any])
_DEFAULT = PmOptions()
_INTERVAL = "100us"

pm_option = functools.partial(click.option, cls=Option, section="Hardware counters")


def pm_options(default: str | None) -> Callable[[_F], _F]:
    """Adds --pm, --pm-interval and --pm-devices; ``default`` is what --pm is without a value."""

    def add(function: _F) -> _F:
        for option in reversed(
            (
                pm_option(
                    "--pm",
                    is_flag=False,
                    flag_value=_DEFAULT.metrics,
                    default=default,
                    metavar="[PRESET|METRIC,...]",
                    help="Sample hardware counters of whole GPUs: presets or metrics,"
                    f" comma-separated; {_DEFAULT.metrics} if none is named. gpm: what NVML"
                    " counts, beside tools that have the counters.",
                ),
                pm_option(
                    "--pm-interval",
                    default=_INTERVAL,
                    show_default=True,
                    metavar="TIME",
                    help="Time between samples; 100ms for gpm.",
                ),
                pm_option(
                    "--pm-devices",
                    default=_DEFAULT.devices,
                    show_default=True,
                    metavar="all|0,1|UUID",
                    help="GPUs to sample, by number as in CUDA, or by UUID.",
                ),
            )
        ):
            function = option(function)
        return function

    return add


def chosen(
    metrics: str | None, interval: str, devices: str, *, is_required: bool
) -> PmOptions | None:
    """What the options ask for; None if nothing is to be sampled.

    Raises:
        UsageError: one of them cannot be, or needs another.
    """
    from cupti_etl.pm.presets import GPM
    from cupti_etl.pm.sampling import check

    if metrics == GPM and interval == _INTERVAL:
        interval = "100ms"
    options = PmOptions(
        metrics or _DEFAULT.metrics, duration_ns(interval), devices, is_required=is_required
    )
    if metrics is None:
        if options != PmOptions():
            raise UsageError(
                "--pm-interval, --pm-devices and --pm-required go with --pm",
                "add --pm, or --pm PRESET",
            )
        return None
    check(options)
    return options
