-- How much of the work on GPUs is CUDA graphs of which no kernel was recorded.
--
-- computed: The share of the time of finished activities that are graphs as a whole (graph_trace).
-- columns:
--   percent DOUBLE [%]: That share of the time of all; NULL without any.
SELECT 100.0 * coalesce(sum(end_ns - start_ns) FILTER (WHERE kind = 'graph'), 0)
           / nullif(sum(end_ns - start_ns), 0) AS percent
FROM gpu_activity
HAVING count(*) > 0
