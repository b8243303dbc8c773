-- Exact hardware counters of ranges of the program, each measured as a whole.
--
-- computed: Rows of launch_metric with a range_name, by range and metric. A range is executed once, so
--   metrics that do not fit one pass are counted by turns: each has a value of some times that the
--   range was open. Kernels are those whose launch began while it was.
-- needs: launch_metric, kernel, api_call
-- requires:
--   launch_metric: no ranges were measured (capture with --range-metrics and --range-by range).
-- limits: What other threads and contexts did is in the kernels, and not in the counters. Without
--   records of calls (--kinds), kernels are counted by their own start.
-- first: range, metric, mean, unit, ranges, kernels, same_kernels
-- example: cupti-etl query range_counter TRACE
-- columns:
--   range VARCHAR: Name of the range.
--   metric VARCHAR: The metric, as CUPTI names it.
--   mean DOUBLE: Its value, on average; its unit is in the column unit.
--   unit VARCHAR: Its unit; NULL of a ratio.
--   ranges BIGINT [ranges]: How often the range was measured with this metric.
--   least DOUBLE: Its smallest value.
--   most DOUBLE: Its largest value.
--   kernels DOUBLE [kernels]: Kernels in such a range, on average.
--   same_kernels BOOLEAN: Whether all ranges of this name had the same kernels in the same order, so
--     that metrics counted by turns are of the same work; NULL without records of kernels.
--   missing VARCHAR: Why there is no value; NULL if there is one.
WITH ranges AS (
    SELECT DISTINCT process_id, range_id, range_name, start_ns, end_ns
    FROM launch_metric
    WHERE range_name IS NOT NULL
),
launched AS (
    SELECT kernel.process_id, name, grid_x, grid_y, grid_z,
           coalesce(calls.start_ns, kernel.start_ns) AS at_ns
    FROM kernel
    LEFT JOIN (
        SELECT process_id, correlation_id, min(start_ns) AS start_ns
        FROM api_call
        GROUP BY process_id, correlation_id
    ) AS calls USING (process_id, correlation_id)
),
inside AS (
    SELECT ranges.process_id, range_id, any_value(range_name) AS range_name,
           count(at_ns) AS kernels,
           md5(string_agg(name || ' ' || grid_x || ' ' || grid_y || ' ' || grid_z, ',' ORDER BY at_ns))
               AS sequence
    FROM ranges
    LEFT JOIN launched
        ON launched.process_id = ranges.process_id
        AND launched.at_ns BETWEEN ranges.start_ns AND ranges.end_ns
    GROUP BY ranges.process_id, range_id
),
compared AS (
    SELECT *, min(sequence) OVER names = max(sequence) OVER names
              AND count(sequence) OVER names = count(*) OVER names AS is_same
    FROM inside
    WINDOW names AS (PARTITION BY range_name)
)
SELECT range_name AS range, metric, avg(value) AS mean, any_value(unit) AS unit,
       count(*) AS ranges, min(value) AS least, max(value) AS most, avg(kernels) AS kernels,
       bool_and(is_same) AS same_kernels, any_value(missing) AS missing
FROM launch_metric
JOIN compared USING (process_id, range_id, range_name)
GROUP BY range_name, metric
ORDER BY range_name, metric
