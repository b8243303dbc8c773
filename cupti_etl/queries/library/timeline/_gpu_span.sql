-- From when to when each GPU was seen: from its first activity's start to its last one's end.
--
-- computed: Over finished activities, without the times between two of them in which work of the
--   GPU was not recorded (_not_recorded): such a time parts what was seen. In a scope, the parts of
--   that time that lie within.
-- materialized: Few rows, of all intervals.
-- scope: start_ns to end_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
WITH busy AS (
    SELECT gpu, start_ns, end_ns FROM _busy_interval WHERE work = 'any'
),
-- Most traces are recorded without an interruption, and have one piece.
ordered AS (
    SELECT *, lag(end_ns) OVER (PARTITION BY gpu ORDER BY start_ns) AS until_ns
    FROM busy
    WHERE EXISTS (SELECT 1 FROM _not_recorded)
),
pieces AS (
    SELECT ordered.gpu, ordered.start_ns, ordered.end_ns,
           count(*) FILTER (WHERE until_ns IS NULL OR off.end_ns > until_ns)
               OVER (PARTITION BY ordered.gpu ORDER BY ordered.start_ns) AS piece
    FROM ordered
    ASOF LEFT JOIN _not_recorded AS off
        ON off.gpu = ordered.gpu
        AND off.start_ns < ordered.start_ns
)
SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM busy
WHERE NOT EXISTS (SELECT 1 FROM _not_recorded)
GROUP BY gpu
UNION ALL
SELECT gpu, min(start_ns), max(end_ns)
FROM pieces
GROUP BY gpu, piece
