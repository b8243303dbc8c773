-- How far the clock of kernels is ahead of the GPU's timer, by which NCCL tells of channels.
--
-- computed: For each kernel, its begin less that of its first channel, which begins with it or a
--   few microseconds later. NCCL was seen to give a channel the time of another operation, so where
--   that is more than 100 us from the median of the 17 kernels around it, the median counts.
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The launch of the kernel.
--   earliest_ns BIGINT [epoch ns]: What happened in the kernel, did so from here on.
--   latest_ns BIGINT [epoch ns]: And until here; NULL if the kernel has no end.
--   ahead_ns BIGINT [ns]: To add to times of the GPU's timer.
WITH begun AS (
    SELECT kernel.process_id, kernel.correlation_id, min(kernel.communicator) AS communicator,
           min(kernel.rank) AS rank, min(kernel.start_ns) AS start_ns,
           max(kernel.end_ns) AS end_ns, min(kernel.start_ns) - min(told.gpu_start) AS ahead_ns
    FROM nccl_event AS told
    JOIN _nccl_kernel AS kernel
        ON kernel.process_id = told.process_id
        AND kernel.event_id = told.parent_id
    WHERE told.kind = 'channel' AND told.gpu_start IS NOT NULL AND kernel.start_ns IS NOT NULL
    GROUP BY kernel.process_id, kernel.correlation_id
),
usual AS (
    SELECT *, quantile_disc(ahead_ns, 0.5) OVER (
                  -- A rank of a communicator is one GPU, also of a process that has several.
                  PARTITION BY process_id, communicator, rank ORDER BY start_ns
                  ROWS BETWEEN 8 PRECEDING AND 8 FOLLOWING
              ) AS usual_ns
    FROM begun
)
SELECT process_id, correlation_id, start_ns - 100000 AS earliest_ns, end_ns + 100000 AS latest_ns,
       CASE WHEN abs(ahead_ns - usual_ns) > 100000 THEN usual_ns ELSE ahead_ns END AS ahead_ns
FROM usual
