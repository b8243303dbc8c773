"""Whether metrics fit one pass, and what a sample of them costs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cupti_etl.errors import CuptiError
from cupti_etl.native.headers import constant
from cupti_etl.pm.catalogue import Catalogue
from cupti_etl.pm.presets import Metric, Selection, counters
from cupti_etl.pm.profiler_host import (
    MetricType,
    ProfilerHost,
    ProfilerType,
    get_chip_name,
    get_counter_availability,
    get_sample_bytes,
)

# Of a command with application replay.
MOST_RUNS = constant("ETL_MOST_RANGE_GROUPS")


@dataclass(frozen=True)
class Check:
    """What became of a selection of metrics on a chip.

    Attributes:
        verdicts: of each metric: ``counted``, ``left out`` (an optional one), ``refused``, or
            ``not known``; and why.
        passes: needed for those that are counted; None if that is not known.
        sample_bytes: counter data that each sample takes; None if that is not known.
    """

    verdicts: tuple[tuple[Metric, str, str], ...]
    passes: int | None
    sample_bytes: float | None

    @property
    def fits(self) -> bool:
        """Whether they can be sampled as they are."""
        bad = [verdict for _, verdict, _ in self.verdicts if verdict in ("refused", "not known")]
        return not bad and self.passes == 1


def check_live(selection: Selection, chip: str, *, cupti: str | None = None) -> Check:
    """Ask a libcupti; the cost only where GPU 0 is such a chip.

    Raises:
        CuptiError: it cannot be asked at all.
    """
    device = _has_chip(chip, cupti)
    availability = get_counter_availability(0, cupti=cupti) if device else None
    with ProfilerHost(
        chip,
        ProfilerType.PM_SAMPLING,
        selection.single_pass_set,
        counter_availability_image=availability,
        cupti=cupti,
    ) as host:
        verdicts = [_alone(host, metric) for metric in selection.metrics]
        good = [metric for metric, verdict, _ in verdicts if verdict == "counted"]
        if not good:
            return Check(tuple(verdicts), None, None)
        names = counters(good)
        config, passes = host.configure(names)
        if passes > 1 and any(metric.is_optional for metric in good):
            needed = counters(metric for metric in good if not metric.is_optional)
            try:
                kept = host.select(names, [name not in needed for name in names])
            except CuptiError:  # the others need several passes by themselves
                kept = [True] * len(names)
            gone = {name for name, keep in zip(names, kept, strict=True) if not keep}
            out = {metric for metric in good if gone & set(metric.counters)}
            verdicts = [
                (m, "left out", "no room for it in one pass") if m in out else (m, verdict, why)
                for m, verdict, why in verdicts
            ]
            names = counters(metric for metric in good if metric not in out)
            config, passes = host.configure(names)
    cost = None
    if device and passes == 1:
        cost = get_sample_bytes(
            config, names, has_time_trigger=selection.has_time_trigger, cupti=cupti
        )
    return Check(tuple(verdicts), passes, cost)


def _has_chip(chip: str, cupti: str | None) -> bool:
    """Whether GPU 0 is such a chip; False if there is none."""
    try:
        return get_chip_name(0, cupti=cupti) == chip
    except CuptiError:
        return False


def _alone(host: ProfilerHost, metric: Metric) -> tuple[Metric, str, str]:
    try:
        host.create_config_image(metric.counters)
    except CuptiError as error:
        return metric, "left out" if metric.is_optional else "refused", error.words
    return metric, "counted", ""


def check_noted(selection: Selection, catalogue: Catalogue) -> Check:
    """Look into what was noted of a chip.

    It says that metrics fit one pass if they were seen to fit one together, and otherwise that
    it does not know.
    """
    verdicts = [(m, *_noted(m, catalogue)) for m in selection.metrics]
    needed = set(
        counters(m for m, verdict, _ in verdicts if verdict == "counted" and not m.is_optional)
    )
    seen = next((names for names in catalogue.one_pass if needed and needed <= names), None)
    if seen is not None:
        verdicts = [
            (m, "left out", "not seen in one pass with the others")
            if verdict == "counted" and not seen.issuperset(m.counters)
            else (m, verdict, why)
            for m, verdict, why in verdicts
        ]
    return Check(tuple(verdicts), 1 if seen else None, _noted_cost(selection, catalogue))


def _noted(metric: Metric, catalogue: Catalogue) -> tuple[str, str]:
    said = [_noted_name(name, metric.is_optional, catalogue) for name in metric.counters]
    return next((one for one in said if one != ("counted", "")), said[0])


def _noted_name(name: str, is_optional: bool, catalogue: Catalogue) -> tuple[str, str]:
    split = catalogue.split(name)
    bad = "left out" if is_optional else "refused"
    if split is None:
        return bad, f"{catalogue.chip} has no such metric"
    base, rollup = split
    if base in catalogue.refused:
        return bad, f"the GPU of the notes does not have it ({catalogue.said_by()})"
    if any(name in names for names in catalogue.one_pass):
        return "counted", ""
    if rollup in catalogue.rollups.get(catalogue.types[base], ()):
        return "left out" if is_optional else "counted", "not tried when the notes were made"
    return (
        "not known",
        f"{rollup or 'a name without rollup'} was not tried when the notes were made",
    )


def _noted_cost(selection: Selection, catalogue: Catalogue) -> float | None:
    presets = {metric.preset for metric in selection.metrics}
    only = next(iter(presets)) if len(presets) == 1 else None
    return catalogue.sample_bytes.get(only) if only else None


@dataclass(frozen=True)
class Passes:
    """A metric that is to be measured by replay.

    Attributes:
        metric: its name.
        verdict: ``counted``, ``refused``, or ``left out`` for one of a preset that the chip lacks.
        passes: that it takes alone; None if it is not counted.
        certain: whether all its counters are of one execution among the others; None if they may
            be of several.
        run: of the command, from 1, that counts it with application replay; None if none does.
        why: CUPTI's reason, if it is not counted.
    """

    metric: str
    verdict: str
    passes: int | None
    certain: bool | None
    why: str
    run: int | None = None


@dataclass(frozen=True)
class RangeCheck:
    """What becomes of metrics that are to be measured by replay.

    Attributes:
        rows: one for each metric.
        passes: for all together; None if one is refused, or none is counted.
        runs: of the command that application replay takes; 0 if it counts none.  More than
            ``MOST_RUNS`` are refused.
    """

    rows: tuple[Passes, ...]
    passes: int | None
    runs: int = 0


def check_passes(metrics: tuple[str, ...], chip: str, *, cupti: str | None = None) -> RangeCheck:
    """Ask a libcupti how often a kernel is executed for metrics.

    The injected library judges in the same way what is certain (``native/inject/range_host.c``),
    and what goes into one run (``range_session.c``).

    Raises:
        CuptiError: it cannot be asked at all.
    """
    with ProfilerHost(chip, ProfilerType.RANGE_PROFILER, cupti=cupti) as host:
        rows = [_first_known(host, metric) for metric in metrics]
        counted = [row.metric for row in rows if row.passes is not None]
        is_refused = any(row.verdict == "refused" for row in rows)
        together = None if is_refused or not counted else host.configure(counted)[1]
        for at, row in enumerate(rows):
            if row.passes is None:
                continue
            kind = host.get_metric_properties(row.metric).metric_type
            is_plain = kind is MetricType.COUNTER and row.metric.count(".") == 1
            if together == 1 or (row.passes == 1 and is_plain):
                rows[at] = replace(row, certain=True)
            elif row.passes > 1:
                rows[at] = replace(row, certain=False)
        runs = _in_runs(host, rows)
    return RangeCheck(tuple(rows), together, runs)


def _in_runs(host: ProfilerHost, rows: list[Passes]) -> int:
    """Puts metrics into runs of one pass each, in their order; how many these are."""
    group: list[str] = []
    run = 0
    for at, row in enumerate(rows):
        if row.passes != 1:
            continue
        if not group or host.configure([*group, row.metric])[1] > 1:
            group = []
            run += 1
        group.append(row.metric)
        rows[at] = replace(row, run=run)
    return run


def _first_known(host: ProfilerHost, metric: str) -> Passes:
    """The first name of a metric that the chip has, and its passes; see ``range_presets``."""
    names = [name for name in metric.split("|") if name]
    why = ""
    for name in names:
        try:
            return Passes(name, "counted", host.configure([name])[1], None, "")
        except CuptiError as error:
            why = why or error.words
    return Passes(names[0], "left out" if metric.endswith("|") else "refused", None, None, why)
