-- What modules asked of the GPUs, in few rows: what two runs are compared by.
--
-- computed: Finished activities by the module that asked for them (_module_launch): the sum of
--   their durations for each of its runs, counted by that, and by which of 32 parts with equally
--   many of them, in the order of time, they are in. What no module asked for is counted one by
--   one, so that all together are the GPU time of the run.
-- needs: gpu_interval, _module_launch, _module
-- requires:
--   _module: no modules were recorded.
-- opened: Plain DuckDB takes long to plan it, as it repeats the text of all views below.
-- lookup: _module_launch, _module
-- columns:
--   subject VARCHAR: module.
--   name VARCHAR: Path of the module, as in module_summary; "outside modules" for what none asked
--     for.
--   part BIGINT: Part of the run, from 0 to 31.
--   duration_ns BIGINT [ns]: GPU time.
--   count BIGINT [executions]: How many took so long.
WITH work AS MATERIALIZED (
    SELECT launch.range_id, act.start_ns, act.end_ns - act.start_ns AS ns
    FROM gpu_interval AS act
    ASOF LEFT JOIN _module_launch AS launch
        ON launch.process_id = act.process_id
        AND launch.correlation_id = act.correlation_id
        AND launch.from_ns <= act.start_ns
),
counted AS (
    SELECT names.path AS name, min(work.start_ns) AS start_ns,
           sum(ns) AS duration_ns
    FROM work
    JOIN _module AS names ON names.range_id = work.range_id
    GROUP BY names.range_id, names.path
    UNION ALL
    SELECT 'outside modules', start_ns, ns
    FROM work
    WHERE range_id IS NULL
),
parts AS (
    SELECT name, duration_ns,
           (row_number() OVER (PARTITION BY name ORDER BY start_ns, duration_ns) - 1) * 32
               // count(*) OVER (PARTITION BY name) AS part
    FROM counted
)
SELECT 'module' AS subject, name, part, TRY_CAST(duration_ns AS BIGINT) AS duration_ns,
       count(*) AS count
FROM parts
GROUP BY name, part, duration_ns
