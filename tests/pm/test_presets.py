"""Presets: names that a chip has, one meaning an alias, and clear words where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_build import metric_facts

from cupti_etl.errors import UsageError
from cupti_etl.pm.aliases import ALIASES
from cupti_etl.pm.catalogue import noted
from cupti_etl.pm.families import DURATION, FAMILIES, Family, Ratio
from cupti_etl.pm.presets import PRESETS, WHAT_FOR, aliased, family_of, named, resolve

FACTS = metric_facts()
ONE_PASS = {"GH100": "TriageCompute", "GH100-plain": "mixed"}
BASES = {name for names in FACTS["base_metrics"].values() for name in names}
GH100 = [family for family in FAMILIES if family.name in ONE_PASS]


def base_of(name: str) -> str:
    return name[: name.index(".", name.index("__"))]


def unproven(family: Family) -> set[str]:
    """Names that no GH100 accepted, and of the optional ones those that it does not have."""
    accepted = set(FACTS["one_pass"][ONE_PASS[family.name]]).union(*noted("GH100").one_pass)
    return {
        name
        for alias in family.names
        for name in aliased(alias, family).counters
        if (base_of(name) not in BASES if alias in family.optional else name not in accepted)
    }


@pytest.mark.parametrize("family", GH100, ids=lambda family: family.name)
def test_all_names_of_gh100_are_known_to_be_accepted_in_one_pass(family: Family) -> None:
    assert unproven(family) == set()


@pytest.mark.parametrize("family", GH100, ids=lambda family: family.name)
def test_an_invented_name_is_seen(family: Family) -> None:
    wrong = replace(family, names={**family.names, "l1_pct": "l1tex__invented.sum"})
    assert unproven(wrong) == {"l1tex__invented.sum"}
    wrong = replace(wrong, optional=frozenset({"l1_pct"}))
    assert unproven(wrong) >= {"l1tex__invented.sum"}


def test_every_alias_means_one_thing_and_is_of_use() -> None:
    used = {alias for family in FAMILIES for alias in family.names}
    assert used == set(ALIASES)
    assert {alias for names in PRESETS.values() for alias in names} <= set(ALIASES)
    assert list(PRESETS) == list(WHAT_FOR)
    assert {alias.unit for alias in ALIASES.values()} == {"%", "bytes", "Hz", "1"}
    for alias in ALIASES.values():
        # The unit stands in the name, so that a column explains itself.
        ending = {"%": "_pct", "bytes": "_bytes", "Hz": "_hz"}.get(alias.unit)
        assert ending is None or alias.name.endswith(ending)
        assert alias.aggregation == ("mean" if ending in ("_pct", "_hz") else "sum")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_name_gives_what_its_alias_says(family: Family) -> None:
    for alias, name in family.names.items():
        if isinstance(name, Ratio):
            # A part of cycles, or of a time.
            assert ALIASES[alias].unit == ("Hz" if name.denominator == DURATION else "%")
            continue
        metric = named(name)
        assert metric.unit == ALIASES[alias].unit, (alias, name)
        assert metric.aggregation == ALIASES[alias].aggregation, (alias, name)


def test_every_chip_has_one_family_and_cupti_knows_it() -> None:
    newest = [family for family in FAMILIES if not family.name.endswith("-plain")]
    chips = [chip for family in newest for chip in family.chips]
    assert len(chips) == len(set(chips))
    assert set(chips) <= set(FACTS["chips"])
    for family in FAMILIES:
        assert family.optional <= family.names.keys()


def test_only_what_a_gpu_confirmed_is_called_verified() -> None:
    assert {family.name for family in FAMILIES if family.is_verified} == set(ONE_PASS)


def test_a_preset_on_a_chip() -> None:
    selection = resolve("overview", "GH100")
    assert selection.single_pass_set == "TriageCompute"
    assert selection.is_verified
    assert selection.has_time_trigger
    first = selection.metrics[0]
    assert (first.column, first.unit, first.aggregation) == ("sm_active_pct", "%", "mean")
    cycles = "TPC.TriageCompute.sm__cycles_active.avg"
    assert first.counters == (cycles, "gpc__cycles_elapsed.avg")
    assert first.hardware_name == f"100 * {cycles} / gpc__cycles_elapsed.avg"
    assert first.preset == "overview"
    columns = [metric.column for metric in selection.metrics]
    assert columns == [a for a in PRESETS["overview"] if a != "tensor_fp16_active_pct"]
    links = ["nvlink_rx_bytes", "nvlink_tx_bytes"]
    assert [m.column for m in selection.metrics if m.is_optional] == links


def test_with_an_older_cupti_there_are_no_sets() -> None:
    selection = resolve("overview", "GH100", 130000)
    assert selection.family == "GH100-plain"
    assert selection.single_pass_set is None
    assert not any("TriageCompute" in metric.hardware_name for metric in selection.metrics)
    assert resolve("overview", "GH100", 130200).family == "GH100"


def test_turing_and_ga100_sample_by_cycles() -> None:
    assert not resolve("overview", "TU102").has_time_trigger
    assert not resolve("overview", "GA100").has_time_trigger
    assert resolve("overview", "GA102").has_time_trigger
    columns = [metric.column for metric in resolve("overview", "TU102").metrics]
    assert "tensor_fp16_active_pct" in columns
    assert "tensor_active_pct" not in columns


def test_presets_aliases_and_names_mix() -> None:
    selection = resolve("minimal, dram_read_pct,sm_active_pct", "GH100")
    columns = [metric.column for metric in selection.metrics]
    assert columns == [*PRESETS["minimal"], "sm_active_pct"]
    assert selection.metrics[-1].preset is None
    assert selection.single_pass_set == "TriageCompute"
    # Nothing of the set: then without it.
    selection = resolve("dram__bytes.sum", "GH100")
    assert selection.single_pass_set is None
    last = selection.metrics[-1]
    assert (last.column, last.unit, last.aggregation) == ("dram__bytes.sum", "bytes", "sum")


def test_what_is_asked_for_by_name_is_not_optional() -> None:
    (metric,) = resolve("nvlink_rx_bytes", "GH100").metrics
    assert not metric.is_optional


@pytest.mark.parametrize(
    ("name", "unit", "aggregation"),
    [
        ("sm__cycles_active.sum", "1", "sum"),
        ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "%", "mean"),
        ("gpc__cycles_elapsed.avg.per_second", "Hz", "mean"),
        ("dram__bytes.sum.per_second", "bytes/s", "mean"),
        ("sm__inst_executed.sum.per_second", "1/s", "mean"),
        ("gpu__time_duration.sum", "ns", "sum"),
        ("lts__average_t_sector_hit_rate_realtime.ratio", "1", "mean"),
        ("sm__inst_executed.avg.per_cycle_elapsed", "1", "mean"),
    ],
)
def test_unit_and_aggregation_follow_from_a_name(name: str, unit: str, aggregation: str) -> None:
    metric = named(name)
    assert (metric.column, metric.unit, metric.aggregation) == (name, unit, aggregation)


@pytest.mark.parametrize(
    ("spec", "chip", "message", "hint"),
    [
        ("overwiew", "GH100", "neither a preset nor a metric", "overview"),
        ("overview", "GR100", "has no entry for the chip GR100", "metrics list --chip GR100"),
        ("sm_active_pct", "GR100", "no entry for the chip GR100", "metrics list --chip GR100"),
        ("tensor_fp16_active_pct", "GH100", "no entry for the chip GH100", "tensor_active_pct"),
        ("sm__cycles_active", "GH100", "says no rollup", "sm__cycles_active.sum"),
        (" , ", "GH100", "no metric was named", "sm_active_pct"),
        ("sm__cycles_active..sum", "GH100", "says no rollup", ".sum"),
    ],
)
def test_what_cannot_be_is_said(spec: str, chip: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(spec, chip)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_names_are_taken_on_chips_that_we_know_nothing_of() -> None:
    selection = resolve("sm__cycles_active.avg", "GR100")
    assert family_of("GR100") is None
    assert not selection.is_verified
    assert selection.metrics[0].hardware_name == "sm__cycles_active.avg"
