-- From when to when each GPU was seen, where not all of its work was recorded.
--
-- computed: Of GPUs with a time in which work was not recorded (_not_recorded): such a time between
--   two finished activities parts what was seen, from the start of the first to the last end.
-- scope: start_ns to end_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
WITH after AS (
    -- Each activity, with the time without records that last began before it.
    SELECT activity.gpu, activity.start_ns, activity.end_ns, off.start_ns AS off_ns,
           off.end_ns AS on_ns
    FROM (FROM gpu_interval SEMI JOIN _not_recorded USING (gpu)) AS activity
    ASOF LEFT JOIN _not_recorded AS off
        ON off.gpu = activity.gpu
        AND off.start_ns < activity.start_ns
),
-- Only what began within such a time can be parted again before the next one.
ordered AS (
    SELECT gpu, on_ns, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
           max(max(end_ns)) OVER (
               PARTITION BY gpu ORDER BY min(start_ns)
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS until_ns
    FROM after
    GROUP BY gpu, off_ns, on_ns, CASE WHEN start_ns < on_ns THEN start_ns END
),
pieces AS (
    SELECT gpu, start_ns, end_ns,
           count(*) FILTER (WHERE until_ns IS NULL OR until_ns < least(start_ns, on_ns))
               OVER (PARTITION BY gpu ORDER BY start_ns) AS piece
    FROM ordered
)
SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM pieces
GROUP BY gpu, piece
