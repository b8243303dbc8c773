-- How many kernels ran at once on each GPU, and for how long.
--
-- computed: A sweep over the starts and ends of finished kernels; the rows of a GPU add to its
--   span, from the first start to the last end of a kernel.
-- needs: gpu_interval
-- requires:
--   kernel: no kernels were recorded.
-- stored: Made with busy_interval, in one sweep.
-- limits: Parts of one GPU (MIG) count as one GPU. Kernels of one stream overlap where programs
--   use programmatic dependent launch.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   kernels BIGINT [kernels]: How many ran at once; 0 for none.
--   total_ns BIGINT [ns]: How long.
--   percent DOUBLE [%]: total_ns as a share of the span of the GPU.
WITH events AS (
    SELECT gpu, start_ns AS at_ns, 1 AS step FROM gpu_interval WHERE kind = 'kernel'
    UNION ALL
    SELECT gpu, end_ns, -1 FROM gpu_interval WHERE kind = 'kernel'
),
sweep AS (
    SELECT gpu, at_ns,
           sum(step) OVER (PARTITION BY gpu ORDER BY at_ns ROWS UNBOUNDED PRECEDING) AS running,
           lead(at_ns) OVER (PARTITION BY gpu ORDER BY at_ns) AS until_ns
    FROM events
)
SELECT gpu, running::BIGINT AS kernels, sum(until_ns - at_ns)::BIGINT AS total_ns,
       100.0 * sum(until_ns - at_ns) / nullif(sum(sum(until_ns - at_ns)) OVER (PARTITION BY gpu), 0)
           AS percent
FROM sweep
WHERE until_ns > at_ns
GROUP BY gpu, running
ORDER BY gpu, running
