"""The page of presets and aliases, made from ``presets``, ``aliases``, ``families`` and
``range_presets``."""

from __future__ import annotations

from collections.abc import Iterator

from cupti_etl.pm.aliases import ALIASES
from cupti_etl.pm.families import FAMILIES, Family
from cupti_etl.pm.presets import DEFAULT, PRESETS, WHAT_FOR
from cupti_etl.pm.range_presets import RANGE_PRESETS

_INTRODUCTION = """\
# Presets of hardware metrics

Made from `cupti_etl/pm/` by `make generate`; do not edit.

[How to choose metrics](../howto/metrics.md) says what to do with them. A value with the unit %, or
Hz, held throughout its sample (`mean`: weight it with time); bytes and counts came up during it
(`sum`).

* presets: {presets}
* [aliases](#aliases): the columns of all presets
* [names on each chip](#names-on-each-chip)
* [presets of exact counters](#presets-of-exact-counters)
"""
_ALIASES = """\
## Aliases

The columns of `pm_sample`. They mean the same on every chip.
"""
_CHIPS = """\
## Names on each chip

What CUPTI is asked to count. Names that are *not confirmed* are those that NVIDIA documents for
periodic sampling; no profiler host was asked yet. *Optional* ones are left out where CUPTI refuses
them: not every board has NVLink, and not everything fits one pass.
"""
_EXACT = """\
## Presets of exact counters

For `--range-metrics`: see [how to measure exact counters](../howto/range-metrics.md). Of several
names of a metric, the first that the chip has is measured. One that it lacks is NULL.

| preset | metrics |
| --- | --- |
"""


def presets_markdown() -> str:
    """Text of ``docs/reference/presets.md``."""
    listed = ", ".join(f"[{preset}](#{preset})" for preset in PRESETS)
    lines = [_INTRODUCTION.format(presets=listed)]
    for preset, names in PRESETS.items():
        default = " The default." if preset == DEFAULT else ""
        lines.append(f"## `{preset}`\n\n{WHAT_FOR[preset]}{default}\n")
        lines.append(", ".join(f"`{name}`" for name in names) + ".\n")
    lines += [_ALIASES, "| column | unit | together | what it is |\n| --- | --- | --- | --- |"]
    lines += [
        f"| `{alias.name}` | {alias.unit} | {alias.aggregation} | {alias.description} |"
        for alias in ALIASES.values()
    ]
    lines += ["", _CHIPS]
    for family in FAMILIES:
        lines += _family(family)
    rows = ((name, ", ".join(map(_names, metrics))) for name, metrics in RANGE_PRESETS.items())
    lines.append(_EXACT + "\n".join(f"| `{name}` | {metrics} |" for name, metrics in rows))
    return "\n".join(lines).rstrip("\n") + "\n"


def _names(metric: str) -> str:
    return " or ".join(f"`{name}`" for name in metric.split("|"))


def _family(family: Family) -> Iterator[str]:
    yield f"### {family.name}\n"
    said = "Sampled on a GPU." if family.is_verified else "Accepted by CUPTI; not sampled."
    if family.single_pass_set:
        said += f" Single-pass set {family.single_pass_set}; CUDA 13.2 or later."
    elif family.is_verified:
        said += " For a CUPTI before CUDA 13.2."
    if not family.has_time_trigger:
        said += " Sampled by cycles of the system clock, not by time."
    yield f"{', '.join(family.chips)}. {said}\n"
    yield "| column | metric |\n| --- | --- |"
    for alias, name in family.names.items():
        yield f"| `{alias}` | `{name}`{', optional' if alias in family.optional else ''} |"
    yield ""
