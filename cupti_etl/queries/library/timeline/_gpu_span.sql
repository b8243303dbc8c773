-- From when to when each GPU was seen: from its first activity's start to its last one's end.
--
-- computed: Over finished activities. In a scope, the parts of that time that lie within.
-- needs: _busy_interval
-- scope: start_ns to end_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM _busy_interval
WHERE work = 'any'
GROUP BY gpu
