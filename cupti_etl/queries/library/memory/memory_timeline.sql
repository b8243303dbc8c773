-- Memory in use over time, by device and kind, with its peak.
--
-- computed: What an allocator says that it has given out on the device (memory.pool_utilized_bytes
--   of a pool without an address, as PyTorch's), where it does; else bytes allocated and not yet
--   released, after each change. Without addresses, all that was allocated less all that was
--   released, over the least that must have been there before.
-- requires: memory
-- limits: Where nobody says the sum, it starts from nothing: what was allocated before the capture
--   began is not counted, nor are allocations at times or of sizes that are not known.
-- scope: host timestamp_ns
-- columns:
--   process_id, device_id, memory_kind of allocation
--   timestamp_ns BIGINT [epoch ns]: When it changed.
--   change_bytes BIGINT [bytes]: By how much; below zero for a release.
--   in_use_bytes BIGINT [bytes]: Bytes in use from then on.
--   allocations BIGINT [allocations]: Of the recorded allocations, those in use from then on; NULL
--     without addresses.
--   is_peak BOOLEAN: Whether no more was in use at any other time; of several, the first.
WITH bare AS (
    SELECT process_id, device_id, memory_kind, timestamp_ns,
           CASE operation WHEN 'allocation' THEN bytes ELSE -bytes END AS change_bytes,
           sum(change_bytes) OVER (
               PARTITION BY process_id, device_id, memory_kind
               ORDER BY timestamp_ns, change_bytes DESC ROWS UNBOUNDED PRECEDING
           ) AS balance_bytes
    FROM memory
    WHERE address IS NULL AND pool_utilized_bytes IS NULL AND timestamp_ns IS NOT NULL
        AND bytes IS NOT NULL
),
told AS (
    SELECT process_id, device_id, memory_kind, timestamp_ns, pool_utilized_bytes AS told_bytes,
           CASE operation WHEN 'allocation' THEN bytes ELSE -bytes END AS change_bytes,
           CASE WHEN operation = 'allocation' THEN 1
                WHEN lag(operation) OVER (PARTITION BY process_id, address ORDER BY timestamp_ns)
                     = 'allocation' THEN -1 ELSE 0 END AS step
    FROM memory
    WHERE pool_utilized_bytes IS NOT NULL AND pool_address IS NULL AND timestamp_ns IS NOT NULL
    UNION ALL
    -- What was released beyond what had been allocated was there before.
    SELECT process_id, device_id, memory_kind, timestamp_ns,
           balance_bytes - least(0, min(balance_bytes) OVER (
               PARTITION BY process_id, device_id, memory_kind
           )), change_bytes, NULL
    FROM bare
),
untold AS (
    SELECT allocation.*
    FROM allocation
    ANTI JOIN told
        ON told.process_id IS NOT DISTINCT FROM allocation.process_id
        AND told.device_id IS NOT DISTINCT FROM allocation.device_id
        AND told.memory_kind IS NOT DISTINCT FROM allocation.memory_kind
),
changes AS (
    FROM told
    UNION ALL
    SELECT process_id, device_id, memory_kind, start_ns, NULL, bytes, 1
    FROM untold
    WHERE start_ns IS NOT NULL AND bytes IS NOT NULL
    UNION ALL
    SELECT process_id, device_id, memory_kind, end_ns, NULL, -bytes, -1
    FROM untold
    WHERE end_ns IS NOT NULL AND bytes IS NOT NULL
),
running AS (
    SELECT *, coalesce(told_bytes, sum(change_bytes) OVER kind) AS in_use_bytes,
           sum(step) OVER kind AS allocations, row_number() OVER kind AS place
    FROM changes
    -- At one time, what is given out counts up and what comes back counts down.
    WINDOW kind AS (
        PARTITION BY process_id, device_id, memory_kind
        ORDER BY timestamp_ns, step, step * told_bytes, change_bytes
        ROWS UNBOUNDED PRECEDING
    )
)
SELECT process_id, device_id, memory_kind, timestamp_ns, change_bytes,
       TRY_CAST(in_use_bytes AS BIGINT) AS in_use_bytes,
       TRY_CAST(allocations AS BIGINT) AS allocations,
       row_number() OVER (
           PARTITION BY process_id, device_id, memory_kind ORDER BY in_use_bytes DESC, place
       ) = 1 AS is_peak
FROM running
ORDER BY timestamp_ns, process_id, device_id, memory_kind, place
