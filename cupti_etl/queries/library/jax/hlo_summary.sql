-- GPU time of each HLO module and operation of XLA, as JAX runs them, and of its autotuner.
--
-- computed: _hlo_work by module, program and operation, with the host's time in the ranges of the
--   operation. Times are sums of durations. Work that no range of XLA was around, such as copies
--   of arrays from and to the host, is in the row without a phase.
-- requires: _hlo_range
--   api_call: no API calls were recorded (capture with --api default), so work has no range.
-- limits: As of _hlo_work. Operations of several framework operations have what their names have
--   in common. A pass is told by JAX's names alone: jvp( of a forward pass that is differentiated,
--   transpose( of the backward pass.
-- front: Which HLO module and operation of JAX takes the GPU time?
-- first: percent, self_gpu_ns, phase, hlo_module, executions, kernels, framework_op, hlo_op
-- chart: bars(hlo_op, self_gpu_ns)
-- alias: hlo_stats, hlo_op_profile, jax_summary
-- columns:
--   hlo_module VARCHAR: Name of the HLO module, jit_FUNCTION of a function that JAX compiled; NULL
--     if it is not known.
--   program_id BIGINT: XLA's number of the compiled module; NULL for what the autotuner tries.
--   hlo_op VARCHAR: Name of the HLO operation; NULL for work of no certain one.
--   framework_op VARCHAR: The framework's operation (jit(f)/jvp()/dot_general); NULL if it is not
--     known.
--   pass VARCHAR: forward or backward, where framework_op tells; NULL if not.
--   phase VARCHAR: program for its own runs; autotuning and compilation for those that XLA made to
--     compile; NULL for work outside of XLA's ranges.
--   source VARCHAR: How the work is known to be of the operation, with ", " between: range (it was
--     launched in the operation's range), node (its graph node was added there), name (it has its
--     name), command buffer (it is of a whole command buffer), thread (of the autotuner).
--   percent DOUBLE [%]: self_gpu_ns as a share of the sum of self_gpu_ns over the phase.
--   executions BIGINT [executions]: How often it ran.
--   kernels BIGINT [kernels]: Finished kernels.
--   copies BIGINT [copies]: Finished copies and memsets.
--   self_gpu_ns BIGINT [ns]: Sum of the durations of both, without those of operations inside.
--   mean_gpu_ns DOUBLE [ns]: self_gpu_ns divided by executions.
--   host_ns BIGINT [ns]: Time on the host in its ranges, with what lies inside; of the operations
--     of a command buffer, that of recording them.
WITH work AS (
    SELECT phase, hlo_module, program_id, hlo_op, any_value(framework_op) AS framework_op,
           string_agg(DISTINCT source, ', ' ORDER BY source) AS source,
           count(DISTINCT execution) AS executions,
           count(*) FILTER (WHERE kind = 'kernel') AS kernels,
           count(*) FILTER (WHERE kind LIKE 'mem%') AS copies,
           sum(greatest(end_ns, start_ns) - start_ns) AS gpu_ns
    FROM _hlo_work
    GROUP BY phase, hlo_module, program_id, hlo_op
),
host AS (
    SELECT phase, hlo_module, program_id, hlo_op, any_value(framework_op) AS framework_op,
           count(*) AS runs, coalesce(sum(end_ns - start_ns), 0) AS host_ns
    FROM _hlo_range
    WHERE kind = 'thunk'
    GROUP BY phase, hlo_module, program_id, hlo_op
),
sums AS (
    SELECT coalesce(work.hlo_module, host.hlo_module) AS hlo_module,
           coalesce(work.program_id, host.program_id) AS program_id,
           coalesce(work.hlo_op, host.hlo_op) AS hlo_op,
           coalesce(work.framework_op, host.framework_op) AS framework_op,
           coalesce(work.phase, host.phase) AS phase, source,
           CASE WHEN coalesce(work.hlo_op, host.hlo_op) IS NOT NULL
                THEN coalesce(executions, runs) END AS executions,
           coalesce(kernels, 0) AS kernels, coalesce(copies, 0) AS copies,
           coalesce(gpu_ns, 0) AS gpu_ns, host_ns
    FROM work
    FULL JOIN host
        ON host.phase = work.phase
        AND host.hlo_module IS NOT DISTINCT FROM work.hlo_module
        AND host.program_id IS NOT DISTINCT FROM work.program_id
        AND host.hlo_op = work.hlo_op
    -- Without calls nothing is known of the work, and 0 would be wrong.
    WHERE EXISTS (FROM work)
)
SELECT hlo_module, program_id, hlo_op, framework_op,
       CASE WHEN contains(framework_op, 'transpose(') THEN 'backward'
            WHEN contains(framework_op, 'jvp(') THEN 'forward' END AS pass,
       phase, source,
       100.0 * gpu_ns / nullif(sum(gpu_ns) OVER (PARTITION BY phase), 0) AS percent,
       executions, kernels, copies, TRY_CAST(gpu_ns AS BIGINT) AS self_gpu_ns,
       (gpu_ns / nullif(executions, 0))::DOUBLE AS mean_gpu_ns,
       TRY_CAST(host_ns AS BIGINT) AS host_ns
FROM sums
ORDER BY phase IS DISTINCT FROM 'program', phase IS NULL, self_gpu_ns DESC, phase, hlo_module,
         program_id, hlo_op
