-- What each NVTX range asked of each GPU by itself, without the ranges inside it.
--
-- computed: Activities whose launching call began while the range was the innermost of the call's
--   thread, or waited for that thread (_range_wait). Times are sums of durations; activities that
--   overlap each count in full.
-- materialized: Made once for an opened trace, in one sweep over calls and activities.
-- limits: As of range_gpu.
-- columns:
--   range_id BIGINT: The range, as in nvtx_range.
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   activities BIGINT [activities]: Finished activities.
--   gpu_ns BIGINT [ns]: Sum of their durations.
--   start_ns BIGINT [epoch ns]: First start of an activity.
--   end_ns BIGINT [epoch ns]: Last end.
--   kernels BIGINT [executions]: Finished kernels.
--   kernel_ns BIGINT [ns]: Sum of their durations; NULL if there are none.
--   kernel_max_ns BIGINT [ns]: The longest of them.
--   copies BIGINT [copies]: Finished copies.
--   copied_bytes BIGINT [bytes]: Their bytes; NULL if none are known.
--   sets BIGINT [sets]: Finished memsets.
SELECT innermost.range_id,
       coalesce(gpu.gpu, -1 - TRY_CAST((hash(work.process_id, work.device_id) >> 33) AS BIGINT))
           AS gpu,
       count(*) AS activities, TRY_CAST(sum(work.end_ns - work.start_ns) AS BIGINT) AS gpu_ns,
       min(work.start_ns) AS start_ns, max(work.end_ns) AS end_ns,
       count(*) FILTER (WHERE kind = 'kernel') AS kernels,
       TRY_CAST(sum(work.end_ns - work.start_ns) FILTER (WHERE kind = 'kernel') AS BIGINT)
           AS kernel_ns,
       max(work.end_ns - work.start_ns) FILTER (WHERE kind = 'kernel') AS kernel_max_ns,
       count(*) FILTER (WHERE starts_with(kind, 'memcpy')) AS copies,
       TRY_CAST(sum(bytes) FILTER (WHERE starts_with(kind, 'memcpy')) AS BIGINT) AS copied_bytes,
       count(*) FILTER (WHERE kind = 'memset') AS sets
FROM (
    SELECT * REPLACE (greatest(start_ns, end_ns) AS end_ns)
    FROM launch_to_gpu
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
) AS work
ASOF JOIN _range_served AS innermost
    ON innermost.process_id = work.process_id
    AND innermost.thread_id = work.thread_id
    AND innermost.at_ns <= work.api_start_ns
LEFT JOIN gpu ON gpu.process_id = work.process_id AND gpu.device_id = work.device_id
WHERE innermost.range_id IS NOT NULL
GROUP BY 1, 2
