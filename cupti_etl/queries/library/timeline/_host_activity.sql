-- What the host of each process was doing: intervals that do not overlap, without those outside
-- CUDA.
--
-- computed: Of all threads of a process together, the first class of _host_span that any of them is
--   in. Waiting is also a copy that ended before its call returned (_blocking_copy). Found in one
--   sweep over the begins and ends of the calls.
-- limits: Only calls that were recorded are seen. Of each state, at most 1023 calls or overheads at
--   the same time are told apart.
-- scope: host start_ns to end_ns
-- columns:
--   process_id BIGINT: The process.
--   start_ns BIGINT [epoch ns]: Begin of the interval.
--   end_ns BIGINT [epoch ns]: Its end.
--   state VARCHAR: profiler, loading, waiting, memory, launching or other.
WITH spans AS (
    SELECT process_id, start_ns, end_ns, class FROM _host_span
    UNION ALL
    SELECT process_id, start_ns, end_ns, 2 FROM _blocking_copy WHERE is_done
),
events AS (
    SELECT process_id, unnest([start_ns, greatest(start_ns, end_ns)]) AS at_ns, class,
           unnest([1, -1]) AS step
    FROM spans
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
),
-- Ten bits a class, so that one sum counts all six.
sweep AS (
    SELECT process_id, at_ns,
           TRY_CAST(sum(step * (1::BIGINT << (10 * class))) OVER (
               PARTITION BY process_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING
           ) AS BIGINT) AS running,
           lead(at_ns) OVER (PARTITION BY process_id ORDER BY at_ns) AS until_ns
    FROM events
)
SELECT process_id, at_ns AS start_ns, until_ns AS end_ns,
       CASE WHEN running & 1023 > 0 THEN 'profiler'
            WHEN (running >> 10) & 1023 > 0 THEN 'loading'
            WHEN (running >> 20) & 1023 > 0 THEN 'waiting'
            WHEN (running >> 30) & 1023 > 0 THEN 'memory'
            WHEN (running >> 40) & 1023 > 0 THEN 'launching'
            ELSE 'other' END AS state
FROM sweep
WHERE running > 0 AND until_ns > at_ns
