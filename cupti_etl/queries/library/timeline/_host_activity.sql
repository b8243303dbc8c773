-- What the host of each process was doing: intervals that do not overlap, without those outside
-- CUDA.
--
-- computed: Of all threads of a process together, the first that holds of: profiler (overhead of
--   CUPTI or the driver), waiting (a synchronizing call, or a copy that ended before its call
--   returned), memory (a call that allocates, frees, copies or sets), launching (a launching call),
--   other (any other CUDA call). Found in one sweep over the begins and ends of the calls.
-- needs: api_call, overhead, _blocking_copy
-- limits: Only calls that were recorded are seen. A call's class follows from its name.
-- scope: host start_ns to end_ns
-- columns:
--   process_id BIGINT: The process.
--   start_ns BIGINT [epoch ns]: Begin of the interval.
--   end_ns BIGINT [epoch ns]: Its end.
--   state VARCHAR: profiler, waiting, memory, launching or other.
WITH spans AS (
    SELECT process_id, start_ns, end_ns, 1 AS class FROM overhead
    UNION ALL
    SELECT process_id, start_ns, end_ns,
           CASE WHEN contains(name, 'Synchronize') OR name IN ('cudaMemcpy', 'cuMemcpy') THEN 2
                WHEN contains(name, 'Mem') OR contains(name, 'Malloc') OR contains(name, 'Free')
                     OR contains(name, 'HostAlloc') THEN 3
                WHEN contains(name, 'Launch') THEN 4
                ELSE 5 END
    FROM api_call
    UNION ALL
    SELECT process_id, start_ns, end_ns, 2 FROM _blocking_copy
),
events AS (
    SELECT process_id, start_ns AS at_ns, class, 1 AS step
    FROM spans
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    UNION ALL
    SELECT process_id, greatest(start_ns, end_ns), class, -1
    FROM spans
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
),
-- Twelve bits a class, so that one sum counts all five, of up to 4095 threads.
sweep AS (
    SELECT process_id, at_ns,
           TRY_CAST(sum(step * (1::BIGINT << (12 * (class - 1)))) OVER (
               PARTITION BY process_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING
           ) AS BIGINT) AS running,
           lead(at_ns) OVER (PARTITION BY process_id ORDER BY at_ns) AS until_ns
    FROM events
)
SELECT process_id, at_ns AS start_ns, until_ns AS end_ns,
       CASE WHEN running & 4095 > 0 THEN 'profiler'
            WHEN (running >> 12) & 4095 > 0 THEN 'waiting'
            WHEN (running >> 24) & 4095 > 0 THEN 'memory'
            WHEN (running >> 36) & 4095 > 0 THEN 'launching'
            ELSE 'other' END AS state
FROM sweep
WHERE running > 0 AND until_ns > at_ns
