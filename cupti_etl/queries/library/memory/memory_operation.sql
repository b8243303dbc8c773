-- Allocations and releases of memory one by one, with the NVTX range that asked for each.
--
-- computed: Rows of memory with the thread whose call made them, and the range that was the
--   innermost of the thread when the call began; without a call, when it happened.
-- requires: memory
-- limits: What a framework's own allocator gives out of memory that it has allocated before is not
--   here.
-- scope: host timestamp_ns
-- columns:
--   memory.*
--   range_id BIGINT: The range, as in nvtx_range; NULL outside of all.
--   path VARCHAR: Names of that range and of those around it.
WITH asked AS (
    SELECT memory.* REPLACE (coalesce(calls.thread_id, memory.thread_id) AS thread_id),
           coalesce(calls.start_ns, memory.timestamp_ns) AS at_ns
    FROM memory
    LEFT JOIN _memory_call AS calls USING (process_id, correlation_id)
)
SELECT asked.* EXCLUDE (at_ns), turn.range_id, _range_path.path
FROM asked
ASOF LEFT JOIN _range_turn AS turn
    ON turn.process_id = asked.process_id
    AND turn.thread_id = asked.thread_id
    AND turn.at_ns <= asked.at_ns
LEFT JOIN _range_path ON _range_path.range_id = turn.range_id
ORDER BY asked.timestamp_ns, asked.process_id, asked.address
