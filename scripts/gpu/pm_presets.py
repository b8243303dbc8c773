"""Checks every preset and alias with a profiler host, and looks for cheaper names.

    python pm_presets.py --out DIR [--cupti FILE] [--seconds N] [--workload COMMAND]
                         [--aliases NAME,...]

Run where there is a GPU, with cupti-etl installed and the right to use hardware counters.
Writes to DIR:

    pm_presets.json   per family: names that are refused, presets that do not fit one pass;
                      per preset: bytes of counter data a sample on this GPU; per alias: other
                      names for the same count, what they cost, and whether they agree
    CHIP.json.gz      the catalogue of this GPU's chip, and of the first of each family that no
                      GPU was sampled of, for cupti_etl/pm/catalogues/

Exits with 1 if a name that is not optional is refused, or a preset does not fit one pass.
Whether other names agree is measured by sampling both at once while COMMAND runs (it should use
what is counted, for longer than the samples), and shown with how far the sums or means of the
two are apart; without COMMAND that is left out.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cupti_etl.errors import CuptiError, EtlError
from cupti_etl.pm.catalogue import Catalogue, write
from cupti_etl.pm.checking import check_live
from cupti_etl.pm.cupti import open_cupti
from cupti_etl.pm.dump import make, make_unseen
from cupti_etl.pm.families import FAMILIES, Family, told
from cupti_etl.pm.presets import PRESETS, counters, family_of, resolve
from cupti_etl.pm.profiler_host import (
    ProfilerHost,
    ProfilerType,
    get_chip_name,
    get_counter_availability,
    get_sample_bytes,
    get_supported_chips,
)

INTERVAL = "200us"


def check_family(family: Family, chip: str, cupti: str | None) -> dict[str, Any]:
    """What a host says of a family's names and presets on one of its chips, without a GPU."""
    refused = {}
    with ProfilerHost(chip, ProfilerType.PM_SAMPLING, family.single_pass_set, cupti=cupti) as host:
        for alias, name in family.names.items():
            try:
                host.create_config_image(told(name))
            except CuptiError as error:
                refused[alias] = error.words
        presets = {preset: _passes(host, family, names) for preset, names in PRESETS.items()}
    return {"refused": refused, "passes": presets}


def _passes(host: ProfilerHost, family: Family, names: Sequence[str]) -> int | str:
    """Passes of what a preset needs, or why it cannot be."""
    wanted = [a for a in names if a in family.names and a not in family.optional]
    if not wanted:
        return "only optional metrics" if set(names) & family.names.keys() else "no entry"
    try:
        names = dict.fromkeys(part for alias in wanted for part in told(family.names[alias]))
        return host.configure([*names])[1]
    except CuptiError as error:
        return error.words


def is_bad(family: Family, said: dict[str, Any]) -> bool:
    """Whether a family is not what we say of it."""
    refused = said["refused"].keys() - family.optional
    unfit = [
        passes
        for passes in said["passes"].values()
        if passes not in (1, "no entry", "only optional metrics")
    ]
    return bool(refused or unfit)


def _stem(name: str) -> str:
    """The count itself: "sm__cycles_active" of "TPC.Set.sm__cycles_active_realtime.avg"."""
    unit = name[: name.index("__")].rpartition(".")[2]
    what = name[name.index("__") :].split(".")[0]
    return unit + what.removesuffix("_realtime")


def candidates(catalogue: Catalogue, alias: str) -> list[str]:
    """Names that count the same as an alias, those of other families included."""
    mine = told(next(f.names[alias] for f in FAMILIES if f.name == _family_name(catalogue.chip)))[0]
    rollup = mine[mine.index(".", mine.index("__")) :]
    stems = {_stem(told(f.names[alias])[0]) for f in FAMILIES if alias in f.names}
    found = [base + rollup for base in catalogue.metrics if _stem(base) in stems]
    return [mine, *(name for name in found if name != mine)]


def _family_name(chip: str) -> str:
    family = family_of(chip)
    return family.name if family else ""


class Costs:
    """Bytes of counter data a sample on GPU 0; None where a name or the pass refuses."""

    def __init__(self, chip: str, cupti: str | None) -> None:
        self._chip, self._cupti = chip, cupti
        self._availability = get_counter_availability(cupti=cupti)

    def of(self, names: Sequence[str], single_pass_set: str | None) -> float | None:
        """The cost of names together."""
        family = family_of(self._chip)
        try:
            with ProfilerHost(
                self._chip,
                ProfilerType.PM_SAMPLING,
                single_pass_set,
                counter_availability_image=self._availability,
                cupti=self._cupti,
            ) as host:
                config, passes = host.configure(names)
            if passes != 1:
                return None
            by_time = family.has_time_trigger if family else True
            return get_sample_bytes(config, names, has_time_trigger=by_time, cupti=self._cupti)
        except CuptiError:
            return None


def search(catalogue: Catalogue, costs: Costs, version: int) -> dict[str, Any]:
    """For each preset: its cost, and the cheapest names that one exchange after the other finds."""
    found: dict[str, Any] = {}
    for preset in PRESETS:
        try:
            selection = resolve(preset, catalogue.chip, version)
        except EtlError as error:
            found[preset] = {"error": error.message}
            continue
        chosen = [metric for metric in selection.metrics if not metric.is_optional]
        if not chosen:
            continue
        fixed = counters(metric for metric in chosen if metric.ratio)
        names = {metric.column: metric.hardware_name for metric in chosen if not metric.ratio}
        single_pass_set = selection.single_pass_set
        before = best = costs.of([*fixed, *names.values()], single_pass_set)
        changed = {}
        for alias in names:
            for other in candidates(catalogue, alias)[1:]:
                tried = {**names, alias: other}
                cost = costs.of([*fixed, *tried.values()], single_pass_set)
                if cost is not None and (best is None or cost < best):
                    names, best, changed[alias] = tried, cost, other
        found[preset] = {"sample_bytes": before, "cheapest_bytes": best, "instead": changed}
    return found


def alternatives(catalogue: Catalogue, costs: Costs) -> dict[str, list[dict[str, Any]]]:
    """For each alias: every name for the same count that this GPU takes, with its cost alone."""
    family = family_of(catalogue.chip)
    found = {}
    for alias in family.names if family else ():
        rows = [
            {"metric": name, "sample_bytes": cost}
            for name in candidates(catalogue, alias)
            if (cost := costs.of([name], None)) is not None
        ]
        if len(rows) > 1:
            found[alias] = rows
    return found


def agree(
    names: Sequence[str], seconds: float, workload: Sequence[str], cupti: str | None
) -> dict[str, float]:
    """Time-weighted mean of each metric over samples that were taken of all at once."""
    import pyarrow.compute as pc

    from cupti_etl import open as open_trace

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "samples")
        command = [sys.executable, "-m", "cupti_etl", "sample", "--quiet", "-o", str(out)]
        command += ["--pm", ",".join(names), "--pm-interval", INTERVAL]
        command += ["--duration", f"{seconds}s", *(["--cupti", cupti] if cupti else [])]
        busy = subprocess.Popen(workload, stdout=subprocess.DEVNULL)
        try:
            subprocess.run(command, check=True)
        finally:
            busy.kill()
            busy.wait()
        with open_trace(out) as trace:
            rows = trace.sql("SELECT * FROM pm_sample").arrow()
    weights = pc.subtract(rows["end_ns"], rows["start_ns"]).cast("float64")
    total = pc.sum(weights).as_py() or 0.0
    return {
        name: pc.sum(pc.multiply(rows[name], weights)).as_py() / total if total else float("nan")
        for name in names
    }


def compared(
    rows: Sequence[dict[str, Any]], seconds: float, workload: Sequence[str], cupti: str | None
) -> Iterator[dict[str, Any]]:
    """The alternatives of an alias, each beside the first: mean, and how far apart."""
    first = rows[0]["metric"]
    for row in rows[1:]:
        try:
            means = agree([first, row["metric"]], seconds, workload, cupti)
        except subprocess.CalledProcessError:
            yield {**row, "apart": None}  # not in one pass together, or refused
            continue
        mine, other = means[first], means[row["metric"]]
        scale = max(abs(mine), abs(other))
        yield {**row, "mean": other, "apart": abs(mine - other) / scale if scale else 0.0}


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cupti")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--workload", type=shlex.split, default=[])
    parser.add_argument("--aliases", type=lambda text: text.split(","), help="compare only these")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    cupti: str | None = options.cupti
    opened = open_cupti(cupti)
    chip = get_chip_name(cupti=cupti)
    report: dict[str, Any] = {"chip": chip, "cupti": opened.version, "families": {}}
    bad = []
    known = get_supported_chips(cupti=cupti)
    for family in FAMILIES:
        said = {}
        for name in family.chips:
            if name not in known or opened.version < family.since_cupti:
                continue
            said[name] = check_family(family, name, cupti)
            if is_bad(family, said[name]):
                bad.append(f"{family.name} on {name}")
            if name == family.chips[0] and not family.is_verified:
                write(make_unseen(name, cupti=cupti), options.out / f"{name}.json.gz")
        report["families"][family.name] = said
    catalogue = make(cupti=cupti)
    write(catalogue, options.out / f"{chip}.json.gz")
    costs = Costs(chip, cupti)
    report["presets"] = search(catalogue, costs, opened.version)
    for preset in PRESETS:
        selection = resolve(preset, chip, opened.version)
        done = check_live(selection, chip, cupti=cupti)
        report["presets"].setdefault(preset, {})["verdicts"] = {
            metric.column: verdict for metric, verdict, _ in done.verdicts
        }
        if selection.is_verified and not done.fits:
            bad.append(f"{preset} on this GPU")
    report["aliases"] = alternatives(catalogue, costs)
    for alias, rows in report["aliases"].items() if options.workload else ():
        if options.aliases is None or alias in options.aliases:
            rows[1:] = compared(rows, options.seconds, options.workload, cupti)
    report["bad"] = bad
    (options.out / "pm_presets.json").write_text(json.dumps(report, indent=1) + "\n")
    for line in bad:
        print(f"not as we say: {line}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
