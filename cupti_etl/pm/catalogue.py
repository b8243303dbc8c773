"""What is known of a chip's metrics: from a libcupti here, or noted where there was one.

Without a driver CUPTI answers nothing; so what a profiler host told of each chip that was seen is
data in the package, ``catalogues/CHIP.json.gz``, made on a GPU by ``cupti-etl metrics dump``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from cupti_etl.errors import CuptiError, UsageError
from cupti_etl.native.cupti_search import version_text
from cupti_etl.pm.profiler_host import (
    MetricCollectionScope,
    MetricProperties,
    MetricType,
    ProfilerHost,
    ProfilerType,
    get_metrics_in_single_pass_set,
    get_single_pass_sets,
)

_FOLDER = files("cupti_etl.pm") / "catalogues"
_SUFFIX = ".json.gz"


@dataclass(frozen=True)
class Catalogue:
    """The metrics of a chip.

    Attributes:
        chip: as CUPTI names it.
        source: where it is from: ``driver``, ``cupti`` (its API version);
            empty for one that was asked for just now.
        metrics: base metrics, with what CUPTI says of each; None where that was not noted.
        types: the type of each.
        rollups: what can follow the name of a metric of a type.
        sets: single-pass sets, with their base metrics.
        refused: base metrics that the GPU did not allow to count, such as those of links that
            it lacks.
        one_pass: lists of metrics that were seen to fit one pass together.
        sample_bytes: counter data that each sample of a preset was seen to take.
    """

    chip: str
    source: Mapping[str, str]
    metrics: Mapping[str, MetricProperties | None]
    types: Mapping[str, MetricType]
    rollups: Mapping[MetricType, tuple[str, ...]]
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    one_pass: tuple[frozenset[str], ...] = ()
    sample_bytes: Mapping[str, float] = field(default_factory=dict)

    def split(self, name: str) -> tuple[str, str] | None:
        """Base metric and rollup of a name; None if the chip has no such metric."""
        end = name.find(".", name.find("__")) if "__" in name else -1
        base, rollup = (name, "") if end < 0 else (name[:end], name[end:])
        return (base, rollup) if base in self.metrics else None

    def sets_of(self, base: str) -> list[str]:
        """Names of the single-pass sets that a base metric is in."""
        return [name for name, members in self.sets.items() if base in members]

    def said_by(self) -> str:
        """Where it is from, for people; "" for one that was asked for just now."""
        known = {**self.source}
        if cupti := known.pop("cupti", ""):
            known["CUPTI"] = version_text(int(cupti))
        return ", ".join(f"{key} {value}" for key, value in known.items())


def noted_chips() -> list[str]:
    """The chips of which the package has a catalogue."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def noted(chip: str) -> Catalogue:
    """What was noted of a chip.

    Raises:
        UsageError: nothing was.
    """
    if chip not in noted_chips():
        raise UsageError(
            f"there are no notes about the chip {chip}, and no libcupti to ask",
            f"noted are: {', '.join(noted_chips())} (an H100 or H200 is GH100, an A100 GA100);"
            " on a GPU, `cupti-etl metrics dump` notes",
        )
    return loads(_FOLDER.joinpath(chip + _SUFFIX).read_bytes())


def ask(chip: str, *, cupti: str | None = None) -> Catalogue:
    """What a libcupti says of a chip: names, types, rollups and sets; not the descriptions.

    Raises:
        CuptiError: it cannot be asked, or does not know the chip.
    """
    types: dict[str, MetricType] = {}
    rollups: dict[MetricType, tuple[str, ...]] = {}
    with ProfilerHost(chip, ProfilerType.PM_SAMPLING, cupti=cupti) as host:
        for kind in MetricType:
            names = host.get_base_metrics(kind)
            types.update(dict.fromkeys(names, kind))
            if names:
                rollups[kind] = tuple(map(_ending, host.get_sub_metrics(names[0], kind)))
    return Catalogue(chip, {}, dict.fromkeys(types), types, rollups, _sets(chip, cupti))


def _ending(rollup: str) -> str:
    return rollup if rollup.startswith(".") else f".{rollup}"


def _sets(chip: str, cupti: str | None) -> dict[str, tuple[str, ...]]:
    try:
        names = get_single_pass_sets(chip, cupti=cupti)
    except CuptiError:  # before CUDA 13.2
        return {}
    return {name: tuple(get_metrics_in_single_pass_set(chip, name, cupti=cupti)) for name in names}


def describe_all(host: ProfilerHost, names: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What a host says of each metric; None of those that it refuses to speak of."""
    for name in names:
        try:
            yield name, host.get_metric_properties(name)
        except CuptiError:
            yield name, None


def dumps(catalogue: Catalogue) -> bytes:
    """A catalogue as a file of the package."""
    value = {
        "chip": catalogue.chip,
        "source": dict(catalogue.source),
        "rollups": {kind.name: list(ends) for kind, ends in catalogue.rollups.items()},
        "sets": {name: list(members) for name, members in catalogue.sets.items()},
        "metrics": {
            name: [kind.name, *_described(catalogue.metrics[name])]
            for name, kind in catalogue.types.items()
        },
        "refused": sorted(catalogue.refused),
        "one_pass": [sorted(names) for names in catalogue.one_pass],
        "sample_bytes": dict(catalogue.sample_bytes),
    }
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def _described(said: MetricProperties | None) -> list[str]:
    if said is None:
        return []
    return [said.description, said.hardware_unit, said.dimension, said.collection_scope.name]


def loads(data: bytes) -> Catalogue:
    """The inverse of ``dumps``."""
    value = json.loads(gzip.decompress(data))
    types = {name: MetricType[words[0]] for name, words in value["metrics"].items()}
    return Catalogue(
        value["chip"],
        value["source"],
        {name: _properties(words) for name, words in value["metrics"].items()},
        types,
        {MetricType[kind]: tuple(ends) for kind, ends in value["rollups"].items()},
        {name: tuple(members) for name, members in value["sets"].items()},
        frozenset(value["refused"]),
        tuple(map(frozenset, value["one_pass"])),
        value["sample_bytes"],
    )


def _properties(words: list[str]) -> MetricProperties | None:
    if len(words) == 1:
        return None
    kind, description, unit, dimension, scope = words
    return MetricProperties(
        description, unit, dimension, MetricType[kind], MetricCollectionScope[scope]
    )


def write(catalogue: Catalogue, path: Path) -> None:
    """Write a catalogue to a file.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        path.write_bytes(dumps(catalogue))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", "choose another file") from error
