-- Finished activities with the number of their GPU: what queries that count them are made from.
--
-- computed: gpu_interval. In a part of a trace those that start there, as a whole.
-- scope: start_ns
-- columns:
--   gpu, start_ns, end_ns, kind, category, name, bytes of gpu_interval
SELECT gpu, start_ns, end_ns, kind, category, name, bytes
FROM gpu_interval
