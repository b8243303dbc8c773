-- How long the work of steps goes on after the next step has begun on the GPU.
--
-- computed: The median over the steps that a range marks, but for the last of each process and GPU.
--   The work of a step is what its range asked for.
-- needs: step, _range_span, range_gpu
-- requires:
--   step: neither NVTX ranges called step or alike nor a period of kernels was found.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   overlap_ns BIGINT [ns]: For how long it goes on; 0 if it ends before.
--   overlap_pct DOUBLE [%]: The same as a share of the median time of a step.
WITH steps AS (
    SELECT step.process_id, step.gpu, step.end_ns - step.start_ns AS step_ns,
           max(greatest(work.end_ns - step.end_ns, 0)) AS overlap_ns
    FROM (
        FROM step
        WHERE source = 'nvtx'
        QUALIFY step < max(step) OVER (PARTITION BY process_id, gpu)
    ) AS step
    JOIN _range_span AS span ON span.process_id = step.process_id AND span.name = step.name
    JOIN range_gpu AS work
        ON work.range_id = span.range_id
        AND work.gpu = step.gpu
        AND work.start_ns = step.start_ns
    GROUP BY step.process_id, step.gpu, step.step, step.start_ns, step.end_ns
)
SELECT process_id, gpu, TRY_CAST(median(overlap_ns) AS BIGINT) AS overlap_ns,
       100.0 * median(overlap_ns) / nullif(median(step_ns), 0) AS overlap_pct
FROM steps
GROUP BY process_id, gpu
ORDER BY process_id, gpu
