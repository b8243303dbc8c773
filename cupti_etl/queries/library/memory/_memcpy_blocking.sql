-- What memcpy_blocking sums, by the GPU that was copied to or from.
--
-- computed: As memcpy_blocking says.
-- requires: api_call
-- materialized: Made once for an opened trace, as calls and copies are joined.
-- lookup: gpu_interval, _busy_interval
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL if it is not known.
--   reason VARCHAR: pageable or synchronous.
--   api_name VARCHAR: Function called.
--   kind VARCHAR: memcpy or memset.
--   copy_kind VARCHAR: Direction, such as HtoD; NULL for a set.
--   src_kind VARCHAR: Kind of memory read; NULL for a set.
--   dst_kind VARCHAR: Kind of memory written.
--   calls BIGINT [calls]: How many.
--   bytes BIGINT [bytes]: Bytes copied or set, of those whose size is known; NULL if none is.
--   host_ns BIGINT [ns]: Time in the calls.
--   device_ns BIGINT [ns]: Time on the device.
--   saved_ns BIGINT [ns]: Time above that of calls that do not block.
--   idle_ns BIGINT [ns]: Of host_ns, while the GPU was idle.
WITH gpus AS (
    SELECT DISTINCT process_id, device_id, gpu
    FROM gpu_interval
    WHERE kind IN ('memcpy', 'memset')
),
busy AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns FROM _busy_interval WHERE work = 'any'
),
work AS (
    SELECT process_id, correlation_id, copy_kind, src_kind, dst_kind, is_async, start_ns
    FROM memcpy
    UNION ALL
    SELECT process_id, correlation_id, NULL, NULL, memory_kind, is_async, start_ns FROM memset
),
calls AS (
    SELECT work.* EXCLUDE (is_async),
           coalesce(is_async, contains(api_name, 'Async')
                              OR NOT regexp_matches(api_name, 'Mem(cpy|set)')) AS is_async,
           api_name, kind, bytes, api_start_ns, api_end_ns, gpu,
           api_end_ns - api_start_ns AS host_ns, end_ns - launches.start_ns AS device_ns
    FROM (
        SELECT * FROM launch_to_gpu WHERE kind IN ('memcpy', 'memset') AND NOT is_graph
    ) AS launches
    JOIN work USING (process_id, correlation_id, start_ns)
    LEFT JOIN gpus USING (process_id, device_id)
    WHERE api_end_ns IS NOT NULL
),
normal AS (
    SELECT coalesce(median(host_ns), 5000) AS normal_ns
    FROM calls
    WHERE is_async AND 'pageable' NOT IN (coalesce(src_kind, ''), coalesce(dst_kind, ''))
),
blocking AS (
    SELECT calls.*, CASE WHEN NOT is_async THEN 'synchronous' ELSE 'pageable' END AS reason,
           -- Time with activities up to the end of a call, less that up to its start.
           host_ns - coalesce(till.busy_before_ns + least(api_end_ns, till.end_ns) - till.start_ns,
                              0)
           + coalesce(since.busy_before_ns + least(api_start_ns, since.end_ns) - since.start_ns, 0)
               AS idle_ns
    FROM calls
    ASOF LEFT JOIN busy AS since
        ON since.gpu = calls.gpu
        AND since.start_ns <= calls.api_start_ns
    ASOF LEFT JOIN busy AS till ON till.gpu = calls.gpu AND till.start_ns <= calls.api_end_ns
    WHERE NOT is_async OR 'pageable' IN (coalesce(src_kind, ''), coalesce(dst_kind, ''))
)
SELECT gpu, reason, api_name, kind, copy_kind, src_kind, dst_kind, count(*) AS calls,
       TRY_CAST(sum(bytes) AS BIGINT) AS bytes, TRY_CAST(sum(host_ns) AS BIGINT) AS host_ns,
       TRY_CAST(coalesce(sum(device_ns), 0) AS BIGINT) AS device_ns,
       TRY_CAST(sum(greatest(host_ns - normal_ns, 0)) AS BIGINT) AS saved_ns,
       TRY_CAST(sum(idle_ns) AS BIGINT) AS idle_ns
FROM blocking, normal
GROUP BY gpu, reason, api_name, kind, copy_kind, src_kind, dst_kind
