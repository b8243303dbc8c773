-- From when to when each GPU was seen: from its first activity's start to its last one's end.
--
-- computed: Over finished activities, in parts where not all was recorded (_parted_span). In a
--   scope, the parts of that time that lie within.
-- materialized: Few rows, of all intervals.
-- scope: start_ns to end_ns
-- columns:
--   gpu, start_ns, end_ns of _parted_span
SELECT gpu, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM _stream_span
ANTI JOIN _not_recorded USING (gpu)
GROUP BY gpu
UNION ALL
FROM _parted_span
