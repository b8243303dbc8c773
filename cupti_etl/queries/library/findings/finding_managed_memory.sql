-- How long kernels waited for managed memory that was not where they ran.
--
-- computed: The union of the page faults of a GPU and of the moves between it and others or the
--   host, as far as kernels ran on it meanwhile (union), without moves that the program asked for
--   and without those to the host that the host caused when it touched the memory: for these it is
--   the host that waits. The culprit is what most of that time was of: faults, or moves in a
--   direction; it says where faults, for which kernels wait longer than for the moves, were not
--   recorded.
-- requires: unified_memory, _gpu_span
-- limits: What the host waits for in page faults of its own is not recorded.
-- finding: kernels wait for managed memory (measured)
-- advice: prefetch it before they run (cudaMemPrefetchAsync), or use cudaMalloc and copies
-- shown: unified_memory_migration
WITH moves AS (
    SELECT gpu.gpu, counter, start_ns, end_ns,
           max(end_ns) OVER (
               PARTITION BY gpu.gpu ORDER BY start_ns, end_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS until_ns
    FROM unified_memory AS moved
    JOIN gpu
        ON gpu.process_id = moved.process_id
        AND gpu.device_id = coalesce(dst_device_id, src_device_id)
    WHERE (starts_with(counter, 'bytes_transfer') OR counter = 'gpu_page_fault')
        AND end_ns > start_ns AND migration_cause IS DISTINCT FROM 'user'
        -- A kernel waits for what is evicted to make room for its own.
        AND NOT coalesce(
            counter = 'bytes_transfer_DtoH' AND migration_cause IN ('coherence', 'prefetch'), false
        )
),
running AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns
    FROM _busy_interval
    WHERE work = 'compute_or_communication'
),
-- Of the union, and of the faults, and of the moves of each direction.
edges AS (
    SELECT gpu, NULL AS counter, unnest([-1, 1]) AS sign,
           unnest([greatest(start_ns, coalesce(until_ns, start_ns)), end_ns]) AS at_ns
    FROM moves
    WHERE coalesce(end_ns > until_ns, true)
    UNION ALL
    SELECT gpu, counter, unnest([-1, 1]), unnest([start_ns, end_ns]) FROM moves
),
beside AS (
    SELECT edges.gpu, counter,
           TRY_CAST(coalesce(sum(sign * (busy_before_ns + least(at_ns, end_ns) - start_ns)), 0)
               AS BIGINT) AS ns
    FROM edges
    ASOF LEFT JOIN running ON running.gpu = edges.gpu AND running.start_ns <= edges.at_ns
    GROUP BY edges.gpu, counter
)
SELECT gpu, any_value(ns) FILTER (WHERE counter IS NULL) AS saved_ns,
       'above all ' || replace(replace(
           arg_min(counter, (-ns, counter)) FILTER (WHERE counter IS NOT NULL),
           'bytes_transfer_', ''), 'gpu_page_fault', 'in page faults')
           || CASE WHEN NOT EXISTS (FROM unified_memory WHERE counter = 'gpu_page_fault')
                   THEN ' (without page faults, which were not recorded)' ELSE '' END AS culprit
FROM beside
GROUP BY gpu
