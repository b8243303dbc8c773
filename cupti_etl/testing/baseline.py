"""The baseline of a test: traces of earlier runs, and whether runs can be compared with them."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from cupti_etl.analysis.diff import comparable, diff_as_given
from cupti_etl.analysis.verdict import MORE
from cupti_etl.api import Scope, Trace
from cupti_etl.api import open as open_trace
from cupti_etl.doctor.driver import cuda_text
from cupti_etl.storage.disk import remove
from cupti_etl.storage.replace import OF_QUERIES
from cupti_etl.units import counted

_NOT_IN_NAMES = re.compile(r"[^\w.\[\]-]+")
_LONGEST = 100


@dataclass(frozen=True)
class Outcome:
    """What is said of a test.

    Attributes:
        verdict: one of ``diff.VERDICTS``; or no baseline, updated, added.
        why: in a sentence.
        note: what the reader must know to believe it, or what to do; "" where there is nothing.
    """

    verdict: str
    why: str
    note: str = ""


class Baseline:
    """The runs of a test that others are compared with.

    Args:
        folder: of all baselines.
        test: pytest's id of the test; the baseline lies in a folder of that name.

    Attributes:
        folder: of this baseline.
    """

    def __init__(self, folder: Path, test: str) -> None:
        path, _, name = test.partition("::")
        self.folder = folder.joinpath(*map(_as_name, path.split("/")), _as_name(name))

    @property
    def runs(self) -> list[Path]:
        """The traces, in the order in which they were added."""
        found = self.folder.glob("run-*[0-9]*")
        return sorted((each for each in found if _number(each)), key=_number)

    def compare(self, traces: Sequence[Path], min_effect: float | None) -> Outcome:
        """Compare runs of the test with those of the baseline.

        Raises:
            TraceError: a trace cannot be read.
            UsageError: ``min_effect`` is not between 0 and 1.
        """
        before = self.runs
        if not before:
            return Outcome(
                "no baseline", f"there is none in {self.folder}", "--cupti-etl-update writes it"
            )
        with ExitStack() as stack:
            olds, news = (
                [stack.enter_context(open_trace(path)) for path in side]
                for side in (before, traces)
            )
            why = _unfit([*olds, *news])
            if why:
                return Outcome("cannot tell", why)
            why = _incomparable(olds, news)
            if why:
                return Outcome("cannot tell", why, "--cupti-etl-update replaces the baseline")
            scope = comparable([*olds, *news], Scope())
            olds, news = (
                [stack.enter_context(each.part(scope)) if scope else each for each in side]
                for side in (olds, news)
            )
            found = diff_as_given(olds, news, min_effect)
        return Outcome(
            found.verdict, found.why, found.note.replace(MORE, "--cupti-etl-add adds runs")
        )

    def keep(self, traces: Sequence[Path], *, replace: bool) -> Outcome:
        """Make traces runs of the baseline.

        Args:
            traces: to be copied.
            replace: remove the runs that are there.

        Raises:
            TraceError: a trace cannot be read.
            OSError: they cannot be written.
        """
        before = [] if replace else self.runs
        with ExitStack() as stack:
            olds, news = (
                [stack.enter_context(open_trace(path)) for path in side]
                for side in (before, traces)
            )
            why = _unfit(news) or (_incomparable(olds, news) if olds else "")
            if why:
                return Outcome("not kept", why)
        self.folder.mkdir(parents=True, exist_ok=True)
        first = max(map(_number, self.runs), default=0) + 1
        kept = [_copied(trace, self.folder, first + at) for at, trace in enumerate(traces)]
        if replace:
            for old in set(self.runs) - set(kept):
                remove(old)
        return Outcome("kept", f"the baseline has {counted(len(self.runs), 'run')}")


def _as_name(text: str) -> str:
    """A name of a file for a part of a test's id; different ones for different parts."""
    name = _NOT_IN_NAMES.sub("_", text)[:_LONGEST]
    if name == text and name not in ("", ".", ".."):
        return name
    return f"{name.strip('.')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _number(run: Path) -> int:
    """The number of a run; 0 of what is none."""
    match = re.fullmatch(r"run-(\d+)(\.duckdb)?", run.name)
    return int(match[1]) if match else 0


def _copied(trace: Path, folder: Path, number: int) -> Path:
    """A copy that is there whole or not at all."""
    target = folder / f"run-{number}{trace.suffix if trace.is_file() else ''}"
    partial = folder / f"{target.name}.partial"
    remove(partial)
    if trace.is_file():
        shutil.copyfile(trace, partial)
    else:
        shutil.copytree(trace, partial, ignore=shutil.ignore_patterns(*OF_QUERIES))
    return partial.rename(target)


def _unfit(traces: Iterable[Trace]) -> str:
    """Why traces say nothing of how fast a test is; "" if they do."""
    for trace in traces:
        causes = [
            str(row["cause"])
            for row in trace.query("_loss_cause")
            # What a rank does is in its own trace, wherever the others are.
            if row["lost"] != 0 and row["cause"] != "rank_missing"
        ]
        if causes:
            return f"records were lost ({', '.join(sorted(causes))})"
        if not trace.has_rows("kernel"):
            return "no kernel was recorded"
    return ""


def _incomparable(before: Iterable[Trace], after: Iterable[Trace]) -> str:
    """Why the runs are not of one kind of machine; "" if they are."""
    olds, news = ({_machine(each) for each in side} for side in (before, after))
    if len(olds | news) == 1:
        return ""
    return f"the baseline is of {_machines(olds)}, and this run of {_machines(news)}"


def _machines(machines: Iterable[str]) -> str:
    return " and of ".join(sorted(machines))


def _machine(trace: Trace) -> str:
    """The GPUs that ran kernels, and the driver."""
    gpus = sorted(
        f"{row['gpus']} x {row['device_name'] or 'an unknown GPU'}"
        for row in trace.sql(
            "SELECT device_name, count(DISTINCT gpu) AS gpus FROM gpu"
            " SEMI JOIN kernel USING (process_id, device_id) GROUP BY device_name"
        )
    )
    drivers = sorted(
        {
            cuda_text(row["driver_version"])
            for row in trace.sql("FROM process")
            if row["driver_version"]
        }
    )
    return f"{', '.join(gpus) or 'no GPU'} (driver for CUDA {', '.join(drivers) or 'unknown'})"
