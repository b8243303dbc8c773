-- What modules and operators asked of the GPUs, in few rows: what two runs are compared by.
--
-- computed: Finished activities by the module, and again by the operator, that asked for them
--   (_module_launch, _operator_launch): the sum of their durations for each of its calls, counted
--   by that, and by which of 32 parts with equally many of them, in the order of time, they are
--   in. What none asked for is counted one by one, so that those of a subject are together the GPU
--   time of the run.
-- requires:
--   marker: no modules and no operators were recorded.
-- lookup: _module, _module_launch, _operator, _operator_launch
-- parameters:
--   subjects VARCHAR[] = ['module', 'operator']: Those that are wanted.
-- columns:
--   subject VARCHAR: module or operator; nothing of one of which none were recorded.
--   name VARCHAR: Path of the module, as in module_summary, or name of the operator, as in
--     operator_summary; "outside modules" or "outside operators" for what none asked for.
--   part BIGINT: Part of the run, from 0 to 31.
--   duration_ns BIGINT [ns]: GPU time.
--   count BIGINT [executions]: How many took so long.
WITH names AS (
    SELECT 'module' AS subject, range_id, path AS name
    FROM _module
    WHERE list_contains(subjects, 'module')
    UNION ALL
    SELECT 'operator', range_id, name FROM _operator WHERE list_contains(subjects, 'operator')
),
launches AS (
    SELECT 'module' AS subject, process_id, correlation_id, from_ns, range_id FROM _module_launch
    UNION ALL
    SELECT 'operator', process_id, correlation_id, from_ns, range_id FROM _operator_launch
),
work AS MATERIALIZED (
    SELECT act.subject, launch.range_id, act.start_ns, act.end_ns - act.start_ns AS ns
    FROM (FROM gpu_interval, (SELECT DISTINCT subject FROM names)) AS act
    ASOF LEFT JOIN launches AS launch
        ON launch.subject = act.subject
        AND launch.process_id = act.process_id
        AND launch.correlation_id = act.correlation_id
        AND launch.from_ns <= act.start_ns
),
counted AS (
    SELECT subject, name, min(start_ns) AS start_ns, sum(ns) AS duration_ns
    FROM work
    JOIN names USING (subject, range_id)
    GROUP BY subject, range_id, name
    UNION ALL
    SELECT subject, concat('outside ', subject, 's'), start_ns, ns
    FROM work
    WHERE range_id IS NULL
),
parts AS (
    SELECT subject, name, duration_ns,
           (row_number() OVER line - 1) * 32 // count(*) OVER (PARTITION BY subject, name) AS part
    FROM counted
    WINDOW line AS (PARTITION BY subject, name ORDER BY start_ns, duration_ns)
)
SELECT subject, name, part, TRY_CAST(duration_ns AS BIGINT) AS duration_ns, count(*) AS count
FROM parts
GROUP BY subject, name, part, duration_ns
