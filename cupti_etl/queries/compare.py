"""Samples of several runs side by side: sums over the runs of each side, and ranks.

A sample is what ``_run_sample`` and its like give of one run: how long things took, counted by
duration and by part of the run.  Sides are those before and after a change; of several runs of a
side, a mean run is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cupti_etl.queries.runner import connect

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# What is compared: a subject, a name (None where it is not known), a grid, a block.
Key = tuple[str, str | None, str, str]

# Steps have the name of their GPU, which is another in each run.
_ADD = """
INSERT INTO sample
SELECT {side}, {run}, subject, coalesce(gpus.renamed, sample.name), {short}, {grid}, {block},
       part, duration_ns, count
FROM given AS sample
LEFT JOIN (
    SELECT concat('gpu ', unnest($numbers::BIGINT[])) AS name, unnest($names::VARCHAR[]) AS renamed
) AS gpus
    ON subject = 'step' AND sample.name = gpus.name
"""
_TABLE = """
CREATE TABLE sample (
    side INTEGER, run INTEGER, subject VARCHAR, name VARCHAR, short VARCHAR, grid VARCHAR,
    block VARCHAR, part BIGINT, duration_ns BIGINT, n BIGINT
)
"""
# A kernel that is launched as often, in one shape before and in another after, is one thing.
_RESHAPED = """
WITH shapes AS (
    SELECT name, side, min(grid) AS grid, min(block) AS block, sum(n) AS calls
    FROM sample
    WHERE subject = 'kernel'
    GROUP BY name, side
    HAVING count(DISTINCT (grid, block)) = 1
)
UPDATE sample
SET grid = concat_ws(' to ', old.grid, nullif(new.grid, old.grid)),
    block = concat_ws(' to ', old.block, nullif(new.block, old.block))
FROM shapes AS old
JOIN shapes AS new ON new.name = old.name AND new.side = 1
WHERE old.side = 0 AND subject = 'kernel' AND sample.name = old.name
    AND (old.grid, old.block) <> (new.grid, new.block)
    AND abs(new.calls * $before / (old.calls * $after) - 1) <= 0.1
"""
# A row for each name and launch shape: a mean run of each side, and effects that add to its change.
# The change is from what the run before would have had in as many steps (``pace``).
_TOTALS = """
WITH steps AS (
    SELECT name, coalesce(sum(n) FILTER (WHERE side = 0), 0) / $before::DOUBLE AS before_steps,
           coalesce(sum(n) FILTER (WHERE side = 1), 0) / $after::DOUBLE AS after_steps
    FROM sample
    WHERE subject = 'step'
    GROUP BY name
),
-- Kernels are of all GPUs: of those with steps on one side only, it is not known of how many.
whole AS (
    SELECT CASE WHEN $is_of_steps AND min(least(before_steps, after_steps)) > 0
                THEN sum(after_steps) / sum(before_steps) ELSE 1 END AS pace
    FROM steps
),
totals AS (
    SELECT subject, name, any_value(short) AS short, grid, block,
           coalesce(sum(n) FILTER (WHERE side = 0), 0) / $before::DOUBLE AS before_calls,
           coalesce(sum(n) FILTER (WHERE side = 1), 0) / $after::DOUBLE AS after_calls,
           coalesce(sum(n * duration_ns) FILTER (WHERE side = 0), 0) / $before::DOUBLE
               AS before_ns,
           coalesce(sum(n * duration_ns) FILTER (WHERE side = 1), 0) / $after::DOUBLE AS after_ns,
           min(duration_ns) FILTER (WHERE side = 0) AS before_least_ns,
           min(duration_ns) FILTER (WHERE side = 1) AS after_least_ns
    FROM sample
    GROUP BY subject, name, grid, block
),
names AS (
    SELECT subject, name, sum(before_calls) AS before_all, sum(after_calls) AS after_all
    FROM totals
    GROUP BY subject, name
),
means AS (
    SELECT totals.*, before_all, after_all,
           coalesce(nullif(after_steps, 0) / nullif(before_steps, 0),
                    CASE WHEN before_steps IS NULL THEN whole.pace ELSE 1 END) AS pace,
           before_ns / nullif(before_calls, 0) AS before_mean_ns,
           after_ns / nullif(after_calls, 0) AS after_mean_ns,
           -- A shape that is new has no earlier duration to differ from.
           coalesce(before_ns / nullif(before_calls, 0), after_ns / nullif(after_calls, 0))
               AS reference_ns
    FROM totals
    JOIN names
        ON names.subject = totals.subject
        AND names.name IS NOT DISTINCT FROM totals.name
    CROSS JOIN whole
    LEFT JOIN steps ON totals.subject = 'step' AND steps.name = totals.name
)
SELECT subject, name, short, grid, block, before_calls, after_calls, before_ns, after_ns,
       pace, after_ns - pace * before_ns AS change_ns,
       CASE WHEN before_all = 0 THEN after_ns
            ELSE before_calls * reference_ns * (after_all / before_all - pace) END
           AS count_effect_ns,
       CASE WHEN before_calls = 0 OR after_calls = 0 THEN 0
            ELSE after_calls * (after_mean_ns - before_mean_ns) END AS duration_effect_ns,
       CASE WHEN before_all = 0 THEN 0
            ELSE (after_calls - before_calls * after_all / before_all) * reference_ns END
           AS mix_effect_ns,
       before_mean_ns, after_mean_ns, after_mean_ns / nullif(before_mean_ns, 0) AS ratio,
       after_least_ns / nullif(before_least_ns, 0)::DOUBLE AS least_ratio
FROM means
ORDER BY subject, abs(after_ns - pace * before_ns) DESC, name, grid, block
"""
# Of one run a side: Mann and Whitney's z, and whether both have the same durations.
_RANKS = """
WITH tied AS (
    SELECT subject, name, grid, block, duration_ns,
           coalesce(sum(n) FILTER (WHERE side = 0), 0)::DOUBLE AS a,
           coalesce(sum(n) FILTER (WHERE side = 1), 0)::DOUBLE AS b
    FROM sample
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
           -- How often an execution after took longer than one before.
           sum(b * (below + a / 2)) AS u,
           sum(pow(a + b, 3) - (a + b)) AS ties, bool_and(a = b) AS is_same
    FROM ranked
    GROUP BY subject, name, grid, block
)
SELECT subject, name, grid, block,
       (u - na * nb / 2)
           / nullif(sqrt(na * nb / 12
                         * (na + nb + 1 - ties / nullif((na + nb) * (na + nb - 1), 0))), 0) AS z,
       is_same
FROM tests
"""
_PIECES = """
SELECT subject, name, grid, block, list([total::DOUBLE, n::DOUBLE] ORDER BY piece) AS pieces
FROM (
    SELECT subject, name, grid, block, {piece} AS piece, sum(n * duration_ns) AS total,
           sum(n) AS n
    FROM sample
    WHERE side = {side}
    GROUP BY ALL
)
GROUP BY subject, name, grid, block
"""


@dataclass(frozen=True)
class Run:
    """A run to be compared.

    Attributes:
        samples: what its queries give.
        gpus: names of its GPUs by their numbers; those that belong together have the same.
    """

    samples: Sequence[pa.Table]
    gpus: dict[int, str]


Pieces = dict[Key, list[tuple[float, float]]]


class Compared:
    """Runs before and after a change, in one DuckDB."""

    def __init__(self, con: duckdb.DuckDBPyConnection, before: int, after: int) -> None:
        self._con = con
        self._sides = {"before": before, "after": after}

    def totals(self, *, is_of_steps: bool) -> list[dict[str, Any]]:
        """A row for each thing that is compared, what changed most first.

        Args:
            is_of_steps: whether what ran is that of the steps, so that a run with more of them has
                more of all.
        """
        given = {**self._sides, "is_of_steps": is_of_steps}
        rows = self._con.sql(_TOTALS, params=given).to_arrow_table()
        return list(rows.to_pylist())

    def ranks(self) -> dict[Key, tuple[float | None, bool]]:
        """Of each: Mann and Whitney's z, and whether both sides have the same durations."""
        rows = self._con.execute(_RANKS).fetchall()
        return {row[:4]: (row[4], row[5]) for row in rows}

    def parts(self, side: int) -> Pieces:
        """Of each: time and number in the parts of the one run of a side."""
        return self._pieces(side, "part")

    def runs(self, side: int) -> Pieces:
        """Of each: time and number in the runs of a side that have it."""
        return self._pieces(side, "run")

    def _pieces(self, side: int, piece: str) -> Pieces:
        rows = self._con.execute(_PIECES.format(side=side, piece=piece)).fetchall()
        return {row[:4]: [(total, n) for total, n in row[4]] for row in rows}


@contextmanager
def compared(before: Sequence[Run], after: Sequence[Run]) -> Iterator[Compared]:
    """Put the samples of all runs beside each other."""
    with connect(()) as con:
        con.execute(_TABLE)
        for side, runs in enumerate((before, after)):
            for number, run in enumerate(runs):
                names = {"numbers": list(run.gpus), "names": list(run.gpus.values())}
                for given in run.samples:
                    con.register("given", given)
                    has = given.column_names
                    con.execute(
                        _ADD.format(
                            side=side,
                            run=number,
                            short="short" if "short" in has else "NULL",
                            grid="coalesce(grid, '')" if "grid" in has else "''",
                            block="coalesce(block, '')" if "block" in has else "''",
                        ),
                        names,
                    )
                    con.unregister("given")
        con.execute(_RESHAPED, {"before": len(before), "after": len(after)})
        yield Compared(con, len(before), len(after))
