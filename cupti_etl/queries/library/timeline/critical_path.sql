-- What the run time hung on: the chain of work and waits that leads to the end, by class.
--
-- computed: Walked back from the last end on each GPU. While the GPU is busy, or has work launched,
--   the chain is on the GPU. A gap that ended only when the host launched (gap_attribution: more
--   than queued) leads to that call and along the host back to the end of its process's last
--   synchronizing call before it, whence it goes on on the GPU: what ran there meanwhile had slack.
--   A copy that ended before its call returned is such a call, too. The classes of a GPU add to
--   its span.
-- needs: gpu_gaps, api_call, blocking_copy, busy_interval
-- requires:
--   api_call: no API calls were recorded (capture with --api default), so the host is not seen.
--   busy_interval: no finished GPU activity was recorded.
-- limits: One GPU and the process that it waits for at a time: chains over other GPUs and processes
--   end at communication. Waits for events are part of idle.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   class VARCHAR: host, compute, communication, copy, or idle (launched and not begun).
--   total_ns BIGINT [ns]: Time of the chain in the class.
--   percent DOUBLE [%]: total_ns as a share of the span of the GPU.
--   slack_ns BIGINT [ns]: Time of the GPU in the class beside the chain; 0 for host and idle.
WITH gaps AS (
    SELECT * FROM gpu_gaps(0)
),
calls AS (
    SELECT process_id, correlation_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM api_call
    SEMI JOIN gaps
        ON gaps.process_id = api_call.process_id
        AND gaps.next_correlation_id = api_call.correlation_id
    GROUP BY process_id, correlation_id
),
late AS (
    SELECT gaps.gpu, gaps.process_id, calls.start_ns AS call_ns,
           least(calls.end_ns, gaps.end_ns) AS end_ns
    FROM gaps
    JOIN calls
        ON calls.process_id = gaps.process_id
        AND calls.correlation_id = gaps.next_correlation_id
    -- A call that was waiting already when the GPU became idle was not late.
    LEFT JOIN blocking_copy
        ON blocking_copy.process_id = gaps.process_id
        AND blocking_copy.correlation_id = gaps.next_correlation_id
        AND blocking_copy.start_ns <= gaps.start_ns
    WHERE calls.end_ns > gaps.start_ns AND blocking_copy.end_ns IS NULL
),
waits AS (
    SELECT process_id, end_ns
    FROM api_call
    WHERE end_ns IS NOT NULL AND contains(name, 'Synchronize')
    UNION ALL
    SELECT process_id, end_ns FROM blocking_copy
),
spans AS (
    SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM busy_interval GROUP BY gpu
),
chains AS (
    SELECT late.gpu, greatest(coalesce(waits.end_ns, spans.start_ns), spans.start_ns) AS start_ns,
           late.end_ns
    FROM late
    JOIN spans ON spans.gpu = late.gpu
    ASOF LEFT JOIN waits ON waits.process_id = late.process_id AND waits.end_ns <= late.call_ns
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
    SELECT *, count(*) FILTER (WHERE until_ns IS NULL OR start_ns > until_ns) OVER (
                  PARTITION BY gpu ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
              ) AS number
    FROM marked
),
host AS (
    SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM numbered
    GROUP BY gpu, number
),
edges AS (
    SELECT gpu, work, start_ns AS at_ns, -1 AS sign FROM host, (VALUES ('compute'),
        ('compute_or_communication'), ('any')) AS sets(work)
    UNION ALL
    SELECT gpu, work, end_ns, 1 FROM host, (VALUES ('compute'),
        ('compute_or_communication'), ('any')) AS sets(work)
),
beside AS (
    SELECT edges.gpu, edges.work,
           coalesce(sum(sign * (busy_before_ns + least(at_ns, busy.end_ns) - busy.start_ns)), 0)
               AS ns
    FROM edges
    ASOF LEFT JOIN busy_interval AS busy
        ON busy.gpu = edges.gpu
        AND busy.work = edges.work
        AND busy.start_ns <= edges.at_ns
    GROUP BY edges.gpu, edges.work
),
sums AS (
    SELECT gpu, work, sum(end_ns - start_ns) AS ns FROM busy_interval GROUP BY gpu, work
),
totals AS (
    SELECT spans.gpu, end_ns - start_ns AS span_ns,
           coalesce((SELECT sum(end_ns - start_ns) FROM host WHERE host.gpu = spans.gpu), 0)
               AS host_ns,
           coalesce((SELECT ns FROM sums WHERE gpu = spans.gpu AND work = 'compute'), 0) AS m,
           coalesce((SELECT ns FROM sums
                     WHERE gpu = spans.gpu AND work = 'compute_or_communication'), 0) AS mc,
           coalesce((SELECT ns FROM sums WHERE gpu = spans.gpu AND work = 'any'), 0) AS a,
           coalesce((SELECT ns FROM beside WHERE gpu = spans.gpu AND work = 'compute'), 0) AS hm,
           coalesce((SELECT ns FROM beside
                     WHERE gpu = spans.gpu AND work = 'compute_or_communication'), 0) AS hmc,
           coalesce((SELECT ns FROM beside WHERE gpu = spans.gpu AND work = 'any'), 0) AS ha
    FROM spans
    WHERE EXISTS (SELECT 1 FROM api_call)
),
classes AS (
    SELECT gpu, span_ns, 1 AS place, 'host' AS class, host_ns AS total_ns, 0 AS slack_ns FROM totals
    UNION ALL
    SELECT gpu, span_ns, 2, 'compute', m - hm, hm FROM totals
    UNION ALL
    SELECT gpu, span_ns, 3, 'communication', mc - hmc - (m - hm), hmc - hm FROM totals
    UNION ALL
    SELECT gpu, span_ns, 4, 'copy', a - ha - (mc - hmc), ha - hmc FROM totals
    UNION ALL
    SELECT gpu, span_ns, 5, 'idle', span_ns - host_ns - (a - ha), 0 FROM totals
)
SELECT gpu, class, total_ns::BIGINT AS total_ns,
       100.0 * total_ns / nullif(span_ns, 0) AS percent, slack_ns::BIGINT AS slack_ns
FROM classes
ORDER BY gpu, place
