-- Memory pools: how much they reserved, and how much of it was in use.
--
-- computed: Size and use of a pool of this process as its records and those of its allocations and
--   releases say; means are weighted by the time until the next record, where they are known.
-- requires:
--   memory: no allocations were recorded (capture with the kinds memory and memory_pool).
-- limits: Between two records nothing is known of a pool. Pools of other processes say no size.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   pool_address BIGINT: Address of the pool, as the bits of an unsigned number; NULL for the
--     allocator of a framework.
--   allocations BIGINT [allocations]: Allocations from it.
--   allocated_bytes BIGINT [bytes]: Their sizes together.
--   trims BIGINT [operations]: How often it was trimmed; NULL where no operations of pools were
--     recorded, as of the allocator of a framework.
--   peak_reserved_bytes BIGINT [bytes]: Its largest size.
--   peak_used_bytes BIGINT [bytes]: Most in use.
--   peak_used_ns BIGINT [epoch ns]: When that was; of several times, the first.
--   mean_reserved_bytes DOUBLE [bytes]: Mean size over time; NULL with one record.
--   mean_used_bytes DOUBLE [bytes]: Mean use over time; NULL with one record.
--   used_pct DOUBLE [%]: mean_used_bytes as a share of mean_reserved_bytes.
--   last_reserved_bytes BIGINT [bytes]: Its size at the last record.
--   last_used_bytes BIGINT [bytes]: Its use at the last record.
--   release_threshold_bytes BIGINT [bytes]: What it keeps and does not give back, at the end.
WITH records AS (
    SELECT process_id, device_id, pool_address, timestamp_ns, pool_bytes AS reserved_bytes,
           pool_utilized_bytes AS used_bytes, pool_release_threshold_bytes AS threshold_bytes,
           CASE WHEN operation = 'allocation' THEN bytes END AS allocated_bytes,
           operation = 'allocation' AS is_allocation, false AS is_trim
    FROM memory
    WHERE pool_bytes IS NOT NULL
    UNION ALL
    SELECT process_id, device_id, address, timestamp_ns, bytes, utilized_bytes,
           release_threshold_bytes, NULL, false, operation = 'trimmed'
    FROM memory_pool
    WHERE bytes IS NOT NULL
),
lasting AS (
    SELECT *, row_number() OVER line AS place,
           lead(timestamp_ns) OVER line - timestamp_ns AS length_ns
    FROM records
    WHERE timestamp_ns IS NOT NULL
    -- At one time, what is given out counts up and what comes back counts down.
    WINDOW line AS (
        PARTITION BY process_id, device_id, pool_address
        ORDER BY timestamp_ns, is_allocation,
                 CASE WHEN is_allocation THEN used_bytes ELSE -used_bytes END
    )
)
SELECT process_id, device_id, pool_address,
       count(*) FILTER (WHERE is_allocation) AS allocations,
       TRY_CAST(coalesce(sum(allocated_bytes), 0) AS BIGINT) AS allocated_bytes,
       CASE WHEN pool_address IS NOT NULL AND EXISTS (SELECT 1 FROM memory_pool)
            THEN count(*) FILTER (WHERE is_trim) END AS trims,
       max(reserved_bytes) AS peak_reserved_bytes,
       max(used_bytes) AS peak_used_bytes,
       arg_max(timestamp_ns, (used_bytes, -timestamp_ns))
           FILTER (WHERE used_bytes IS NOT NULL) AS peak_used_ns,
       sum(reserved_bytes::DOUBLE * length_ns) / nullif(sum(length_ns), 0) AS mean_reserved_bytes,
       sum(used_bytes::DOUBLE * length_ns)
           / nullif(sum(length_ns) FILTER (WHERE used_bytes IS NOT NULL), 0) AS mean_used_bytes,
       100.0 * mean_used_bytes / nullif(mean_reserved_bytes, 0) AS used_pct,
       arg_max(reserved_bytes, place) AS last_reserved_bytes,
       arg_max(used_bytes, place) AS last_used_bytes,
       arg_max(threshold_bytes, place) AS release_threshold_bytes
FROM lasting
GROUP BY process_id, device_id, pool_address
ORDER BY peak_reserved_bytes DESC, process_id, device_id, pool_address
