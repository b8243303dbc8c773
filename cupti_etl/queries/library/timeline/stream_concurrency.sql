-- On how many streams of each GPU kernels ran at once, and for how long.
--
-- computed: Sums over _running_kernels; the rows of a GPU add to its span, from the first start to
--   the last end of a kernel.
-- requires: kernel
-- limits: Parts of one GPU (MIG) count as one GPU. Copies are not seen: see stream_overlap.
--   Time that was not recorded (_not_recorded) is without any kernel.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   streams BIGINT [streams]: How many ran a kernel; 0 for none.
--   total_ns BIGINT [ns]: How long.
--   percent DOUBLE [%]: total_ns as a share of the span of the GPU.
--   kernel_ns BIGINT [ns]: Durations of the kernels meanwhile, summed.
SELECT gpu, streams, TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,
       100.0 * sum(total_ns) / sum(sum(total_ns)) OVER (PARTITION BY gpu) AS percent,
       TRY_CAST(sum(kernels * total_ns) AS BIGINT) AS kernel_ns
FROM _running_kernels
GROUP BY gpu, streams
ORDER BY gpu, streams
