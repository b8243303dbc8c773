-- The things of the timeline by length and time, so that a window is found without the rest.
--
-- computed: _timeline_thing with the number of its lane and times since the trace's beginning. What
--   calls and streams have at the same time is drawn in up to four rows, each thing in the first
--   one that what began before leaves to it, or in the last.
-- needs: _timeline_thing, _timeline_lane
-- materialized: Made once for an opened trace, sorted so that a window reads few of the rows.
-- scope: whole
-- columns:
--   level INTEGER: Of lengths: 0 below 16,384 ns, then four times as many ns each.
--   lane INTEGER: The lane.
--   depth INTEGER: The row of the lane, from 0.
--   start_ns BIGINT [ns]: When it began, since the trace's beginning.
--   end_ns BIGINT [ns]: When it ended; the end of the trace if it did not.
--   label VARCHAR: Its name; NULL for samples.
--   category VARCHAR: What has one colour.
--   value DOUBLE: Value of a sample; NULL for others.
WITH things AS (
    SELECT lane, depth, label, category, value, things.start_ns - begin_ns AS start_ns,
           greatest(coalesce(things.end_ns - begin_ns, lanes.end_ns), things.start_ns - begin_ns)
               AS end_ns
    FROM _timeline_thing AS things
    JOIN _timeline_lane AS lanes
        USING (content, gpu, process_id, device_id, context_id, number, metric)
),
first AS (
    SELECT *, coalesce(start_ns < max(end_ns) OVER before, false) AS is_over
    FROM things
    WHERE depth IS NULL
    WINDOW before AS (
        PARTITION BY lane ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
second AS (
    SELECT * REPLACE (coalesce(start_ns < max(end_ns) OVER before, false) AS is_over)
    FROM first
    WHERE is_over
    WINDOW before AS (
        PARTITION BY lane ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
third AS (
    SELECT * REPLACE (coalesce(start_ns < max(end_ns) OVER before, false) AS is_over)
    FROM second
    WHERE is_over
    WINDOW before AS (
        PARTITION BY lane ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
placed AS (
    SELECT lane, depth, start_ns, end_ns, label, category, value FROM things WHERE depth IS NOT NULL
    UNION ALL
    SELECT lane, 0, start_ns, end_ns, label, category, value FROM first WHERE NOT is_over
    UNION ALL
    SELECT lane, 1, start_ns, end_ns, label, category, value FROM second WHERE NOT is_over
    UNION ALL
    SELECT lane, CASE WHEN is_over THEN 3 ELSE 2 END, start_ns, end_ns, label, category, value
    FROM third
)
SELECT greatest(0, TRY_CAST(floor(log2(greatest(end_ns - start_ns, 1)) / 2) AS INTEGER) - 6)
           AS level,
       lane, depth, start_ns, end_ns, label, category, value
FROM placed
ORDER BY level DESC, start_ns
