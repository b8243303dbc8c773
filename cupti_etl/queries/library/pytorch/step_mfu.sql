-- Model FLOPs utilization of each step: operations that the model needed, of what the chip can do.
--
-- computed: The operations of _operator_flops whose first work began within the step on its GPU.
--   mfu_pct is the time that they would take at the peaks of the chip for their types, divided by
--   the duration of the step. Products of matrices, convolutions, attention and recurrent networks
--   make up nearly all, so other operators count nothing, unless kernels of theirs do such work by
--   their names (kernel_rule): what these compute is not known, nor what graphs and compiled code
--   launch without operators.
-- requires: gpu_activity, _operator
--   _any_input_size: sizes of inputs were not recorded (capture with --pytorch, or
--     record_shapes=True of torch.profiler), so operations are not known.
--   step, _operator_flops
--   _flops_gpu: of no operator are the operations known.
-- limits: Operations that are done anew (activation checkpointing) count as often as they were
--   done. NULL if the operations of more than 1 % of counted_ns, or the chip's peaks, are not
--   known: see known_pct.
-- front: What share of the chip's peak does each step reach (MFU)?
-- first: step, mfu_pct, tflops_per_s, duration_ns, tflop, known_pct, reason, gpu,
--   name
-- chart: lines(step, mfu_pct)
-- alias: mfu, region_mfu, model_flops_utilization
-- lookup: _operator_flops, gpu_interval
-- shared: kernel_name, _kernel_told
-- columns:
--   process_id, gpu of step
--   step BIGINT: Number of the step, from 0.
--   name VARCHAR: Name of the range, or of the kernel that it begins with.
--   duration_ns BIGINT [ns]: How long it took on the GPU.
--   tflop DOUBLE [Tflop]: Operations of the step.
--   tflops_per_s DOUBLE [Tflop/s]: tflop divided by duration_ns.
--   mfu_pct DOUBLE [%]: Time that the operations take at the chip's peak as a share of duration_ns.
--   counted_ns BIGINT [ns]: GPU time of the operators whose operations are counted, and of kernels
--     of others that do such work.
--   known_pct DOUBLE [%]: GPU time of operators with known operations as a share of counted_ns.
--   reason VARCHAR: Why mfu_pct is NULL; NULL where it is not.
WITH steps AS MATERIALIZED (
    -- Once: for plain DuckDB every mention of a view is all of its text.
    FROM step
),
counted_call AS (
    SELECT launch.process_id, launch.correlation_id
    FROM _operator_launch AS launch
    JOIN _operator USING (range_id)
    JOIN _operator_formula AS formula ON formula.operator = _operator.name
    WHERE _operator.kind = 'operator'
),
work AS (
    SELECT counted.process_id, counted.gpu, counted.start_ns, counted.gpu_ns, counted.flops,
           counted.flops / (1e3 * peak_tflops) AS least_ns
    FROM _operator_flops AS counted
    LEFT JOIN _device_peak AS peak
        ON peak.process_id = counted.process_id
        AND peak.device_id = counted.device_id
        AND peak.element_type = counted.element_type
        AND peak.is_convolution = starts_with(counted.kind, 'convolution')
    UNION ALL
    SELECT act.process_id, act.gpu, act.start_ns, act.end_ns - act.start_ns, NULL, NULL
    FROM gpu_interval AS act
    LEFT JOIN kernel_rule AS rule ON rule.mangled IS NOT DISTINCT FROM act.name
    ANTI JOIN counted_call USING (process_id, correlation_id)
    WHERE act.kind = 'graph' OR (
        act.kind = 'kernel'
        AND rule.category IN ('gemm', 'convolution', 'attention', 'recurrent')
    )
),
sums AS (
    SELECT step.process_id, step.gpu, step.step, sum(gpu_ns) AS gpu_ns,
           sum(gpu_ns) FILTER (WHERE flops IS NOT NULL) AS known_ns,
           CASE WHEN known_ns >= 0.99 * sum(gpu_ns) THEN sum(flops) END AS flops,
           CASE WHEN known_ns >= 0.99 * sum(gpu_ns) AND count(least_ns) = count(flops)
                THEN sum(least_ns) END AS least_ns
    FROM work
    ASOF JOIN steps AS step
        ON step.process_id = work.process_id
        AND step.gpu = work.gpu
        AND step.start_ns <= work.start_ns
    WHERE work.start_ns < step.end_ns
    GROUP BY step.process_id, step.gpu, step.step
)
SELECT step.process_id, step.gpu, step.step, step.name,
       step.end_ns - step.start_ns AS duration_ns, flops / 1e12 AS tflop,
       flops / 1e3 / nullif(step.end_ns - step.start_ns, 0) AS tflops_per_s,
       100.0 * least_ns / nullif(step.end_ns - step.start_ns, 0) AS mfu_pct,
       gpu_ns::BIGINT AS counted_ns, 100.0 * coalesce(known_ns, 0) / nullif(gpu_ns, 0) AS known_pct,
       CASE WHEN flops IS NULL
            THEN 'operations of ' || round(100 - known_pct)::INTEGER || ' % not known'
            WHEN least_ns IS NULL THEN 'peak of the chip not known' END AS reason
FROM steps AS step
JOIN sums USING (process_id, gpu, step)
SEMI JOIN _flops_gpu USING (gpu)
ORDER BY step.gpu, step.process_id, step.step;

-- merge
FROM partial
ORDER BY gpu, process_id, step
