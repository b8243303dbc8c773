-- In which function of CUDA the host was longest while each GPU was idle.
--
-- computed: Of calls of _host_span about memory, and of those that are in no other class: the one
--   most of which lies in gaps of the GPU in which the host is to blame (all but queued_ns and
--   unknown_ns of _gap_cause), of all threads together. Copies for which their call waits are left
--   out: they are waits.
-- materialized: Made once for an opened trace, as it looks at all calls.
-- lookup: _host_span, _blocking_copy
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   class INTEGER: 3 memory or 5 other, as in _host_span.
--   name VARCHAR: Function called.
WITH gaps AS (
    SELECT gpu, process_id, start_ns, start_ns + gap_ns - queued_ns - unknown_ns AS end_ns,
           coalesce(sum(gap_ns - queued_ns - unknown_ns) OVER (
               PARTITION BY gpu, process_id ORDER BY start_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), 0) AS before_ns
    FROM _gap_cause
),
calls AS (
    SELECT process_id, class, name, start_ns, end_ns
    FROM _host_span
    ANTI JOIN (SELECT * FROM _blocking_copy WHERE is_done) USING (process_id, correlation_id)
    WHERE source = 'api_call' AND class IN (3, 5) AND start_ns IS NOT NULL AND end_ns IS NOT NULL
),
each AS (
    SELECT gpu, calls.*
    FROM calls
    JOIN (SELECT DISTINCT gpu, process_id FROM gaps) AS used USING (process_id)
),
edges AS (
    SELECT gpu, process_id, class, name, unnest([start_ns, greatest(start_ns, end_ns)]) AS at_ns,
           unnest([-1, 1]) AS sign
    FROM each
),
spent AS (
    SELECT edges.gpu, class, name,
           sum(sign * (before_ns + least(at_ns, gaps.end_ns) - gaps.start_ns)) AS idle_ns
    FROM edges
    ASOF JOIN gaps
        ON gaps.gpu = edges.gpu
        AND gaps.process_id = edges.process_id
        AND gaps.start_ns <= edges.at_ns
    GROUP BY edges.gpu, class, name
)
SELECT gpu, class, arg_min(name, (-idle_ns, name)) AS name
FROM spent
WHERE idle_ns > 0
GROUP BY gpu, class
