-- The things of the timeline by length and time, so that a window is found without the rest.
--
-- computed: _timeline_thing with the number of its lane and times since the trace's beginning. What
--   calls and streams have at the same time is drawn in up to four rows, each thing in the first
--   one that what began before leaves to it, or in the last.
-- materialized: Made once for an opened trace, sorted so that a window reads few of the rows.
-- scope: whole
-- columns:
--   level INTEGER: Of lengths: 0 below 16,384 ns, then four times as many ns each.
--   lane INTEGER: The lane.
--   depth INTEGER: The row of the lane, from 0.
--   start_ns BIGINT [ns]: When it began, since the trace's beginning.
--   end_ns BIGINT [ns]: When it ended; the end of the trace if it did not.
--   label, category of _timeline_thing
--   value DOUBLE: Value of a sample; NULL for others.
WITH things AS (
    SELECT lane, depth, label, category, value, things.start_ns - begin_ns AS start_ns,
           greatest(coalesce(things.end_ns - begin_ns, lanes.end_ns), things.start_ns - begin_ns)
               AS end_ns
    FROM _timeline_thing AS things
    JOIN _timeline_lane AS lanes
        USING (content, gpu, process_id, device_id, context_id, number, metric)
),
-- Whether something of the same lane is still going on, in the row above; likewise twice more. In
-- one pass each and without a join, as there can be tens of millions.
second AS (
    SELECT *, depth IS NULL AND coalesce(start_ns < max(end_ns) OVER before, false) AS is_second
    FROM things
    WINDOW before AS (
        PARTITION BY lane ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
third AS (
    SELECT *, is_second AND coalesce(
               start_ns < max(end_ns) FILTER (WHERE is_second) OVER before, false) AS is_third
    FROM second
    WINDOW before AS (
        PARTITION BY lane ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),
last AS (
    SELECT *, is_third AND coalesce(
               start_ns < max(end_ns) FILTER (WHERE is_third) OVER before, false) AS is_last
    FROM third
    WINDOW before AS (
        PARTITION BY lane ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT greatest(0, TRY_CAST(floor(log2(greatest(end_ns - start_ns, 1)) / 2) AS INTEGER) - 6)
           AS level,
       lane, coalesce(depth, is_second::INTEGER + is_third::INTEGER + is_last::INTEGER) AS depth,
       start_ns, end_ns, label, category, value
FROM last
ORDER BY level DESC, start_ns
