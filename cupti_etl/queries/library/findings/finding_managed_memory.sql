-- How long managed memory moved while kernels ran, which then wait for it.
--
-- computed: The union of the moves between a GPU and others or the host, as far as kernels ran on
--   it meanwhile (union), without moves that the program asked for.
-- needs: unified_memory, gpu, _busy_interval
-- requires:
--   unified_memory: no managed memory was recorded (capture with the kind unified_memory).
--   _busy_interval: no finished GPU activity was recorded.
-- finding: kernels while managed memory moves (measured)
-- advice: prefetch it before they run (cudaMemPrefetchAsync), or use cudaMalloc and copies
-- shown: unified_memory_migration
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; NULL for all of them.
--   saved_ns BIGINT [ns]: What could be saved at most.
--   culprit VARCHAR: What is most to blame; NULL if that is not known.
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
    WHERE starts_with(counter, 'bytes_transfer') AND end_ns > start_ns
        AND migration_cause IS DISTINCT FROM 'user'
),
edges AS (
    SELECT gpu, greatest(start_ns, coalesce(until_ns, start_ns)) AS at_ns, -1 AS sign
    FROM moves
    WHERE coalesce(end_ns > until_ns, true)
    UNION ALL
    SELECT gpu, end_ns, 1 FROM moves WHERE coalesce(end_ns > until_ns, true)
),
running AS (
    SELECT gpu, start_ns, end_ns, busy_before_ns
    FROM _busy_interval
    WHERE work = 'compute_or_communication'
)
SELECT edges.gpu,
       TRY_CAST(coalesce(sum(sign * (busy_before_ns + least(at_ns, end_ns) - start_ns)), 0)
           AS BIGINT) AS saved_ns,
       (SELECT concat('most of it ', replace(counter, 'bytes_transfer_', ''))
        FROM moves
        WHERE moves.gpu = edges.gpu
        GROUP BY counter
        ORDER BY sum(end_ns - start_ns) DESC, counter
        LIMIT 1) AS culprit
FROM edges
ASOF LEFT JOIN running ON running.gpu = edges.gpu AND running.start_ns <= edges.at_ns
GROUP BY edges.gpu
