-- Who held memory when most was in use: by NVTX range, function, shared object and pool.
--
-- computed: Of each process, device and kind of memory, the allocations of allocation_site that
--   were made by the peak of memory_timeline and not yet released. Where an allocator says that it
--   had given out more than they add to, a row without allocations has the rest. So it is with
--   allocations whose addresses are not known.
-- requires: memory
--   memory_timeline: no memory was allocated.
-- materialized: Few rows, of all allocations.
-- limits: As of memory_timeline. What a framework's own allocator gives out is one holder, its
--   pool.
-- shared: _step_name
-- front: Who held memory when most was in use?
-- first: bytes, percent, allocations, memory_kind, range, source, api_name, peak_ns
-- label: range = range(range)
-- chart: bars(range, bytes)
-- scope: whole
-- columns:
--   process_id, device_id, memory_kind of allocation_site
--   peak_ns BIGINT [epoch ns]: When most was in use.
--   range of allocation_site
--   api_name VARCHAR: Function that allocated; NULL if the calls were not recorded.
--   source VARCHAR: Shared object or allocator that asked for it; NULL if not known; for the rest
--     "allocated before the recording" or "addresses are not known".
--   pool_type, pool_address of allocation_site
--   allocations BIGINT [allocations]: How many were held; NULL for the rest.
--   bytes BIGINT [bytes]: Their sizes together.
--   percent DOUBLE [%]: bytes as a share of what was in use at the peak.
WITH peaks AS (
    SELECT process_id, device_id, memory_kind, timestamp_ns AS peak_ns, in_use_bytes
    FROM memory_timeline
    WHERE is_peak
),
held AS (
    SELECT peaks.*, site.* EXCLUDE (process_id, device_id, memory_kind, end_ns)
    FROM peaks
    JOIN allocation_site AS site
        ON site.process_id = peaks.process_id
        AND site.device_id IS NOT DISTINCT FROM peaks.device_id
        AND site.memory_kind IS NOT DISTINCT FROM peaks.memory_kind
    WHERE site.start_ns <= peak_ns AND (site.end_ns IS NULL OR site.end_ns > peak_ns)
),
rests AS (
    SELECT peaks.*, in_use_bytes - coalesce(known_bytes, 0) AS rest_bytes,
           CASE WHEN peaks.process_id IN (
                    SELECT process_id FROM memory WHERE operation = 'allocation' AND address IS NULL
                ) THEN 'addresses are not known'
                ELSE 'allocated before the recording' END AS source
    FROM peaks
    LEFT JOIN (SELECT process_id, device_id, memory_kind, sum(bytes) AS known_bytes
               FROM held
               GROUP BY process_id, device_id, memory_kind) AS known
        ON known.process_id = peaks.process_id
        AND known.device_id IS NOT DISTINCT FROM peaks.device_id
        AND known.memory_kind IS NOT DISTINCT FROM peaks.memory_kind
),
holders AS (
    SELECT process_id, device_id, memory_kind, peak_ns, range, api_name, source, pool_type,
           pool_address, count(*) AS allocations, TRY_CAST(sum(bytes) AS BIGINT) AS bytes,
           in_use_bytes
    FROM held
    GROUP BY ALL
    UNION ALL
    SELECT process_id, device_id, memory_kind, peak_ns, NULL, NULL, source, NULL, NULL, NULL,
           TRY_CAST(rest_bytes AS BIGINT), in_use_bytes
    FROM rests
    WHERE rest_bytes > 0
)
SELECT * EXCLUDE (in_use_bytes), 100.0 * bytes / nullif(in_use_bytes, 0) AS percent
FROM holders
ORDER BY device_id, process_id, memory_kind, bytes DESC, range, api_name, source, pool_type,
         pool_address;

-- merge
FROM partial
ORDER BY device_id, process_id, memory_kind, bytes DESC, range, api_name, source, pool_type,
         pool_address
