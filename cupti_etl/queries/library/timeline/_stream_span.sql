-- From when to when each process worked on each stream of a GPU.
--
-- computed: Over finished activities: the first start and the last end.
-- materialized: Few rows, of all intervals.
-- columns:
--   gpu, process_id, stream_id of gpu_interval
--   start_ns BIGINT [epoch ns]: When the first began.
--   end_ns BIGINT [epoch ns]: When the last ended.
SELECT gpu, process_id, stream_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns
FROM gpu_interval
GROUP BY gpu, process_id, stream_id
