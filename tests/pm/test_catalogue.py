"""What is noted of a chip for machines without a GPU."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.fake_build import metric_facts
from support.inside import Inside

from cupti_etl.errors import UsageError
from cupti_etl.pm.catalogue import Catalogue, ask, dumps, loads, noted, noted_chips, write
from cupti_etl.pm.checking import check_live, check_noted
from cupti_etl.pm.dump import make, make_unseen
from cupti_etl.pm.families import FAMILIES, Family
from cupti_etl.pm.presets import PRESETS, aliased, resolve
from cupti_etl.pm.profiler_host import MetricCollectionScope, MetricType

FACTS = metric_facts()


def test_gh100_is_noted_as_a_gh100_told() -> None:
    catalogue = noted("GH100")
    for kind, names in FACTS["base_metrics"].items():
        mine = {name for name, type in catalogue.types.items() if type is MetricType[kind.upper()]}
        # Another release of CUPTI told the facts; it knows some more.
        assert len(mine - set(names)) <= 1
        assert len(mine) > 0.75 * len(names)
    assert catalogue.sets.keys() == FACTS["sets"].keys()
    assert set(catalogue.sets["TriageCompute"]) <= set(FACTS["sets"]["TriageCompute"])
    assert None not in catalogue.metrics.values()
    assert catalogue.said_by() == "driver 580.159.04, CUPTI 13.5"
    # Links, of which that board had none.
    assert all("nvl" in name or "ctc" in name for name in catalogue.refused)
    assert len(catalogue.refused) == 41


def unknown(family: Family) -> set[str]:
    """Names of a family that the first of its chips, as noted, does not have."""
    catalogue = noted(family.chips[0])
    named = {name for alias in family.names for name in aliased(alias, family).counters}
    return {name for name in named if catalogue.split(name) is None}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_chip_of_every_family_is_noted_and_has_its_names(family: Family) -> None:
    assert family.chips[0] in noted_chips()
    assert unknown(family) == set()
    wrong = replace(family, names={**family.names, "l1_pct": "l1tex__invented.sum"})
    assert unknown(wrong) == {"l1tex__invented.sum"}


def test_a_catalogue_survives_its_file(tmp_path: Path) -> None:
    catalogue = noted("GH100")
    path = tmp_path / "GH100.json.gz"
    write(catalogue, path)
    assert loads(path.read_bytes()) == catalogue
    assert dumps(catalogue) == path.read_bytes()  # the same every time
    with pytest.raises(UsageError, match="cannot write"):
        write(catalogue, tmp_path / "none" / "x")


def test_a_chip_that_nobody_noted() -> None:
    with pytest.raises(UsageError, match="no notes about the chip GR100") as caught:
        noted("GR100")
    assert "GH100" in caught.value.hint
    assert "an H100 or H200 is GH100" in caught.value.hint  # who gave a product


def test_names_are_split_at_the_rollup() -> None:
    catalogue = noted("GH100")
    assert catalogue.split("sm__cycles_active.avg.per_second") == (
        "sm__cycles_active",
        ".avg.per_second",
    )
    full = "TPC.TriageCompute.sm__cycles_active"
    assert catalogue.split(full) == (full, "")
    assert catalogue.split("TPC.sm__cycles_active.sum") is None
    assert catalogue.split("nonsense") is None


def test_asking_gives_what_noting_gives(inside: Inside) -> None:
    asked = inside(lambda path: ask("GH100", cupti=path))
    kinds = {kind.lower(): type for kind, type in MetricType.__members__.items()}
    told = {name: kinds[kind] for kind, names in FACTS["base_metrics"].items() for name in names}
    assert asked.types == told
    assert {name: list(members) for name, members in asked.sets.items()} == FACTS["sets"]
    assert asked.said_by() == ""
    assert inside(lambda path: ask("GH100", cupti=path), release="12.9.79").sets == {}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_of_gh100_fit_one_pass_as_noted(preset: str) -> None:
    done = check_noted(resolve(preset, "GH100"), noted("GH100"))
    assert done.fits
    assert done.passes == 1
    left_out = {metric.column for metric, verdict, _ in done.verdicts if verdict == "left out"}
    assert left_out <= {metric.column for metric, _, _ in done.verdicts if metric.is_optional}
    assert 4000 < (done.sample_bytes or 0) < 80_000


def verdicts(spec: str, catalogue: Catalogue | None = None) -> tuple[list[str], bool]:
    done = check_noted(resolve(spec, "GH100"), catalogue or noted("GH100"))
    return [verdict for _, verdict, _ in done.verdicts], done.fits


def test_what_was_not_seen_is_not_claimed() -> None:
    assert verdicts("sm__cycles_active.avg,dramc__read_throughput.avg.per_second") == (
        ["counted", "not known"],
        False,
    )
    # Each was counted, but never together.
    assert verdicts("sm__cycles_active.avg,sm__warps_active.avg") == (["counted"] * 2, False)
    assert verdicts("sm__no_such.sum") == (["refused"], False)
    assert verdicts("nvlink_rx_request_bytes") == (["refused"], False)
    nothing_seen = replace(noted("GH100"), one_pass=())
    assert verdicts("minimal", nothing_seen)[1] is False


def check(path: str, spec: str, chip: str = "GH100") -> Any:
    from cupti_etl.pm.cupti import open_cupti

    done = check_live(resolve(spec, chip, open_cupti(path).version), chip, cupti=path)
    return [(m.column, verdict) for m, verdict, _ in done.verdicts], done


@pytest.mark.parametrize("release", ["12.6.80", "13.0.85", "13.5.25"])
@pytest.mark.parametrize("preset", ["overview", "memory"])
def test_presets_of_gh100_fit_one_pass_as_asked(inside: Inside, release: str, preset: str) -> None:
    columns, done = inside(lambda path: check(path, preset), release)
    assert done.fits
    assert done.sample_bytes > 0
    assert ("nvlink_rx_bytes", "left out") in columns or preset == "memory"
    if preset == "overview":
        columns, _ = inside(
            lambda path: check(path, preset), release, environ={"FAKE_PM_LINKS": "1"}
        )
        assert ("nvlink_rx_bytes", "counted") in columns


def test_what_does_not_fit_one_pass(inside: Inside) -> None:
    many = [f"sm__inst_executed_pipe_{p}.sum" for p in ("adu", "alu", "cbu", "fma", "lsu", "tex")]
    many += [f"sm__{what}.sum" for what in ("inst_executed", "inst_issued", "issue_active")]
    columns, done = inside(lambda path: check(path, ",".join(many)))
    assert done.passes == 2
    assert not done.fits
    assert done.sample_bytes is None
    columns, done = inside(lambda path: check(path, "sm_active_pct,nvlink_rx_bytes"))
    assert columns == [("sm_active_pct", "counted"), ("nvlink_rx_bytes", "refused")]
    assert not done.fits
    # Of another chip than the GPU's the cost is not known.
    _, done = inside(lambda path: check(path, "overview", "GA102"))
    assert done.fits
    assert done.sample_bytes is None


def test_what_dump_notes(inside: Inside) -> None:
    catalogue = inside(lambda path: make(cupti=path))
    assert loads(dumps(catalogue)) == catalogue
    said = catalogue.metrics["sm__cycles_active"]
    assert said is not None
    assert said.description == "# of cycles_active"
    assert said.collection_scope is MetricCollectionScope.CONTEXT
    assert catalogue.source["cupti"] == "130500"
    assert "nvlrx__bytes" in catalogue.refused
    assert "sm__cycles_active" not in catalogue.refused
    assert set(catalogue.sample_bytes) == set(PRESETS)
    for preset in PRESETS:
        assert check_noted(resolve(preset, "GH100"), catalogue).fits
    unseen = inside(lambda path: make_unseen("GA102", cupti=path))
    assert unseen.chip == "GA102"
    assert unseen.metrics["sm__cycles_active"] == said
    assert unseen.one_pass == ()
    unprobed = inside(lambda path: make(probe=False, cupti=path))
    assert (unprobed.refused, unprobed.one_pass) == (frozenset(), ())


def test_the_package_file_is_small_and_readable_without_us() -> None:
    import gzip

    from cupti_etl.pm import catalogue

    path = Path(catalogue.__file__).parent / "catalogues" / "GH100.json.gz"
    assert path.stat().st_size < 50_000
    assert json.loads(gzip.decompress(path.read_bytes()))["chip"] == "GH100"
