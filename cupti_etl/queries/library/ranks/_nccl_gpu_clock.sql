-- How far the clock of kernels is ahead of the GPU's timer, by which NCCL tells of channels.
--
-- computed: A channel begins with its kernel or a few microseconds later, but NCCL may give it the
--   times of an earlier one (_nccl_placed), for which the clock seems to be further ahead. So of
--   each GPU and two seconds, the difference that most channels have within 33 us counts, or the
--   least that a quarter as many have; and of a kernel, the largest around it.
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The launch of the kernel.
--   ahead_ns BIGINT [ns]: To add to times of the GPU's timer.
WITH begun AS (
    SELECT kernel.process_id, kernel.device_id, kernel.correlation_id, told.channel,
           min(kernel.start_ns) // 2000000000 AS period,
           min(kernel.start_ns) - min(told.gpu_start) AS ahead_ns
    FROM nccl_event AS told
    JOIN _nccl_kernel AS kernel
        ON kernel.process_id = told.process_id
        AND kernel.event_id = told.parent_id
    WHERE told.kind = 'channel' AND told.gpu_start IS NOT NULL AND kernel.start_ns IS NOT NULL
    GROUP BY ALL
),
counted AS (
    SELECT process_id, device_id, period, floor(ahead_ns / 32768)::BIGINT * 32768 AS from_ns,
           count(*) AS n, max(count(*)) OVER (PARTITION BY process_id, device_id, period) AS most
    FROM begun
    GROUP BY process_id, device_id, period, from_ns
),
usual AS (
    SELECT process_id, device_id, period, min(from_ns) AS from_ns
    FROM counted
    WHERE 4 * n >= most
    GROUP BY process_id, device_id, period
)
SELECT process_id, correlation_id,
       coalesce(
           max(ahead_ns) FILTER (WHERE ahead_ns - from_ns BETWEEN -16384 AND 49152),
           min(from_ns) + 16384
       ) AS ahead_ns
FROM begun
JOIN usual USING (process_id, device_id, period)
GROUP BY process_id, correlation_id
