-- How many kernels ran at once on each GPU, on how many streams, and for how long.
--
-- computed: A sweep over the starts and ends of finished kernels; the rows of a GPU add to its
--   span, from the first start to the last end of a kernel.
-- materialized: Made once for an opened trace, in one sweep.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   kernels BIGINT [kernels]: How many ran at once; 0 for none.
--   streams BIGINT [streams]: On how many streams.
--   total_ns BIGINT [ns]: How long.
WITH events AS (
    SELECT gpu, process_id, context_id, stream_id, unnest([start_ns, end_ns]) AS at_ns,
           unnest([1, -1]) AS step
    FROM gpu_interval
    WHERE kind = 'kernel'
),
of_streams AS (
    SELECT gpu, at_ns, step,
           sum(step) OVER (
               PARTITION BY gpu, process_id, context_id, stream_id ORDER BY at_ns
               ROWS UNBOUNDED PRECEDING
           ) AS running
    FROM events
),
sweep AS (
    SELECT gpu, at_ns, sum(step) OVER on_gpu AS kernels,
           sum((running > 0)::TINYINT - (running - step > 0)::TINYINT) OVER on_gpu AS streams,
           lead(at_ns) OVER (PARTITION BY gpu ORDER BY at_ns) AS until_ns
    FROM of_streams
    WINDOW on_gpu AS (PARTITION BY gpu ORDER BY at_ns ROWS UNBOUNDED PRECEDING)
)
SELECT gpu, TRY_CAST(kernels AS BIGINT) AS kernels, TRY_CAST(streams AS BIGINT) AS streams,
       TRY_CAST(sum(until_ns - at_ns) AS BIGINT) AS total_ns
FROM sweep
WHERE until_ns > at_ns
GROUP BY gpu, kernels, streams
