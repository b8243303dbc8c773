-- How long each GPU computes in its steps, after the warm-up, over the course of a run.
--
-- computed: Sums of compute_ns of step_summary over eight parts with equally many steps, in the
--   order of time: neighbours are alike.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   part BIGINT: Part of the run, from 0 to 7.
--   steps BIGINT [steps]: How many.
--   compute_ns BIGINT [ns]: Time in which a kernel computed.
--   total_ns BIGINT [ns]: Time of the steps.
WITH steady AS (
    SELECT process_id, gpu, step, end_ns - start_ns AS ns,
           (row_number() OVER (PARTITION BY gpu ORDER BY start_ns, end_ns) - 1) * 8
               // count(*) OVER (PARTITION BY gpu) AS part
    FROM _sure_step
    WHERE is_steady
)
SELECT gpu, part, count(*) AS steps, TRY_CAST(sum(compute_ns) AS BIGINT) AS compute_ns,
       TRY_CAST(sum(ns) AS BIGINT) AS total_ns
FROM steady
JOIN (SELECT process_id, gpu, step, compute_ns FROM step_summary) USING (process_id, gpu, step)
GROUP BY gpu, part
