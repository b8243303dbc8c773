-- How many kernels ran at once on each GPU, and for how long.
--
-- computed: Sums over _running_kernels; the rows of a GPU add to its span, from the first start to
--   the last end of a kernel.
-- requires: kernel
-- limits: Parts of one GPU (MIG) count as one GPU. Kernels of one stream overlap where programs
--   use programmatic dependent launch. Time that was not recorded (_not_recorded) is without any.
-- columns:
--   gpu, kernels, total_ns of _running_kernels
--   percent DOUBLE [%]: total_ns as a share of the span of the GPU.
SELECT gpu, kernels, TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,
       100.0 * sum(total_ns) / sum(sum(total_ns)) OVER (PARTITION BY gpu) AS percent
FROM _running_kernels
GROUP BY gpu, kernels
ORDER BY gpu, kernels
