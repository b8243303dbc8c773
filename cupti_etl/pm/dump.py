"""Making the catalogue of a chip, on a GPU."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cupti_etl.errors import CuptiError, UsageError
from cupti_etl.native.cupti_search import driver_branch
from cupti_etl.pm.catalogue import Catalogue, ask, describe_all
from cupti_etl.pm.checking import check_live
from cupti_etl.pm.cupti import open_cupti
from cupti_etl.pm.families import PCT
from cupti_etl.pm.presets import PRESETS, counters, resolve
from cupti_etl.pm.profiler_host import (
    MetricType,
    ProfilerHost,
    ProfilerType,
    get_chip_name,
    get_counter_availability,
)


def make(device: int = 0, *, probe: bool = True, cupti: str | None = None) -> Catalogue:
    """The catalogue of a GPU's chip, with descriptions.

    Args:
        device: number of the GPU for CUDA.
        probe: also try which metrics the GPU allows, and what the presets cost.
        cupti: path of the libcupti to ask.

    Raises:
        CuptiError: it cannot be asked, or hardware counters are not allowed.
    """
    chip = get_chip_name(device, cupti=cupti)
    catalogue = ask(chip, cupti=cupti)
    availability = get_counter_availability(device, cupti=cupti)
    with ProfilerHost(
        chip, ProfilerType.PM_SAMPLING, counter_availability_image=availability, cupti=cupti
    ) as host:
        metrics = dict(describe_all(host, catalogue.metrics))
        refused = frozenset(_refused(host, catalogue)) if probe else frozenset()
    catalogue = replace(catalogue, metrics=metrics, refused=refused, source=_source(cupti))
    return _with_presets(catalogue, cupti) if probe and device == 0 else catalogue


def make_unseen(chip: str, *, cupti: str | None = None) -> Catalogue:
    """What CUPTI says of a chip without such a GPU; a driver must be there all the same.

    Raises:
        CuptiError: it cannot be asked, or does not know the chip.
    """
    catalogue = ask(chip, cupti=cupti)
    with ProfilerHost(chip, ProfilerType.PM_SAMPLING, cupti=cupti) as host:
        metrics = dict(describe_all(host, catalogue.metrics))
    return replace(catalogue, metrics=metrics, source=_source(cupti))


def _source(cupti: str | None) -> dict[str, str]:
    source = {"driver": driver_branch(), "cupti": str(open_cupti(cupti).version)}
    return {key: value for key, value in source.items() if value}


def _refused(host: ProfilerHost, catalogue: Catalogue) -> Iterable[str]:
    """Base metrics that the GPU does not count with the first rollup that is a value."""
    usual = {
        MetricType.COUNTER: ".sum",
        MetricType.RATIO: ".ratio",
        MetricType.THROUGHPUT: PCT,
    }
    for name, kind in catalogue.types.items():
        try:
            host.create_config_image([name + usual[kind]])
        except CuptiError:
            yield name


def _with_presets(catalogue: Catalogue, cupti: str | None) -> Catalogue:
    """Which presets fit one pass here, and what a sample of each costs."""
    fits: list[frozenset[str]] = []
    costs: dict[str, float] = {}
    for preset in PRESETS:
        try:
            selection = resolve(preset, catalogue.chip, open_cupti(cupti).version)
            done = check_live(selection, catalogue.chip, cupti=cupti)
        except (CuptiError, UsageError):  # no entry for the chip
            continue
        if done.fits:
            fits.append(
                frozenset(counters(m for m, verdict, _ in done.verdicts if verdict == "counted"))
            )
        if done.sample_bytes is not None:
            costs[preset] = done.sample_bytes
    return replace(catalogue, one_pass=tuple(fits), sample_bytes=costs)
