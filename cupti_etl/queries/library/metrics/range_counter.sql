-- Exact hardware counters of ranges of the program, each measured as a whole.
--
-- computed: Rows of launch_metric with a range_name, by range and metric. A range is executed once,
--   so metrics that do not fit one pass are counted by turns, or in several runs of the command:
--   each has a value of some times that the range was open.
-- requires:
--   launch_metric: no ranges were measured (capture with --range-metrics and --range-by range).
-- limits: Launches of the range's context count, and of no other; a CUDA graph is one. Threads that
--   launch in one range do so in any order: then same_launches may be false of the same work.
-- first: range, metric, mean, unit, ranges, launches, same_launches
-- example: cupti-etl query range_counter TRACE
-- columns:
--   range VARCHAR: Name of the range.
--   metric VARCHAR: The metric, as CUPTI names it.
--   mean DOUBLE: Its value, on average; its unit is in the column unit.
--   unit VARCHAR: Its unit; NULL of a ratio.
--   ranges BIGINT [ranges]: How often the range was measured with this metric.
--   least DOUBLE: Its smallest value.
--   most DOUBLE: Its largest value.
--   launches DOUBLE [launches]: Launches in such a range, on average.
--   same_launches BOOLEAN: Whether all ranges of this name launched the same kernels with the same
--     shapes in the same order, so that metrics counted in different ones are of the same work;
--     NULL if that is not known.
--   missing VARCHAR: Why there is no value; NULL if there is one.
WITH ranges AS (
    SELECT DISTINCT process_id, range_id, range_name, launch_hash
    FROM launch_metric
    WHERE range_name IS NOT NULL
),
compared AS (
    SELECT range_name,
           CASE WHEN count(launch_hash) = count(*)
                THEN min(launch_hash) = max(launch_hash) END AS is_same
    FROM ranges
    GROUP BY range_name
)
SELECT range_name AS range, metric, avg(value) AS mean, any_value(unit) AS unit,
       count(*) AS ranges, min(value) AS least, max(value) AS most, avg(launches) AS launches,
       any_value(is_same) AS same_launches, any_value(missing) AS missing
FROM launch_metric
JOIN compared USING (range_name)
GROUP BY range_name, metric
ORDER BY range_name, metric
