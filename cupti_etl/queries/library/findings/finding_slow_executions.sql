-- What executions cost on each GPU that take more than twice the median of their kernel.
--
-- computed: lost_ns of kernel_tail, by GPU, of fewer than a tenth of the executions. The culprit is
--   the kernel with most of it on all GPUs. Communication is left out: it takes as long as other
--   ranks let it wait (collective_wait).
-- requires: kernel
-- finding: kernels have executions of more than twice their median (measured)
-- advice: see what was around the slowest (kernel_worst): contention, clocks, different data
-- shown: kernel_tail
WITH tails AS (
    SELECT name, slow_gpus, lost_ns
    FROM _kernel_shape AS shape
    ANTI JOIN (FROM kernel_rule WHERE category = 'communication') AS rule USING (mangled)
    -- As many as kernel_tail wants.
    WHERE calls >= 20 AND lost_ns IS NOT NULL
),
most AS (
    SELECT concat(CASE WHEN count(*) > 1
                       THEN concat(count(*), ' names and shapes, most of it ') END,
                  'in ', arg_min(name, (-list_sum(lost_ns), name))) AS culprit
    FROM tails
)
SELECT gpu, TRY_CAST(sum(lost.lost_ns) AS BIGINT) AS saved_ns, any_value(culprit) AS culprit
FROM (SELECT unnest(slow_gpus) AS gpu, unnest(lost_ns) AS lost_ns FROM tails) AS lost
CROSS JOIN most
GROUP BY gpu
