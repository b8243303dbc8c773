"""Two runs compared: which kernels and steps became slower or faster, and is that more than chance.

Both runs are reduced to ``_run_sample`` in DuckDB; what is left here is a row for each kernel
name and launch shape.  The Mann-Whitney test is that with ties and the normal approximation
(Mann and Whitney 1947); its p-values are corrected for their number after Benjamini and Hochberg
(1995); intervals are percentiles of a bootstrap over parts of the run (Kuensch 1989), because
neighbouring executions are not independent.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupti_etl.analysis.matching import match
from cupti_etl.analysis.step_parts import explain, step_parts
from cupti_etl.errors import UsageError
from cupti_etl.queries.header import Label
from cupti_etl.render.columns import Shape, shape

if TYPE_CHECKING:
    import pyarrow as pa

    from cupti_etl.api import Trace

VERDICTS = ("regress", "improve", "none", "cannot tell")
_FEWEST = 5
_ALPHA = 0.05
_DRAWS = 500
# Intervals are drawn for what changed most; others need none, as they are not judged.
_JUDGED = 200
_SEED = 20260101

_COLUMNS = (
    "subject",
    "verdict",
    "name",
    "ratio",
    "low",
    "high",
    "base_calls",
    "other_calls",
    "base_mean_ns",
    "other_mean_ns",
    "change_ns",
    "duration_effect_ns",
    "count_effect_ns",
    "mix_effect_ns",
    "q",
    "grid",
    "block",
    "base_ns",
    "other_ns",
    "demangled",
)

# What people want first, and what tells two kernels apart.
_FIRST = (
    "subject", "verdict", "ratio", "base_mean_ns", "other_mean_ns", "change_ns", "base_calls",
    "other_calls", "low", "high",
)  # fmt: skip
SHAPE = Shape(
    shape(_COLUMNS, None).columns,
    Label("name", "kernel", ("demangled", "grid", "block")),
    _FIRST,
    is_known=True,
)

# One row a kernel name and launch shape: sums of both sides and Mann and Whitney's z.
_COMPARED = """
WITH both_sides AS (
    SELECT 0 AS side, * FROM base_run
    UNION ALL
    SELECT 1, * FROM other_run
),
keyed AS (
    SELECT subject, name, any_value(short) AS short, coalesce(grid, '') AS grid,
           coalesce(block, '') AS block, side, part, duration_ns, sum(count) AS n
    FROM both_sides
    GROUP BY ALL
),
totals AS (
    SELECT subject, name, any_value(short) AS short, grid, block,
           TRY_CAST(coalesce(sum(n) FILTER (WHERE side = 0), 0) AS BIGINT) AS base_calls,
           TRY_CAST(coalesce(sum(n) FILTER (WHERE side = 1), 0) AS BIGINT) AS other_calls,
           TRY_CAST(coalesce(sum(n * duration_ns) FILTER (WHERE side = 0), 0) AS BIGINT) AS base_ns,
           TRY_CAST(coalesce(sum(n * duration_ns) FILTER (WHERE side = 1), 0) AS BIGINT) AS other_ns
    FROM keyed
    GROUP BY subject, name, grid, block
),
tied AS (
    SELECT subject, name, grid, block, duration_ns,
           coalesce(sum(n) FILTER (WHERE side = 0), 0)::DOUBLE AS a,
           coalesce(sum(n) FILTER (WHERE side = 1), 0)::DOUBLE AS b
    FROM keyed
    GROUP BY subject, name, grid, block, duration_ns
),
ranked AS (
    SELECT *, sum(a) OVER (
               PARTITION BY subject, name, grid, block ORDER BY duration_ns ROWS UNBOUNDED PRECEDING
           ) - a AS below
    FROM tied
),
tests AS (
    SELECT subject, name, grid, block, sum(a) AS na, sum(b) AS nb,
           -- How often an execution of the other run took longer than one of the base.
           sum(b * (below + a / 2)) AS u,
           sum(pow(a + b, 3) - (a + b)) AS ties, bool_and(a = b) AS is_same
    FROM ranked
    GROUP BY subject, name, grid, block
),
names AS (
    SELECT subject, name, sum(base_calls) AS base_all, sum(other_calls) AS other_all
    FROM totals
    GROUP BY subject, name
),
means AS (
    SELECT totals.*, base_all, other_all, base_ns / nullif(base_calls, 0) AS base_mean_ns,
           other_ns / nullif(other_calls, 0) AS other_mean_ns,
           -- A shape that is new has no earlier duration to differ from.
           coalesce(base_ns / nullif(base_calls, 0), other_ns / nullif(other_calls, 0))
               AS reference_ns
    FROM totals
    JOIN names
        ON names.subject = totals.subject
        AND names.name IS NOT DISTINCT FROM totals.name
)
SELECT means.subject, coalesce(means.short, means.name) AS name, means.grid, means.block,
       base_calls, other_calls, base_ns, other_ns, other_ns - base_ns AS change_ns,
       CASE WHEN base_all = 0 THEN other_ns
            ELSE base_calls * reference_ns * (other_all / base_all - 1) END AS count_effect_ns,
       CASE WHEN base_calls = 0 OR other_calls = 0 THEN 0
            ELSE other_calls * (other_mean_ns - base_mean_ns) END AS duration_effect_ns,
       CASE WHEN base_all = 0 THEN 0
            ELSE (other_calls - base_calls * other_all / base_all) * reference_ns END
           AS mix_effect_ns,
       base_mean_ns, other_mean_ns, other_mean_ns / nullif(base_mean_ns, 0) AS ratio,
       (u - na * nb / 2)
           / nullif(sqrt(na * nb / 12
                         * (na + nb + 1 - ties / nullif((na + nb) * (na + nb - 1), 0))), 0) AS z,
       is_same, means.name AS demangled
FROM means
JOIN tests
    ON tests.subject = means.subject
    AND tests.name IS NOT DISTINCT FROM means.name
    AND tests.grid = means.grid
    AND tests.block = means.block
ORDER BY means.subject DESC, abs(other_ns - base_ns) DESC, demangled, means.grid, means.block
"""
# Steps have the name of their GPU, which is another in each run.
_SIDE = """
CREATE TABLE {side}_run AS
SELECT sample.* REPLACE (coalesce(gpus.name, sample.name) AS name)
FROM {side}_sample AS sample
LEFT JOIN (SELECT unnest($numbers::BIGINT[]) AS number, unnest($names::VARCHAR[]) AS name) AS gpus
    ON sample.subject = 'step' AND sample.name = concat('gpu ', gpus.number)
"""
_PARTS = """
SELECT subject, name AS demangled, coalesce(grid, '') AS grid, coalesce(block, '') AS block,
       list([total::DOUBLE, n::DOUBLE] ORDER BY part) AS parts
FROM (
    SELECT subject, name, grid, block, part, sum(count * duration_ns) AS total, sum(count) AS n
    FROM {side}_run
    GROUP BY ALL
)
GROUP BY ALL
"""


@dataclass(frozen=True)
class Diff:
    """What changed from one run to another.

    Attributes:
        table: a row for each step loop, for each part of its steps (they add to the change of the
            steps after the warm-up), and for each kernel name and launch shape; times in ns. Its
            verdict is one of ``VERDICTS``, or added or removed for what is in one run only.
            ``change_ns`` is ``count_effect_ns`` (calls of the name), ``mix_effect_ns`` (its
            shapes) and ``duration_effect_ns`` together; ``ratio`` is of the means, with ``low``
            and ``high`` its 95 % interval; ``q`` is the corrected p-value.
        verdict: one of ``VERDICTS`` for the whole run.
        why: the verdict in a sentence.
    """

    table: pa.Table
    verdict: str
    why: str


def diff(base: Trace, other: Trace, min_effect: float = 0.03) -> Diff:
    """Compare two runs.

    Args:
        base: the run to compare with.
        other: the run that is judged.
        min_effect: the smallest change of a mean that matters, as a share: 0.03 is 3 %.

    Raises:
        UsageError: ``min_effect`` is not between 0 and 1.
        TraceError: a trace cannot be read.
    """
    if not 0 < min_effect < 1:
        raise UsageError(f"a smallest effect of {min_effect} is none", "give a share such as 0.03")
    import duckdb
    import pyarrow as pa

    gpus = match(base, other)
    with duckdb.connect() as con:
        sides = zip(("base", "other"), (base, other), gpus, strict=True)
        for side, trace, names in sides:
            con.register(f"{side}_sample", trace.query("_run_sample").arrow())
            given = {"numbers": list(names), "names": list(names.values())}
            con.execute(_SIDE.format(side=side), given)
        rows = con.sql(_COMPARED).to_arrow_table().to_pylist()
        drawn = [_parts(con, side) for side in ("base", "other")]
    # Kernels whose names are not known may be any.
    tested = [
        row
        for row in rows
        if row["demangled"] is not None and min(row["base_calls"], row["other_calls"]) >= _FEWEST
    ]
    for row in rows:
        same = row["ratio"] if row["is_same"] else None
        row.update(low=same, high=same, q=None, verdict=_without_a_test(row))
    # All executions of both runs took the same time: z is undefined, and nothing changed.
    p = [math.erfc(abs(row["z"] or 0.0) / math.sqrt(2)) for row in tested]
    for row, q in zip(tested, _benjamini_hochberg(p), strict=True):
        row["q"] = q
    draw = random.Random(_SEED)
    changed = [row for row in tested if not row["is_same"]]
    for row in sorted(changed, key=lambda row: -abs(row["change_ns"]))[:_JUDGED]:
        key = (row["subject"], row["demangled"], row["grid"], row["block"])
        row["low"], row["high"] = _interval(drawn[0][key], drawn[1][key], draw)
        row["verdict"] = _verdict(row, min_effect)
    parts = step_parts(base, other, gpus)
    verdict, why = _overall(rows, parts, min_effect)
    rows[_steps(rows) : _steps(rows)] = parts
    columns = {name: [row.get(name) for row in rows] for name in _COLUMNS} if rows else {}
    return Diff(pa.table(columns), verdict, why)


def _parts(con: Any, side: str) -> dict[tuple[str, ...], list[list[float]]]:
    rows = con.execute(_PARTS.format(side=side)).fetchall()
    return {tuple(row[:4]): row[4] for row in rows}


def _without_a_test(row: dict[str, Any]) -> str:
    """The verdict on what is not tested, or for as long as it was not."""
    if row["is_same"]:
        return "none"
    if not row["base_calls"] or not row["other_calls"]:
        return "removed" if row["base_calls"] else "added"
    return "cannot tell"


def _benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """The corrected p-values, in the order of the given ones."""
    order = sorted(range(len(p)), key=lambda at: p[at], reverse=True)
    q, least = [0.0] * len(p), 1.0
    for place, at in enumerate(order):
        least = min(least, p[at] * len(p) / (len(p) - place))
        q[at] = least
    return q


def _interval(
    base: list[list[float]], other: list[list[float]], draw: random.Random
) -> tuple[float | None, float | None]:
    """The 95 % interval of the ratio of the means; (None, None) for what took no time."""
    ratios = []
    for _ in range(_DRAWS):
        before, after = _mean(base, draw), _mean(other, draw)
        if before <= 0:
            return None, None
        ratios.append(after / before)
    ratios.sort()
    return ratios[int(0.025 * _DRAWS)], ratios[int(0.975 * _DRAWS)]


def _mean(parts: list[list[float]], draw: random.Random) -> float:
    drawn = draw.choices(parts, k=len(parts))
    return sum(part[0] for part in drawn) / sum(part[1] for part in drawn)


def _verdict(row: dict[str, Any], min_effect: float) -> str:
    low, high, ratio = row["low"], row["high"], row["ratio"]
    if low is None or ratio is None:
        return "cannot tell"
    if row["q"] < _ALPHA and low > 1 and ratio >= 1 + min_effect:
        return "regress"
    if row["q"] < _ALPHA and high < 1 and ratio <= 1 - min_effect:
        return "improve"
    return "none" if low >= 1 - min_effect and high <= 1 + min_effect else "cannot tell"


def _steps(rows: list[dict[str, Any]]) -> int:
    """How many rows of steps there are, which come first."""
    return sum(row["subject"] == "step" for row in rows)


def _overall(
    rows: list[dict[str, Any]], parts: list[dict[str, Any]], min_effect: float
) -> tuple[str, str]:
    """By the steps where both runs have some; else by what kernels whose verdict is known cost."""
    if not rows or not any(row["base_calls"] for row in rows):
        return "cannot tell", "the base run has no finished kernels"
    if not any(row["other_calls"] for row in rows):
        return "cannot tell", "the other run has no finished kernels"
    if all(row["is_same"] for row in rows):
        return "none", "all kernels and steps took the same times in both runs"
    steps = [row for row in rows if row["subject"] == "step" and row["q"] is not None]
    for wanted in VERDICTS[:2]:
        for row in steps:
            if row["verdict"] == wanted:
                return wanted, _told(row, parts)
    if steps:
        verdicts = {row["verdict"] for row in steps}
        verdict = "none" if verdicts == {"none"} else "cannot tell"
        return verdict, _told(steps[0], parts)
    kernels = [row for row in rows if row["subject"] == "kernel"]
    whole = sum(row["base_ns"] for row in kernels) or 1
    known = [row for row in kernels if row["verdict"] in ("regress", "improve")]
    share = sum(row["duration_effect_ns"] for row in known) / whole
    told = f"kernels with a clear change cost {100 * share:+.1f} % of kernel time"
    told = f"{_why_no_steps(rows)}; {told}"
    alone = sum(row["base_ns"] for row in kernels if not row["other_calls"]) / whole
    if alone > 0.5:
        told += f", and {100 * alone:.0f} % of it is of kernels that the other run does not have"
    if abs(share) >= min_effect:
        return ("regress" if share > 0 else "improve"), told
    untold = [row for row in kernels if row["verdict"] in ("cannot tell", "removed")]
    unsure = sum(row["base_ns"] for row in untold) / whole
    return ("none" if unsure <= 0.5 else "cannot tell"), told


def _told(step: dict[str, Any], parts: list[dict[str, Any]]) -> str:
    why = explain(parts, step["name"])
    return f"steps on {step['name']}: {_change(step)}" + (f": {why}" if why else "")


def _why_no_steps(rows: list[dict[str, Any]]) -> str:
    """Why the steps do not say what changed."""
    steps = [row for row in rows if row["subject"] == "step"]
    if any(row["base_calls"] and row["other_calls"] for row in steps):
        return f"fewer than {_FEWEST} steps in a run"
    ours, theirs = (any(row[calls] for row in steps) for calls in ("base_calls", "other_calls"))
    if ours and theirs:
        return "steps were found in another way in each run, so they are not compared"
    if ours or theirs:
        return f"steps were found in the {'base' if ours else 'other'} run only"
    return "no steps were found"


def _change(row: dict[str, Any]) -> str:
    text = f"{100 * (row['ratio'] - 1):+.1f} %" if row["ratio"] else "?"
    if row["low"] is None:
        return text
    return f"{text} ({100 * (row['low'] - 1):+.1f} to {100 * (row['high'] - 1):+.1f} %)"
