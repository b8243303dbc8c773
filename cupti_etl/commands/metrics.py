"""``cupti-etl metrics``: what the counters of a chip can tell, and what fits one pass."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cupti_etl.commands._group import Group
from cupti_etl.errors import CuptiError, UsageError, did_you_mean
from cupti_etl.progress import say
from cupti_etl.render.output import InMemory, Output, output_option, output_options, write
from cupti_etl.units import counted

if TYPE_CHECKING:
    from cupti_etl.pm.catalogue import Catalogue


def _as_named(_: click.Context, __: click.Parameter, chip: str | None) -> str | None:
    """The chip as CUPTI, which has no small letters in their names, writes it."""
    return chip and chip.upper()


_chip = click.option(
    "--chip",
    metavar="CHIP",
    callback=_as_named,
    help="The chip, as CUPTI names it: H100 and H200 are GH100. By default that of GPU 0.",
)
_cupti = click.option(
    "--cupti",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="libcupti to ask; by default the first one found.",
)


@click.group("metrics", cls=Group)
def command() -> None:
    """Show which hardware metrics a chip has, and which fit together.

    With an NVIDIA driver, the answers come from CUPTI. Elsewhere, they come from notes that were
    made on other machines, and the command says so.
    """


@command.command("list")
@click.argument("pattern", required=False)
@_chip
@click.option("--set", "single_pass_set", metavar="NAME", help="Only metrics of this set of CUPTI.")
@_cupti
@output_options
def list_metrics(
    pattern: str | None,
    chip: str | None,
    single_pass_set: str | None,
    cupti: str | None,
    output: Output,
) -> None:
    """List the metrics of a chip, or those that match PATTERN.

    \b
      cupti-etl metrics list --chip GH100 tensor
      cupti-etl metrics list 'sm__*_active' --format csv

    To sample a metric, add a rollup to its name: sm__cycles_active.avg. The column `alias` has the
    short name that presets use for it.
    """
    catalogue = _catalogue(chip, cupti)
    if single_pass_set is not None and single_pass_set not in catalogue.sets:
        raise UsageError(
            f"{catalogue.chip} has no set {single_pass_set!r}",
            f"sets are: {', '.join(catalogue.sets) or 'none'}",
        )
    aliases = _aliases(catalogue)
    names = [
        name
        for name in catalogue.metrics
        if _matches(name, pattern) or any(_matches(a, pattern) for a in aliases.get(name, ()))
        if single_pass_set is None or name in catalogue.sets[single_pass_set]
    ]
    _write(
        {
            "metric": names,
            "type": [catalogue.types[name].name.lower() for name in names],
            "set": [", ".join(catalogue.sets_of(name)) for name in names],
            "alias": [", ".join(aliases.get(name, ())) for name in names],
            "description": [_description(catalogue, name) for name in names],
        },
        output,
    )


@command.command()
@click.argument("name")
@_chip
@_cupti
@output_options
def describe(name: str, chip: str | None, cupti: str | None, output: Output) -> None:
    """Describe a metric, or a short name, on a chip.

    \b
      cupti-etl metrics describe sm__cycles_active --chip GH100
      cupti-etl metrics describe tensor_active_pct
    """
    from cupti_etl.pm.aliases import ALIASES
    from cupti_etl.pm.presets import PRESETS, named, resolve

    catalogue = _catalogue(chip, cupti)
    alias = ALIASES.get(name)
    meant = resolve(name, catalogue.chip).metrics[0] if alias else None
    full = meant.hardware_name if meant else name
    split = catalogue.split(meant.counters[0] if meant else name)
    if split is None:
        raise UsageError(
            f"{catalogue.chip} has no metric {full!r}",
            did_you_mean(full, catalogue.metrics, "`cupti-etl metrics list` has them all"),
        )
    base, rollup = split
    said = catalogue.metrics[base] or _asked(catalogue, base, cupti)
    row: dict[str, str | None] = {"metric": base, "chip": catalogue.chip}
    row["type"] = catalogue.types[base].name.lower()
    if alias:
        row |= {"alias": name, "meaning": alias.description, "unit": alias.unit}
        row |= {"aggregation": alias.aggregation, "counted_as": full}
        row["presets"] = ", ".join(preset for preset, names in PRESETS.items() if name in names)
    elif rollup:
        metric = named(full)
        row |= {"counted_as": full, "unit": metric.unit, "aggregation": metric.aggregation}
    row["description"] = said.description if said else None
    row["hardware_unit"] = said.hardware_unit if said else None
    row["dimension"] = said.dimension if said else None
    row["scope"] = said.collection_scope.name.lower() if said else None
    row["sets"] = ", ".join(catalogue.sets_of(base))
    row["rollups"] = " ".join(catalogue.rollups.get(catalogue.types[base], ()))
    if output.chosen == "table":
        shown = {key: value for key, value in row.items() if value}
        _write({"field": list(shown), "value": list(shown.values())}, output)
    else:
        _write({key: [value] for key, value in row.items()}, output)


@command.command()
@_chip
@_cupti
@output_options
def sets(chip: str | None, cupti: str | None, output: Output) -> None:
    """List CUPTI's sets of metrics that fit one pass, and presets."""
    from cupti_etl.pm.presets import PRESETS, WHAT_FOR, family_of

    catalogue = _catalogue(chip, cupti)
    family = family_of(catalogue.chip)
    known = [
        (preset, [name for name in names if family and name in family.names])
        for preset, names in PRESETS.items()
    ]
    _write(
        {
            "set": [*catalogue.sets, *(preset for preset, _ in known)],
            "kind": ["CUPTI's"] * len(catalogue.sets) + ["preset"] * len(known),
            "metrics": [*map(len, catalogue.sets.values()), *(len(names) for _, names in known)],
            "what": [
                *("base metrics, all in one pass together" for _ in catalogue.sets),
                *(
                    f"{WHAT_FOR[preset]} {', '.join(names)}"
                    if names
                    else f"no entry for {catalogue.chip}"
                    for preset, names in known
                ),
            ],
            "verified": [
                *(None for _ in catalogue.sets),
                *(bool(family and family.is_verified and names) for _, names in known),
            ],
        },
        output,
    )


@command.command()
@click.argument("names", metavar="NAME[,NAME]...")
@click.option(
    "--range",
    "is_range",
    is_flag=True,
    help="For capture --range-metrics: how many passes they take, and which values are certain.",
)
@_chip
@_cupti
@output_options
def check(names: str, is_range: bool, chip: str | None, cupti: str | None, output: Output) -> None:
    """Check whether presets, short names and metrics fit one pass.

    \b
      cupti-etl metrics check overview,fp64_pct
      cupti-etl metrics check sm__cycles_active.avg,dram__bytes.sum --chip GH100

    Also prints the size of a sample's counter data, which limits how short the interval can be.
    That is known only on a GPU of that chip.

    Exit status: 0 if they fit (with --range: if CUPTI counts all), 1 if not or if not known.
    """
    from cupti_etl.commands._range_metrics import check_metrics, columns_of
    from cupti_etl.pm.checking import check_live, check_noted, check_passes
    from cupti_etl.pm.presets import resolve

    if is_range:
        metrics, why = check_metrics(names), _why_noted(cupti)
        said = why or check_passes(metrics, chip or _chip_here(cupti), cupti=cupti)
        columns, sentence = columns_of(said)
        _write(columns, output)
        _say(sentence)
        sys.exit(1 if isinstance(said, str) or said.passes is None else 0)
    if _is_live(cupti):
        from cupti_etl.pm.cupti import open_cupti

        version = open_cupti(cupti).version
        selection = resolve(names, chip or _chip_here(cupti), version)
        done = check_live(selection, chip or _chip_here(cupti), cupti=cupti)
    else:
        catalogue = _catalogue(chip, cupti)
        selection = resolve(names, catalogue.chip)
        done = check_noted(selection, catalogue)
    _write(
        {
            "column": [metric.column for metric, _, _ in done.verdicts],
            "metric": [metric.hardware_name for metric, _, _ in done.verdicts],
            "verdict": [verdict for _, verdict, _ in done.verdicts],
            "why": [why for _, _, why in done.verdicts],
        },
        output,
    )
    if selection.family and not selection.is_verified:
        _say(
            f"the names of {selection.family} were accepted by CUPTI's profiler host;"
            " no GPU of that family has been sampled"
        )
    passes = "an unknown number of passes" if done.passes is None else f"{done.passes} pass"
    passes += "es" if done.passes not in (None, 1) else ""
    cost = "unknown" if done.sample_bytes is None else f"{done.sample_bytes / 1000:.1f} kB"
    _say(f"{passes}; counter data of a sample: {cost}")
    sys.exit(0 if done.fits else 1)


@command.command()
@output_option("File to write.  [default: CHIP.json.gz]")
@click.option(
    "--device", type=int, default=0, show_default=True, metavar="N", help="Number of the GPU."
)
@click.option("--chip", metavar="CHIP", callback=_as_named, help="Another chip than the GPU's.")
@click.option("--probe/--no-probe", default=True, help="Try each metric on the GPU.")
@_cupti
def dump(path: Path | None, device: int, chip: str | None, probe: bool, cupti: str | None) -> None:
    """Write notes about a chip, for machines without one.

    Put the file, CHIP.json.gz, into the package's folder pm/catalogues to have the notes in every
    installation.
    """
    from cupti_etl.pm.catalogue import write as write_catalogue
    from cupti_etl.pm.dump import make, make_unseen

    if chip:
        catalogue = make_unseen(chip, cupti=cupti)
    else:
        catalogue = make(device, probe=probe, cupti=cupti)
    path = path or Path(f"{catalogue.chip}.json.gz")
    write_catalogue(catalogue, path)
    refused = f", {len(catalogue.refused)} of them not on this GPU" if probe and not chip else ""
    click.echo(f"{path}: {counted(len(catalogue.metrics), 'metric')} of {catalogue.chip}{refused}")


def _is_live(cupti: str | None) -> bool:
    return not _why_noted(cupti)


def _why_noted(cupti: str | None) -> str:
    """Why CUPTI cannot be asked, so that notes have to do; "" if it can.

    Raises:
        CuptiError: a libcupti was named, and cannot be used.
    """
    from cupti_etl.pm.cupti import has_driver, open_cupti

    if cupti is None and not has_driver():
        return "no driver here"
    try:
        open_cupti(cupti)
    except CuptiError as error:
        if cupti is not None:
            raise
        return error.message
    return ""


def _chip_here(cupti: str | None) -> str:
    from cupti_etl.pm.profiler_host import get_chip_name

    try:
        return get_chip_name(0, cupti=cupti)
    except CuptiError as error:
        raise UsageError(
            f"GPU 0 does not tell its chip: {error.message}", "name it: --chip GH100"
        ) from error


def _catalogue(chip: str | None, cupti: str | None) -> Catalogue:
    """The catalogue that was asked for, from CUPTI if it can be asked."""
    from cupti_etl.pm.catalogue import ask, noted, noted_chips

    why = _why_noted(cupti)
    if not why:
        return ask(chip or _chip_here(cupti), cupti=cupti)
    known = noted_chips()
    if chip is None and len(known) != 1:
        raise UsageError("which chip?", f"--chip, one of {', '.join(known)}")
    catalogue = noted(chip or known[0])
    _say(f"{why}; these are notes about {catalogue.chip} ({catalogue.said_by()})")
    return catalogue


def _asked(catalogue: Catalogue, base: str, cupti: str | None) -> Any:
    """What CUPTI says of a metric; None where it cannot be asked."""
    from cupti_etl.pm.profiler_host import ProfilerHost, ProfilerType

    if not _is_live(cupti):
        return None
    with ProfilerHost(catalogue.chip, ProfilerType.PM_SAMPLING, cupti=cupti) as host:
        return host.get_metric_properties(base)


def _aliases(catalogue: Catalogue) -> dict[str, list[str]]:
    """The aliases of each base metric."""
    from cupti_etl.pm.families import told
    from cupti_etl.pm.presets import family_of

    family = family_of(catalogue.chip)
    found: dict[str, list[str]] = {}
    for alias, name in family.names.items() if family else ():
        split = catalogue.split(told(name)[0])
        if split:
            found.setdefault(split[0], []).append(alias)
    return found


def _description(catalogue: Catalogue, name: str) -> str | None:
    said = catalogue.metrics[name]
    return (said.description or None) if said else None  # CUPTI has no words for some


def _matches(name: str, pattern: str | None) -> bool:
    from fnmatch import fnmatchcase

    if pattern is None:
        return True
    if not set(pattern) & set("*?["):
        return pattern.lower() in name.lower()
    return fnmatchcase(name.lower(), pattern.lower())


def _write(columns: dict[str, list[Any]], output: Output) -> None:
    import pyarrow as pa

    columns = {
        name: values for name, values in columns.items() if name != "description" or any(values)
    }
    kinds = dict.fromkeys(("metrics", "passes", "run"), pa.int64())
    kinds |= dict.fromkeys(("verified", "certain"), pa.bool_())
    arrays = {
        name: pa.array(values, kinds.get(name, pa.string())) for name, values in columns.items()
    }
    write(InMemory(pa.table(arrays)), output)


def _say(sentence: str) -> None:
    say(f"cupti-etl: {sentence}")
