-- What each GPU did in the trace, in one line: time, kernels, copies, idle time.
--
-- computed: busy_ns and idle_ns are of gpu_busy: the union of all work, and the rest of its span.
--   Times of kernels and copies are sums of durations.
-- requires: gpu_activity
-- materialized: Few rows, of all activities.
-- limits: As of gpu_busy.
-- front: What did each GPU do, in one line?
-- first: gpu, device_name, kernels, kernel_ns, copies, copied_bytes, busy_ns, idle_ns
-- columns:
--   gpu, device_name of gpu_busy
--   kernels BIGINT [kernels]: Finished kernels.
--   kernel_ns BIGINT [ns]: Sum of their durations.
--   copies BIGINT [copies]: Finished copies.
--   copy_ns BIGINT [ns]: Sum of their durations.
--   copied_bytes BIGINT [bytes]: Their bytes.
--   busy_ns BIGINT [ns]: Time with at least one activity.
--   idle_ns BIGINT [ns]: span_ns less busy_ns.
--   span_ns BIGINT [ns]: From the first start to the last end on this GPU.
WITH work AS (
    SELECT gpu, count(*) FILTER (WHERE kind = 'kernel') AS kernels,
           sum(end_ns - start_ns) FILTER (WHERE kind = 'kernel') AS kernel_ns,
           count(*) FILTER (WHERE starts_with(kind, 'memcpy')) AS copies,
           sum(end_ns - start_ns) FILTER (WHERE starts_with(kind, 'memcpy')) AS copy_ns,
           sum(bytes) FILTER (WHERE starts_with(kind, 'memcpy')) AS copied_bytes
    FROM _gpu_run
    GROUP BY gpu
)
SELECT busy.gpu, device_name, coalesce(kernels, 0) AS kernels,
       TRY_CAST(coalesce(kernel_ns, 0) AS BIGINT) AS kernel_ns, coalesce(copies, 0) AS copies,
       TRY_CAST(coalesce(copy_ns, 0) AS BIGINT) AS copy_ns,
       TRY_CAST(coalesce(copied_bytes, 0) AS BIGINT) AS copied_bytes,
       busy_ns, span_ns - busy_ns AS idle_ns, span_ns
FROM gpu_busy AS busy
LEFT JOIN work ON work.gpu = busy.gpu
WHERE busy.start_ns IS NOT NULL
ORDER BY busy.gpu;

-- merge
FROM partial
ORDER BY gpu
