"""The page that has what findings said beside what mending brought, as it was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cupti_etl.queries.catalog import library
from cupti_etl.render.values import duration

_MEASURED = Path(__file__).parents[2] / "docs" / "measurements" / "h100-findings.json"
_INTRODUCTION = """\
# What findings are worth

Made from `docs/measurements/h100-findings.json` by `make generate`; do not edit.

What [the report](../howto/report-and-compare.md) finds was compared with what mending it brought,
for {cases} programs with one fault each ({machine}; [all of
it](../measurements/h100-findings.json)). Times are of a step: without a capture, with the fault and
without it; and of the finding, in a capture of the program with it.
"""
_TABLE = """\
| finding | in each step, the program (mended by) | takes | mended | saved | said |
| --- | --- | ---: | ---: | ---: | ---: |
"""
_LIMITS = """\
Where a finding says more or less than was saved:

* What sizes that are no multiples of 8 cost is estimated by what the three loops of 4095 and 4094
  values saved, so they say nothing of how good it is; the head of 50257 words does. What rows that
  are sorted, attention in floats, depthwise convolutions and rows that are gathered and added cost
  is estimated by loops of other sizes.
* Without padding, the convolutions of 63 channels wait for the host. With caches of full length,
  the loop waits for launches.
* Of the six shapes for which a function was compiled in the capture, three were in Inductor's cache
  from the run before.
* What torch.compile saves is also launches: of the 12.2 ms, 7.93 are of the GPU's work. A graph
  also saves what the host does between launches, and without managed memory the host has no page
  faults either: both are in another finding, of the host outside CUDA.
* Programs that launch small kernels or copies one after another take longer in a capture, by what
  CUPTI needs for each, and so does what they wait: of the experts, the recurrence, the gradients
  that are clipped and the floats that are read one by one.
* What looks for NaN takes kernels of its own, too; and of distances, cdist makes a product of
  matrices, which fusing does not.
* A kernel that does all of attention needs less time for its products, too.
* Communication that goes on beside products slows them: where GPUs are busy all the time, as the
  two that sum gradients after the backward pass are, hiding it saves little.
"""


def findings_markdown() -> str:
    """The page."""
    measured = json.loads(_MEASURED.read_text())
    cases = sorted(measured["cases"], key=lambda case: str(case["told"][0]))
    introduction = _INTRODUCTION.format(cases=len(cases), machine=measured["machine"])
    return f"{introduction}\n{_TABLE}{''.join(map(_row, cases))}\n{_LIMITS}"


def _row(case: dict[str, Any]) -> str:
    found = "; ".join(_found(case))
    said = " and ".join(_ms(_said(case, source)) for source in case["told"])
    times = " | ".join(_ms(case[key]) for key in ("bad_ms", "good_ms", "saved_ms"))
    return f"| {found} | {case['each_step']} | {times} | {said} |\n"


def _found(case: dict[str, Any]) -> Iterator[str]:
    for source in case["told"]:
        saving = library()[source].saving
        assert saving is not None
        yield f"[{saving.what}](queries.md#{source})"


def _said(case: dict[str, Any], source: str) -> float:
    """What a finding said, in ms; of several GPUs with the same one the most, which comes first."""
    said = (each["ms_per_step"] for each in case["findings"] if each["source"] == source)
    return float(next(said))


def _ms(value: float) -> str:
    return duration(value * 1e6)
