-- When the host determined the run time: stretches between two of the GPU's on the critical path.
--
-- computed: A gap in which the GPU had no work until the host launched some (gap_attribution: more
--   than queued) leads to that call, or to when work that began later was, and along
--   the host back to the end of its process's last call that waited before (_host_span), while one
--   of its GPUs was busy; one that waits for its copy is such a call, too (_blocking_copy), and so
--   is one that frees memory while the GPU works (_freeing_call), up to when the GPU was done.
--   Where the call that launched waited itself when the GPU became idle, the host is on the path
--   from then on. The union of these.
-- materialized: Made once for an opened trace, as critical_path and kernel_slack read it.
-- limits: As of critical_path.
-- lookup: api_call, _host_span, _blocking_copy, _freeing_call, _busy_interval
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: End of the last call that waited, or of the work that a freeing
--     one or the launching one waited for, or begin of the GPU's span; not before a time without
--     records.
--   end_ns BIGINT [epoch ns]: End of the call that launched.
WITH gaps AS (
    SELECT * FROM _gap_edge
),
asked AS (
    SELECT process_id, next_correlation_id AS correlation_id FROM gaps
    UNION ALL
    SELECT process_id, first_correlation_id
    FROM gaps
    WHERE first_correlation_id < next_correlation_id
),
calls AS (
    SELECT process_id, correlation_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM api_call
    SEMI JOIN asked USING (process_id, correlation_id)
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, correlation_id
),
waited AS MATERIALIZED (
    SELECT process_id, correlation_id, start_ns, end_ns
    FROM _host_span
    WHERE source = 'api_call' AND class = 2
),
late AS (
    SELECT gaps.gpu, gaps.process_id, least(calls.start_ns, ahead.end_ns) AS call_ns,
           least(calls.end_ns, ahead.end_ns, gaps.end_ns) AS end_ns,
           CASE WHEN waiting.start_ns <= gaps.start_ns THEN gaps.start_ns END AS since_ns
    FROM gaps
    JOIN calls
        ON calls.process_id = gaps.process_id
        AND calls.correlation_id = gaps.next_correlation_id
    LEFT JOIN calls AS ahead
        ON ahead.process_id = gaps.process_id
        AND ahead.correlation_id = gaps.first_correlation_id
    -- A call that was waiting already when the GPU became idle was not late.
    LEFT JOIN _blocking_copy
        ON _blocking_copy.process_id = gaps.process_id
        AND _blocking_copy.correlation_id = gaps.next_correlation_id
        AND _blocking_copy.start_ns <= gaps.start_ns
    -- Others wait for what was asked before, then copy or make the device copy.
    LEFT JOIN (
        SELECT process_id, correlation_id, min(start_ns) AS start_ns
        FROM waited
        SEMI JOIN asked USING (process_id, correlation_id)
        GROUP BY process_id, correlation_id
    ) AS waiting
        ON waiting.process_id = gaps.process_id
        AND waiting.correlation_id = gaps.next_correlation_id
    WHERE least(calls.end_ns, ahead.end_ns) > gaps.start_ns AND _blocking_copy.end_ns IS NULL
),
used AS (
    SELECT DISTINCT process_id, gpu FROM _stream_span
),
busy AS (
    SELECT gpu, start_ns, end_ns FROM _busy_interval WHERE work = 'any'
),
freeing AS MATERIALIZED (
    FROM _freeing_call
),
waits AS (
    -- One that began when the GPUs had nothing left waited for nothing.
    SELECT span.process_id, span.end_ns
    FROM waited AS span
    JOIN used ON used.process_id = span.process_id
    ASOF JOIN busy ON busy.gpu = used.gpu AND busy.start_ns < span.end_ns
    WHERE busy.end_ns > span.start_ns
    UNION ALL
    SELECT process_id, end_ns FROM _blocking_copy
    UNION ALL
    -- What remains of it is work of the host's.
    SELECT freeing.process_id, busy.end_ns
    FROM freeing
    JOIN used ON used.process_id = freeing.process_id
    -- Mostly there is none, and nothing to be put in order.
    ASOF JOIN (FROM busy WHERE EXISTS (FROM freeing)) AS busy
        ON busy.gpu = used.gpu
        AND busy.end_ns <= freeing.end_ns
    WHERE busy.end_ns > freeing.start_ns
),
chains AS (
    -- What came before a time that was not recorded is not known.
    SELECT late.gpu, greatest(waits.end_ns, seen.start_ns, since_ns) AS start_ns, late.end_ns
    FROM late
    ASOF JOIN _gpu_span AS seen ON seen.gpu = late.gpu AND seen.start_ns <= late.end_ns
    ASOF LEFT JOIN waits ON waits.process_id = late.process_id AND waits.end_ns <= late.call_ns
    -- Of a gap that the end of a scope cuts, the chain may begin after that.
    WHERE coalesce(waits.end_ns, seen.start_ns) < late.end_ns
),
-- The union of the chains.
marked AS (
    SELECT *, max(end_ns) OVER (
                  PARTITION BY gpu ORDER BY start_ns, end_ns
                  ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
              ) AS until_ns
    FROM chains
),
numbered AS (
    -- With FILTER, DuckDB would count anew for each row.
    SELECT *, count(CASE WHEN until_ns IS NULL OR start_ns > until_ns THEN 1 END) OVER (
                  PARTITION BY gpu ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
              ) AS number
    FROM marked
)
SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM numbered
GROUP BY gpu, number
