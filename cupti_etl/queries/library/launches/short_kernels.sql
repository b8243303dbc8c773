-- Kernels that ran for less time than the call that launched them: with too many, launching holds
-- the GPU up however many run.
--
-- computed: Over the launches with known times of each GPU. Times are sums of durations.
-- requires: api_call, launch_to_gpu
-- materialized: Computed over all launches.
-- limits: Of a graph launch, only the first kernel counts. Calls of several threads go on at once.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   launches BIGINT [launches]: Launches with known times.
--   shorter_than_call BIGINT [launches]: Of these, kernels that ran for less time than their call.
--   percent DOUBLE [%]: shorter_than_call as a share of launches.
--   api_ns BIGINT [ns]: What the calls of the shorter ones took, summed.
--   kernel_ns BIGINT [ns]: What the shorter ones took themselves, summed.
--   waits BIGINT [launches]: Launches whose kernel had ended when the call returned.
--   waited_ns BIGINT [ns]: From the begins of these kernels to the returns, summed.
SELECT coalesce(gpu.gpu, -1 - TRY_CAST((hash(work.process_id, work.device_id) >> 33) AS BIGINT))
           AS gpu,
       count(*) AS launches,
       count(*) FILTER (WHERE kernel_ns < api_ns) AS shorter_than_call,
       100.0 * count(*) FILTER (WHERE kernel_ns < api_ns) / count(*) AS percent,
       TRY_CAST(coalesce(sum(api_ns) FILTER (WHERE kernel_ns < api_ns), 0) AS BIGINT) AS api_ns,
       TRY_CAST(coalesce(sum(kernel_ns) FILTER (WHERE kernel_ns < api_ns), 0) AS BIGINT)
           AS kernel_ns,
       count(waited_ns) AS waits, TRY_CAST(coalesce(sum(waited_ns), 0) AS BIGINT) AS waited_ns
FROM _launch_time AS work
LEFT JOIN gpu ON gpu.process_id = work.process_id AND gpu.device_id = work.device_id
GROUP BY 1
ORDER BY gpu
