-- How much of the work on GPUs no operator of PyTorch asked for, though its calls were recorded.
--
-- computed: What is left of all finished activities without those of _work_without_call and those
--   that operators asked for by themselves, as shares of the sum of durations.
-- requires:
--   _operator: no operators were recorded (capture with --pytorch, or import a trace of PyTorch).
-- scope: whole
-- columns:
--   percent DOUBLE [%]: That share of the time of all; NULL without any.
--   annotation_percent DOUBLE [%]: The part of it that annotations asked for.
--   graph_percent DOUBLE [%]: The share of what graphs launched, whoever asked for them.
WITH everything AS (
    SELECT sum(end_ns - start_ns) AS ns FROM gpu_activity
    ANTI JOIN _process_without_links USING (process_id)
),
graphs AS (
    SELECT coalesce(sum(end_ns - start_ns), 0) AS ns FROM gpu_activity
    SEMI JOIN graph_launch USING (process_id, correlation_id)
),
operators AS (
    SELECT coalesce(sum(self_gpu_ns) FILTER (WHERE kind = 'operator'), 0) AS ns,
           coalesce(sum(self_gpu_ns) FILTER (WHERE kind = 'annotation'), 0) AS annotation_ns
    FROM _operator_work
    JOIN _operator USING (range_id)
)
SELECT 100.0 - without.percent - 100.0 * operators.ns / nullif(everything.ns, 0) AS percent,
       100.0 * annotation_ns / nullif(everything.ns, 0) AS annotation_percent,
       100.0 * graphs.ns / nullif(everything.ns, 0) AS graph_percent
FROM _work_without_call AS without, everything, graphs, operators
WHERE EXISTS (FROM _operator)
