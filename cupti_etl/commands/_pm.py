"""The options of PM sampling, for the commands that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from cupti_etl.config import PmOptions
from cupti_etl.errors import UsageError
from cupti_etl.units import duration_ns

_F = TypeVar("_F", bound=Callable[..., Any])
_DEFAULT = PmOptions()


def pm_options(default: str | None) -> Callable[[_F], _F]:
    """Adds --pm, --pm-interval and --pm-devices; ``default`` is what --pm is without a value."""
    only = "" if default else " Without it none are sampled."

    def add(function: _F) -> _F:
        for option in reversed(
            (
                click.option(
                    "--pm",
                    is_flag=False,
                    flag_value=_DEFAULT.metrics,
                    default=default,
                    metavar="[PRESET|METRIC,...]",
                    help="Sample hardware counters of whole GPUs: a preset"
                    f" ({_DEFAULT.metrics} if none is named), or metrics.{only}",
                ),
                click.option(
                    "--pm-interval",
                    default="100us",
                    show_default=True,
                    metavar="TIME",
                    help="Time between two samples.",
                ),
                click.option(
                    "--pm-devices",
                    default=_DEFAULT.devices,
                    show_default=True,
                    metavar="all|0,1|UUID",
                    help="GPUs to sample, by CUDA's numbers or by UUID.",
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
    from cupti_etl.pm.sampling import check

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
