"""What a capture says on stderr: one line that says how it goes, and a summary."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cupti_etl.capture.segment import NOT_TRACED
from cupti_etl.progress import Line, is_terminal, say
from cupti_etl.schema.kinds import KINDS
from cupti_etl.schema.loss import Loss
from cupti_etl.units import counted

if TYPE_CHECKING:
    from cupti_etl.capture.collector import Collector
    from cupti_etl.pm.sampling import Sampling


class ProgressLine(Line):
    """One line on a terminal: records a second, rows, lost."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(is_wanted=not quiet)
        self._last = (time.monotonic(), 0)

    def tell(self, collector: Collector, *, beside_program: bool = False) -> None:
        """Show how it goes, twice a second.

        Args:
            beside_program: whether a program runs whose output a terminal on stdout shows, too:
                then nothing is said amid that.
        """
        if beside_program and is_terminal(sys.stdout):
            return
        now = time.monotonic()
        then, before = self._last
        if not self.is_on or now - then < 0.5:
            return
        rows, emitted = collector.rows_and_records()
        rate = (emitted - before) / (now - then)
        lost = sum(
            loss.records or 0
            for loss in collector.losses()
            if not loss.is_stored and loss.table_name != "pm_sample"
        )
        self._last = (now, emitted)
        text = f"cupti-etl: {rate:,.0f} records/s, {rows:,} rows, {lost:,} lost"
        if collector.sampling is not None:
            text = f"{text}, {collector.sampling.rows:,} samples"
        self.show(text + measured(collector))


def measured(collector: Collector) -> str:
    """How many launches the range profiler has measured, and what each costs; "" if none."""
    infos = [one.process.info() for one in collector.traced]
    launches = sum(info.range_launches for info in infos)
    if not launches:
        return ""
    each = sum(info.range_ns for info in infos) / launches / 1e6
    return f", {launches:,} launches measured, {each:,.1f} ms each"


def summary(collector: Collector, where: object, seconds: float, said: Sequence[str] = ()) -> None:
    """Print rows by table, losses, and where the trace is (a sentence).

    Args:
        collector: of the capture.
        where: where the trace is.
        seconds: how long the capture took.
        said: what else there is to say, in sentences.
    """
    traced = [one.process for one in collector.traced if one.process.info().state != NOT_TRACED]
    counts = {kind.table: sum(p.stored(i) for p in traced) for i, kind in enumerate(KINDS)}
    counts["callback_event"] = sum(int(p.decoded().callbacks) for p in traced)
    counts["launch_metric"] = sum(int(p.decoded().range_rows) for p in traced)
    counts["nccl_event"] = sum(int(p.decoded().nccl_events) for p in traced)
    counts["pc_sample"] = sum(int(p.decoded().pc_samples) for p in traced)
    counts["sass_metric"] = sum(int(p.decoded().sass_metrics) for p in traced)
    rows = ", ".join(f"{count:,} {table}" for table, count in counts.items() if count) or "no rows"
    processes = counted(len(traced), "process", "processes")
    say(f"cupti-etl: {rows} from {processes} in {seconds:.1f} s")
    sampling = collector.sampling
    if sampling is not None:
        tell_samples(sampling)
    for sentence in _lost(loss for loss in collector.losses() if loss.table_name != "pm_sample"):
        say(f"cupti-etl: {sentence}")
    for sentence in said:
        say(f"cupti-etl: {sentence}")
    say(f"cupti-etl: {where}")


def _lost(losses: Iterable[Loss]) -> Iterator[str]:
    """A sentence for each cause, of all tables and processes together."""
    alike: dict[tuple[str, str, bool], list[int | None]] = {}
    for loss in losses:
        alike.setdefault((loss.cause, loss.detail, loss.is_stored), []).append(loss.records)
    for (cause, detail, is_stored), numbers in alike.items():
        known = [number for number in numbers if number is not None]
        thing = "row" if is_stored else "record"
        lost = counted(sum(known), thing)
        if len(known) < len(numbers):
            lost = f"at least {lost}" if sum(known) else f"an unknown number of {thing}s"
        yield f"{lost} {'incomplete' if is_stored else 'lost'} ({cause}): {detail}"


def tell_failure(sampling: Sampling, *, quiet: bool) -> None:
    """Say at once that counters are not sampled, or not of all GPUs; not only in the end."""
    if sampling.failure is not None and not quiet:
        what, hint = sampling.failure
        say(f"cupti-etl: hardware counters are not sampled: {what}")
        say(f"  {hint}")


def tell_samples(sampling: Sampling) -> None:
    """Print samples by GPU, what is missing of them by cause, and why sampling ended early."""
    for device in filter(lambda each: each.about, sampling.devices):
        say(
            f"cupti-etl: {counted(device.rows, 'sample')} of GPU {device.about['index']}"
            f" ({device.about['name']}), {counted(len(device.about['columns']), 'metric')}"
        )
        for cause in dict.fromkeys(loss.cause for loss in device.losses):
            mine = [loss for loss in device.losses if loss.cause == cause]
            missing = sum(loss.records or 0 for loss in mine)
            times = "once" if len(mine) == 1 else f"{len(mine):,} times"
            say(f"cupti-etl: {missing:,} samples missing ({cause}, {times}): {mine[0].detail}")
    if sampling.failure is not None:
        say(f"cupti-etl: sampling failed: {sampling.failure[0]}")
