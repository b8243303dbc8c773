-- How many activities began in each step on its GPU, and how many calls asked for them.
--
-- computed: Finished activities of the step's process that began within it. A call counts where
--   its first activity began, so that it counts once.
-- materialized: Made once for an opened trace, as the step of each activity is looked for.
-- limits: Calls whose activities are not known count nowhere.
-- scope: whole
-- columns:
--   process_id, gpu, step of _step_stretch
--   launches BIGINT [calls]: API calls that asked for work.
--   kernels BIGINT [executions]: Finished kernels.
--   copies BIGINT [copies]: Finished copies and memsets.
WITH counted AS (
    -- A call for each activity, but for those of several, and of none.
    SELECT process_id, gpu, start_ns,
           (correlation_id IS NOT NULL AND EXISTS (SELECT 1 FROM api_call))::INTEGER AS launches,
           (kind = 'kernel')::INTEGER AS kernels,
           (kind IN ('memcpy', 'memcpy_p2p', 'memset'))::INTEGER AS copies
    FROM gpu_interval
    WHERE process_id IN (SELECT process_id FROM _step_stretch)
    UNION ALL
    SELECT process_id, gpu, start_ns, launches, 0, 0 FROM _unpaired_launch
)
SELECT step.process_id, step.gpu, step.step, sum(launches)::BIGINT AS launches,
       sum(kernels)::BIGINT AS kernels, sum(copies)::BIGINT AS copies
FROM (
    SELECT *, start_ns // (SELECT any_value(length_ns) FROM _step_stretch) AS stretch FROM counted
) AS counted
JOIN _step_stretch AS step USING (process_id, gpu, stretch)
WHERE counted.start_ns >= step.start_ns AND counted.start_ns < step.end_ns
GROUP BY step.process_id, step.gpu, step.step
