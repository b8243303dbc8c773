-- What executions cost on each GPU that take more than twice the median of their kernel.
--
-- computed: lost_ns of kernel_tail, by GPU, of fewer than a tenth of the executions. The culprit is
--   the kernel with most of it on the GPU. Communication is left out: it takes as long as other
--   ranks let it wait (collective_wait).
-- requires: kernel
-- finding: kernels have executions of more than twice their median (measured)
-- advice: see what was around the slowest (kernel_worst): contention, clocks, different data
-- shown: kernel_tail
WITH shapes AS (
    SELECT name, unnest(slow_gpus) AS gpu, unnest(lost_ns) AS lost_ns
    FROM _kernel_shape AS shape
    ANTI JOIN _communication_kernel USING (mangled)
    -- As many as kernel_tail wants.
    WHERE calls >= 20 AND lost_ns IS NOT NULL
),
tails AS (
    SELECT gpu, name, count(*) AS n, sum(lost_ns) AS lost_ns FROM shapes GROUP BY gpu, name
)
SELECT gpu, TRY_CAST(sum(lost_ns) AS BIGINT) AS saved_ns,
       concat(CASE WHEN sum(n) > 1 THEN concat(sum(n), ' names and shapes, above all ') END,
              'in ', arg_min(name, (-lost_ns, name))) AS culprit
FROM tails
GROUP BY gpu
