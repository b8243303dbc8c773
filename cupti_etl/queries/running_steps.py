"""Steps of a trace that grows: found once in some of its parts, then followed.

The query ``step`` looks for them in all that is asked of it.  Here it is asked of a few parts; what
it says a step begins with, a kernel or a range, is all that is looked for from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cupti_etl.queries.running_sums import Run

# Begins of steps of each process and GPU.
_BEGUN = """
    SELECT process_id, gpu, start_ns AS at_ns
    FROM gpu_interval
    SEMI JOIN (SELECT process_id, gpu, begins_with AS name
               FROM _loop WHERE source = 'kernels') AS loop
        USING (process_id, gpu, name)
    WHERE kind = 'kernel'
    UNION ALL
    SELECT loop.process_id, loop.gpu, timestamp_ns
    FROM marker
    JOIN _loop AS loop
        ON loop.source = 'nvtx' AND loop.process_id = marker.process_id
        AND loop.begins_with = regexp_replace(marker.name, '[0-9]+', '', 'g')
    WHERE event = 'start'
"""


class RunningSteps:
    """How long steps take.

    Args:
        run: asks parts of the trace; the begins of steps are a table in the same database.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.are_known = False
        run(
            "CREATE OR REPLACE TABLE _loop"
            " (process_id BIGINT, gpu BIGINT, source VARCHAR, name VARCHAR, begins_with VARCHAR)"
        )
        run("CREATE OR REPLACE TABLE _step_begin (process_id BIGINT, gpu BIGINT, at_ns BIGINT)")

    def find(self) -> None:
        """Look for steps in the parts that are asked; those of the same parts are added.

        Raises:
            TraceError: a part is damaged, or has vanished.
        """
        self._run(
            """
            CREATE OR REPLACE TABLE _loop AS
            SELECT process_id, gpu, source, any_value(name) AS name,
                   any_value(name) AS begins_with
            FROM (SELECT * REPLACE (regexp_replace(name, '[0-9]+', '', 'g') AS name) FROM step)
            WHERE source = 'nvtx'
            GROUP BY process_id, gpu, source
            UNION ALL
            -- Kernels are told apart by their mangled names, which the step does not have.
            SELECT process_id, gpu, source, any_value(step.name), mode(act.name)
            FROM step
            JOIN gpu_interval AS act USING (process_id, gpu, start_ns)
            WHERE source = 'kernels' AND act.kind = 'kernel'
            GROUP BY process_id, gpu, source
            """
        )
        self.are_known = bool(self._run("FROM _loop LIMIT 1"))
        if self.are_known:
            self.add()

    def add(self) -> None:
        """Add the steps that begin in the parts that are asked, each once."""
        if self.are_known:
            self._run(f"INSERT INTO _step_begin FROM ({_BEGUN}) EXCEPT FROM _step_begin")

    def rows(self, at_ns: int | None) -> Sequence[dict[str, Any]]:
        """Of each process and GPU how long the last step took, and the median.

        Args:
            at_ns: until when the trace is known, for how long the current step takes; None where
                there is none.
        """
        if not self.are_known:
            return ()
        now = "NULL" if at_ns is None else f"greatest({at_ns} - max(at_ns), 0)"
        return self._run(
            f"""
            SELECT process_id, gpu, any_value(source) AS source, any_value(name) AS name,
                   count(took_ns) AS steps,
                   arg_max(took_ns, at_ns) FILTER (WHERE took_ns IS NOT NULL) AS last_ns,
                   median(took_ns) AS median_ns, {now} AS current_ns
            FROM (
                SELECT process_id, gpu, at_ns, lead(at_ns) OVER (
                           PARTITION BY process_id, gpu ORDER BY at_ns
                       ) - at_ns AS took_ns
                FROM _step_begin
            )
            JOIN _loop USING (process_id, gpu)
            GROUP BY process_id, gpu
            HAVING count(took_ns) > 0
            ORDER BY process_id, gpu
            """
        )
