"""Presets of metrics, and from what the user asked for to what CUPTI is told.

A preset is a list of aliases, the same for all chips; a family that has no name for one does
without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cupti_etl.errors import UsageError
from cupti_etl.pm.aliases import ALIASES
from cupti_etl.pm.families import FAMILIES, PCT, Family, Ratio, told

# What each is for, and its aliases.
_PRESETS = {
    "overview": (
        "How busy the SMs, the tensor cores, the memory and the links are.",
        "sm_active_pct sm_issue_pct tensor_active_pct tensor_fp16_active_pct warps_active_pct"
        " dram_read_pct dram_write_pct pcie_rx_bytes pcie_tx_bytes nvlink_rx_bytes"
        " nvlink_tx_bytes gpc_clock_hz sys_clock_hz",
    ),
    "minimal": (
        "Least cost a sample: nothing that is counted in every SM.",
        "gr_active_pct dispatch_count dram_read_pct dram_write_pct pcie_rx_bytes pcie_tx_bytes",
    ),
    "memory": (
        "Memory, L2 and L1: traffic and hits.",
        "dram_pct dram_read_pct dram_write_pct dram_clock_hz l2_pct l2_sector_pct l2_sectors"
        " l2_hit_pct l2_hit_l1_pct l1_pct l1_sectors l1_hit_sectors l1_miss_sectors"
        " l1_read_sectors",
    ),
    "pipes": (
        "Which pipes of the SMs compute.",
        "sm_active_pct sm_issue_pct fma_pct fma_heavy_pct fma_lite_pct fp16_pct fp64_pct"
        " tensor_active_pct tensor_fp16_active_pct tensor_hmma_pct tensor_imma_pct"
        " tensor_dmma_pct alu_pct xu_pct uniform_pct gpc_clock_hz",
    ),
    "links": (
        "Traffic over PCIe, NVLink and the link to the CPU.",
        "dram_read_pct dram_write_pct pcie_rx_bytes pcie_tx_bytes nvlink_rx_bytes"
        " nvlink_tx_bytes nvlink_rx_request_bytes nvlink_rx_response_bytes"
        " nvlink_tx_request_bytes nvlink_tx_response_bytes c2c_rx_bytes c2c_tx_bytes",
    ),
}
PRESETS = {name: tuple(words.split()) for name, (_, words) in _PRESETS.items()}
WHAT_FOR = {name: what for name, (what, _) in _PRESETS.items()}
DEFAULT = "overview"
# No preset of CUPTI's: what NVML counts, see ``gpm``.
GPM = "gpm"

# unit__what.rollup; of a single-pass set with "UNIT.Set." before it.
_HARDWARE_NAME = re.compile(r"(?:\w+\.)*[a-z]\w*__\w+(?:\.\w+)+\Z")


@dataclass(frozen=True)
class Metric:
    """A column of ``pm_sample`` and what fills it.

    Attributes:
        column: the alias, or the metric's name if it was asked for by that.
        hardware_name: the metric's name for CUPTI on this chip, or what is made of two.
        unit: ``%``, ``bytes``, ``ns``, ``Hz``, ``1`` (a count), or one of these with ``/s``.
        description: what is measured, a sentence.
        aggregation: ``mean`` (weighted by time) or ``sum``.
        preset: the preset that it was chosen by; None if by its name.
        is_optional: it is left out, and said so, where CUPTI refuses it or more than one pass
            would be needed.
        ratio: what is made of two; None if CUPTI's value is taken as it is.
    """

    column: str
    hardware_name: str
    unit: str
    description: str
    aggregation: str
    preset: str | None = None
    is_optional: bool = False
    ratio: Ratio | None = None

    @property
    def counters(self) -> tuple[str, ...]:
        """The names that CUPTI is told."""
        return told(self.ratio or self.hardware_name)


def counters(metrics: Iterable[Metric]) -> list[str]:
    """What CUPTI is told to count for metrics, each name once."""
    return list(dict.fromkeys(name for metric in metrics for name in metric.counters))


@dataclass(frozen=True)
class Selection:
    """What to count on a chip.

    Attributes:
        metrics: the columns, in order.
        single_pass_set: name to create the profiler host with; None for none.
        family: name of the family that the names are from.
        is_verified: whether a profiler host has confirmed the names of aliases.
        has_time_trigger: whether samples can be taken by time on this chip; otherwise by
            cycles of the system clock.
    """

    metrics: tuple[Metric, ...]
    single_pass_set: str | None
    family: str
    is_verified: bool
    has_time_trigger: bool


def family_of(chip: str, cupti_version: int | None = None) -> Family | None:
    """The family of a chip, as seen with a CUPTI; None if nothing is known of the chip.

    Args:
        chip: as CUPTI names it, such as ``GH100``.
        cupti_version: API version of CUPTI; None stands for the newest.
    """
    for family in FAMILIES:
        if chip in family.chips and (cupti_version is None or cupti_version >= family.since_cupti):
            return family
    return None


def resolve(spec: str, chip: str, cupti_version: int | None = None) -> Selection:
    """What a preset, aliases or names of metrics mean on a chip.

    Args:
        spec: presets, aliases and hardware names, with commas between them.
        chip: as CUPTI names it, such as ``GH100``.
        cupti_version: API version of the CUPTI that is used; None stands for the newest.

    Raises:
        UsageError: a word is none of these, or has no meaning on this chip.
    """
    family = family_of(chip, cupti_version)
    chosen: dict[str, Metric] = {}
    for word in filter(None, (part.strip() for part in spec.split(","))):
        for metric in _metrics(word, chip, family):
            chosen.setdefault(metric.column, metric)
    if not chosen:
        raise UsageError("no metric was named", _what_there_is(chip, family))
    metrics = tuple(chosen.values())
    single_pass_set = family.single_pass_set if family else None
    if single_pass_set and not any(f"{single_pass_set}." in each.hardware_name for each in metrics):
        single_pass_set = None
    return Selection(
        metrics,
        single_pass_set,
        family.name if family else "",
        bool(family and family.is_verified),
        family.has_time_trigger if family else True,
    )


def _metrics(word: str, chip: str, family: Family | None) -> list[Metric]:
    if word in PRESETS:
        known = [name for name in PRESETS[word] if family and name in family.names]
        if not known or family is None:
            raise UsageError(
                f"the preset {word} has no entry for the chip {chip}",
                f"name the metrics themselves; `cupti-etl metrics list --chip {chip}` has them",
            )
        return [aliased(name, family, word) for name in known]
    if word in ALIASES:
        if family is None or word not in family.names:
            raise UsageError(
                f"{word} has no entry for the chip {chip}", _what_there_is(chip, family)
            )
        return [aliased(word, family)]
    if _HARDWARE_NAME.fullmatch(word):
        return [named(word)]
    if "__" in word:
        raise UsageError(
            f"{word} says no rollup, and so is no value",
            f"try {word}.sum or {word}{PCT}; `cupti-etl metrics describe {word}` has them all",
        )
    raise UsageError(
        f"{word} is neither a preset nor a metric",
        f"presets are {', '.join(PRESETS)}; " + _what_there_is(chip, family),
    )


def _what_there_is(chip: str, family: Family | None) -> str:
    if family is None:
        return f"`cupti-etl metrics list --chip {chip}` lists the metrics of the chip"
    return f"aliases on {chip}: {', '.join(family.names)}"


def aliased(name: str, family: Family, preset: str | None = None) -> Metric:
    """What an alias is in a family, on its own account or as a part of a preset."""
    alias, counted = ALIASES[name], family.names[name]
    return Metric(
        alias.name,
        str(counted),
        alias.unit,
        alias.description,
        alias.aggregation,
        preset,
        # What was asked for by its name is not left out in silence.
        preset is not None and alias.name in family.optional,
        counted if isinstance(counted, Ratio) else None,
    )


def named(hardware_name: str, description: str = "") -> Metric:
    """A metric asked for by the chip's name for it; unit and aggregation follow from the name.

    Args:
        hardware_name: with its rollup, such as ``sm__cycles_active.avg``.
        description: what CUPTI says that it is.
    """
    base, *rollups = hardware_name[hardware_name.index("__") :].split(".")
    what = "ns" if "time_duration" in base else "bytes" if "bytes" in base else "1"
    last = rollups[-1]
    if last == "pct" or last.startswith("pct_of_peak"):
        unit = "%"
    elif last == "per_second":
        unit = "Hz" if "cycles" in base else f"{what}/s"
    else:
        unit = what if last in ("sum", "avg", "min", "max") else "1"
    return Metric(
        hardware_name,
        hardware_name,
        unit,
        description,
        # An average or an extreme over the units of the chip still counts up in time.
        "sum" if last in ("sum", "avg", "min", "max") else "mean",
    )
