-- From when to when each GPU was seen: from its first activity's start to its last one's end.
--
-- computed: Over finished activities, without the times between two of them in which work of the
--   GPU was not recorded (_not_recorded): such a time parts what was seen. In a scope, the parts of
--   that time that lie within.
-- needs: _busy_interval, _not_recorded
-- scope: start_ns to end_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
WITH busy AS (
    SELECT gpu, start_ns, end_ns,
           lag(end_ns) OVER (PARTITION BY gpu ORDER BY start_ns) AS until_ns
    FROM _busy_interval
    WHERE work = 'any'
),
-- What begins after a time in which nothing was recorded.
parted AS (
    SELECT DISTINCT busy.gpu, busy.start_ns
    FROM busy
    JOIN _not_recorded AS off
        ON off.gpu = busy.gpu AND off.start_ns < busy.start_ns AND off.end_ns > busy.until_ns
),
pieces AS (
    SELECT busy.*,
           count(parted.start_ns) OVER (PARTITION BY busy.gpu ORDER BY busy.start_ns) AS piece
    FROM busy
    LEFT JOIN parted ON parted.gpu = busy.gpu AND parted.start_ns = busy.start_ns
)
SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM pieces
GROUP BY gpu, piece
