-- Who held memory when most was in use: by NVTX range, function, shared object and pool.
--
-- computed: Of each process, device and kind of memory, the allocations of allocation_site that
--   were made by the peak of memory_timeline and not yet released.
-- needs: allocation_site, memory_timeline
-- requires:
--   memory: no allocations were recorded (capture with the kind memory).
--   memory_timeline: no memory was allocated.
-- limits: As of memory_timeline. What a framework's own allocator gives out is one holder, its
--   pool.
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   memory_kind VARCHAR: Kind of memory, such as device or pinned.
--   peak_ns BIGINT [ns]: When most was in use.
--   range VARCHAR: Path of the NVTX range around the calls; NULL outside ranges.
--   api_name VARCHAR: Function that allocated; NULL if the calls were not recorded.
--   source VARCHAR: Shared object that asked for it; NULL if not known.
--   pool_type VARCHAR: Whose memory pool it came from; none without one.
--   pool_address BIGINT: Address of that pool, as the bits of an unsigned number.
--   allocations BIGINT [allocations]: How many were held.
--   bytes BIGINT [bytes]: Their sizes together.
--   percent DOUBLE [%]: bytes as a share of what was in use at the peak.
WITH peaks AS (
    SELECT process_id, device_id, memory_kind, timestamp_ns AS peak_ns, in_use_bytes
    FROM memory_timeline
    WHERE is_peak
)
SELECT peaks.process_id, peaks.device_id, peaks.memory_kind, peak_ns, range, api_name, source,
       pool_type, pool_address, count(*) AS allocations, sum(bytes)::BIGINT AS bytes,
       100.0 * sum(bytes) / nullif(any_value(in_use_bytes), 0) AS percent
FROM peaks
JOIN allocation_site AS held
    ON held.process_id = peaks.process_id
    AND held.device_id IS NOT DISTINCT FROM peaks.device_id
    AND held.memory_kind IS NOT DISTINCT FROM peaks.memory_kind
WHERE held.start_ns <= peak_ns AND (held.end_ns IS NULL OR held.end_ns > peak_ns)
GROUP BY ALL
ORDER BY peaks.process_id, peaks.device_id, peaks.memory_kind, sum(bytes) DESC, range, api_name,
         source, pool_type, pool_address
