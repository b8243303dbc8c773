-- Finished activities with the number of their GPU: what queries that count them are made from.
--
-- computed: gpu_interval. In a part of a trace those that start there, as a whole.
-- needs: gpu_interval
-- scope: start_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p, memset or graph.
--   category VARCHAR: compute, communication or copy.
--   name VARCHAR: Mangled name of a kernel, direction of a copy, NULL for others.
--   bytes BIGINT [bytes]: Bytes copied or set; NULL for others.
SELECT gpu, start_ns, end_ns, kind, category, name, bytes
FROM gpu_interval
