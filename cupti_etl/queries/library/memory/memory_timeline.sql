-- Memory in use over time, by device and kind, with its peak.
--
-- computed: Bytes allocated and not yet released, after each change.
-- needs: allocation
-- requires:
--   memory: no allocations were recorded (capture with the kind memory).
-- limits: Starts from nothing: what was allocated before the capture began is not counted, nor are
--   allocations at times that are not known.
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   memory_kind VARCHAR: Kind of memory, such as device or pinned.
--   timestamp_ns BIGINT [ns]: When it changed.
--   change_bytes BIGINT [bytes]: By how much; below zero for a release.
--   in_use_bytes BIGINT [bytes]: Bytes in use from then on.
--   allocations BIGINT [allocations]: Allocations in use from then on.
--   is_peak BOOLEAN: Whether no more was in use at any other time; of several, the first.
WITH changes AS (
    SELECT process_id, device_id, memory_kind, start_ns AS timestamp_ns, bytes AS change_bytes,
           1 AS step
    FROM allocation
    WHERE start_ns IS NOT NULL
    UNION ALL
    SELECT process_id, device_id, memory_kind, end_ns, -bytes, -1
    FROM allocation
    WHERE end_ns IS NOT NULL
),
running AS (
    SELECT *,
           sum(change_bytes) OVER kind AS in_use_bytes, sum(step) OVER kind AS allocations
    FROM changes
    WINDOW kind AS (
        PARTITION BY process_id, device_id, memory_kind ORDER BY timestamp_ns, step
        ROWS UNBOUNDED PRECEDING
    )
)
SELECT process_id, device_id, memory_kind, timestamp_ns, change_bytes,
       in_use_bytes::BIGINT AS in_use_bytes, allocations::BIGINT AS allocations,
       row_number() OVER (
           PARTITION BY process_id, device_id, memory_kind ORDER BY in_use_bytes DESC, timestamp_ns
       ) = 1 AS is_peak
FROM running
ORDER BY timestamp_ns, process_id, device_id, memory_kind
