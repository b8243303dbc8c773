-- The longest times in which a GPU did nothing, and what ran before and after.
--
-- computed: Gaps of the union over all streams and processes of a GPU, with an activity that
--   ended and one that began at their edges.
-- requires: gpu_activity, _gpu_gap
-- label: next_name = kernel(next_kind)
-- parameters:
--   min_ns BIGINT = 1000 [ns]: Shortest gap that is listed.
-- columns:
--   gpu, start_ns, end_ns, gap_ns of _gap_edge
--   percent DOUBLE [%]: gap_ns as a share of the idle time of the GPU in all its gaps.
--   process_id, previous_kind, previous_name of _gap_edge
--   next_kind, next_name, next_stream_id, next_correlation_id of _gap_edge
SELECT gpu, start_ns, end_ns, gap_ns,
       100.0 * gap_ns / nullif(sum(gap_ns) OVER (PARTITION BY gpu), 0) AS percent,
       * EXCLUDE (gpu, start_ns, end_ns, gap_ns, first_correlation_id)
FROM _gap_edge
QUALIFY gap_ns >= min_ns
ORDER BY gap_ns DESC, gpu, start_ns
