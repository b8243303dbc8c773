-- Allocations with the place that asked for them.
--
-- computed: allocation with the outermost recorded call of its correlation_id, and the NVTX range
--   that was the innermost of the calling thread when that call began; without a call, that of the
--   thread that asked when it was allocated.
-- requires: memory
-- scope: whole
-- columns:
--   process_id, device_id, memory_kind, bytes, start_ns, end_ns, source of allocation
--   api_name VARCHAR: Function that allocated it; NULL if the call was not recorded.
--   range VARCHAR: Path of the NVTX range around the call, with * for the numbers of steps; NULL
--     outside ranges.
--   pool_type, pool_address of allocation
WITH made AS (
    SELECT allocation.* REPLACE (coalesce(calls.thread_id, allocation.thread_id) AS thread_id),
           calls.name AS api_name, coalesce(calls.start_ns, allocation.start_ns) AS at_ns
    FROM allocation
    LEFT JOIN _memory_call AS calls USING (process_id, correlation_id)
)
SELECT made.process_id, made.device_id, made.memory_kind, made.bytes, made.start_ns, made.end_ns,
       made.source, made.api_name, alike.kind AS range, made.pool_type, made.pool_address
FROM made
ASOF LEFT JOIN _range_served AS innermost
    ON innermost.process_id = made.process_id
    AND innermost.thread_id = made.thread_id
    AND innermost.at_ns <= made.at_ns
LEFT JOIN _range_parent AS ranges ON ranges.range_id = innermost.range_id
LEFT JOIN _alike_path AS alike ON alike.alike_range_id = ranges.alike_range_id
