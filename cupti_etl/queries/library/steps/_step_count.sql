-- How many activities began in each step on its GPU, and how many calls asked for them.
--
-- computed: Finished activities of the step's process that began within it. A call counts where
--   its first activity began, so that it counts once.
-- needs: _step_stretch, gpu_activity, gpu, gpu_interval, api_call, _unpaired_correlation,
--   _shared_correlation, _shared_launch
-- materialized: Made once for an opened trace, as the step of each activity is looked for.
-- opened: Plain DuckDB takes minutes to plan it, as it repeats the text of all views below.
-- limits: Calls whose activities are not known count nowhere.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   step BIGINT: Number of the step, from 0.
--   launches BIGINT [calls]: API calls that asked for work.
--   kernels BIGINT [executions]: Finished kernels.
--   copies BIGINT [copies]: Finished copies and sets.
WITH processes AS MATERIALIZED (
    SELECT DISTINCT process_id FROM _step_stretch
),
-- Most calls asked for one thing, which is theirs alone; the others are looked at one by one.
calls AS (
    SELECT process_id, arg_min(device_id, (start_ns, device_id)) AS device_id,
           min(start_ns) AS start_ns
    FROM gpu_activity
    SEMI JOIN (FROM _unpaired_correlation WHERE calls = 1) USING (process_id, correlation_id)
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, correlation_id
    UNION ALL
    SELECT act.process_id, arg_min(device_id, (act.start_ns, device_id)), min(act.start_ns)
    FROM (
        SELECT *
        FROM gpu_activity
        SEMI JOIN _shared_correlation USING (process_id, correlation_id)
        WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    ) AS act
    ASOF JOIN _shared_launch AS shared
        ON shared.process_id = act.process_id
        AND shared.correlation_id = act.correlation_id
        AND shared.start_ns <= act.start_ns
    GROUP BY act.process_id, act.correlation_id, shared.start_ns
),
counted AS (
    SELECT work.process_id, gpu, start_ns,
           (work.correlation_id IS NOT NULL AND unpaired.correlation_id IS NULL
            AND EXISTS (SELECT 1 FROM api_call))::INTEGER AS launches,
           (kind = 'kernel')::INTEGER AS kernels,
           (kind IN ('memcpy', 'memcpy_p2p', 'memset'))::INTEGER AS copies
    FROM (FROM gpu_interval WHERE process_id IN (FROM processes)) AS work
    LEFT JOIN _unpaired_correlation AS unpaired
        ON unpaired.process_id = work.process_id
        AND unpaired.correlation_id = work.correlation_id
    UNION ALL BY NAME
    SELECT calls.process_id, start_ns, 1 AS launches, 0 AS kernels, 0 AS copies,
           coalesce(
               gpu.gpu, -1 - TRY_CAST((hash(calls.process_id, calls.device_id) >> 33) AS BIGINT)
           ) AS gpu
    FROM calls
    LEFT JOIN gpu ON gpu.process_id = calls.process_id AND gpu.device_id = calls.device_id
)
SELECT step.process_id, step.gpu, step.step, sum(launches)::BIGINT AS launches,
       sum(kernels)::BIGINT AS kernels, sum(copies)::BIGINT AS copies
FROM (
    SELECT *, start_ns // (SELECT any_value(length_ns) FROM _step_stretch) AS stretch FROM counted
) AS counted
JOIN _step_stretch AS step
    ON step.process_id = counted.process_id
    AND step.gpu = counted.gpu
    AND step.stretch = counted.stretch
WHERE counted.start_ns >= step.start_ns AND counted.start_ns < step.end_ns
GROUP BY step.process_id, step.gpu, step.step
