-- Which kernels the steps of each GPU run, how often and for how long, after the warm-up.
--
-- computed: Kernels that are no communication, by mangled name, in the step in which they began.
-- lookup: gpu_interval
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Mangled name of the kernel.
--   calls BIGINT [executions]: Executions in all steps.
--   squares BIGINT [1]: The sum of the squares of how many there are in each step.
--   total_ns BIGINT [ns]: Sum of their durations.
WITH steps AS MATERIALIZED (
    SELECT process_id, gpu, step, start_ns, end_ns FROM _sure_step WHERE is_steady
),
counts AS (
    SELECT act.gpu, act.name, count(*) AS calls, sum(act.end_ns - act.start_ns) AS ns
    FROM gpu_interval AS act
    ASOF JOIN steps
        ON steps.process_id = act.process_id
        AND steps.gpu = act.gpu
        AND steps.start_ns <= act.start_ns
    WHERE act.kind = 'kernel' AND act.category = 'compute' AND act.start_ns < steps.end_ns
    GROUP BY act.gpu, act.name, steps.process_id, steps.step
)
SELECT gpu, name, TRY_CAST(sum(calls) AS BIGINT) AS calls,
       TRY_CAST(sum(calls * calls) AS BIGINT) AS squares, TRY_CAST(sum(ns) AS BIGINT) AS total_ns
FROM counts
GROUP BY gpu, name
