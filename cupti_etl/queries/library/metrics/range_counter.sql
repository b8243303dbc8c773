-- Exact hardware counters of ranges of the program, each measured as a whole.
--
-- computed: Rows of launch_metric with a range_name, by range and metric. A range is executed once,
--   so metrics that do not fit one pass are counted by turns: each has a value of some times that
--   the range was open. Launches are the calls that began while it was and have Launch in their
--   name.
-- needs: launch_metric, api_call
-- requires:
--   launch_metric: no ranges were measured (capture with --range-metrics and --range-by range).
-- limits: Launches of other threads and contexts are counted, and what they did may not be.
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
--   same_launches BOOLEAN: Whether all ranges of this name had the same calls that launch in the
--     same order, as far as is known, so that metrics counted by turns are of the same work; NULL
--     without records of calls.
--   missing VARCHAR: Why there is no value; NULL if there is one.
WITH ranges AS (
    SELECT DISTINCT process_id, range_id, range_name, start_ns, end_ns
    FROM launch_metric
    WHERE range_name IS NOT NULL
),
launched AS (
    SELECT process_id, correlation_id, min(start_ns) AS at_ns, any_value(name) AS name
    FROM api_call
    WHERE name LIKE '%Launch%'
    GROUP BY process_id, correlation_id
),
inside AS (
    SELECT ranges.process_id, range_id, any_value(range_name) AS range_name,
           count(at_ns) AS launches, md5(string_agg(name, ',' ORDER BY at_ns)) AS sequence
    FROM ranges
    LEFT JOIN launched
        ON launched.process_id = ranges.process_id
        AND launched.at_ns BETWEEN ranges.start_ns AND ranges.end_ns
    GROUP BY ranges.process_id, range_id
),
compared AS (
    SELECT *, CASE WHEN count(sequence) OVER names > 0
                   THEN min(sequence) OVER names = max(sequence) OVER names
                        AND count(sequence) OVER names = count(*) OVER names END AS is_same
    FROM inside
    WINDOW names AS (PARTITION BY range_name)
)
SELECT range_name AS range, metric, avg(value) AS mean, any_value(unit) AS unit,
       count(*) AS ranges, min(value) AS least, max(value) AS most, avg(launches) AS launches,
       bool_and(is_same) AS same_launches, any_value(missing) AS missing
FROM launch_metric
JOIN compared USING (process_id, range_id, range_name)
GROUP BY range_name, metric
ORDER BY range_name, metric
