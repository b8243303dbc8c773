-- The longest times in which a GPU did nothing, and what ran before and after.
--
-- computed: Gaps of the union over all streams and processes of a GPU, with an activity that
--   ended and one that began at their edges.
-- needs: _gap_edge
-- requires: gpu_activity, _gpu_gap
-- parameters:
--   min_ns BIGINT = 1000 [ns]: Shortest gap that is listed.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When the GPU became idle.
--   end_ns BIGINT [epoch ns]: When it went on.
--   gap_ns BIGINT [ns]: Length.
--   percent DOUBLE [%]: gap_ns as a share of the idle time of the GPU in all its gaps.
--   process_id BIGINT: Process of next_name, for which the GPU had to wait.
--   previous_kind VARCHAR: Kind of the activity before.
--   previous_name VARCHAR: Its name, as in gpu_activity.
--   next_kind VARCHAR: Kind of the activity after.
--   next_name VARCHAR: Its name, as in gpu_activity.
--   next_stream_id INTEGER: Its stream.
--   next_correlation_id BIGINT: The call that asked for it.
SELECT gpu, start_ns, end_ns, gap_ns,
       100.0 * gap_ns / nullif(sum(gap_ns) OVER (PARTITION BY gpu), 0) AS percent,
       * EXCLUDE (gpu, start_ns, end_ns, gap_ns)
FROM _gap_edge
QUALIFY gap_ns >= min_ns
ORDER BY gap_ns DESC, gpu, start_ns
