-- What graph launches asked the GPUs to do: kernels, copies, sets, and graphs as a whole.
--
-- computed: Rows of gpu_activity whose graph is known, and those of calls of graph_launch, as
--   traces of other tools often do not number graphs and their nodes.
-- needs: gpu_activity, graph_launch
-- scope: start_ns
-- columns:
--   process_id BIGINT: The traced process that made the record.
--   device_id INTEGER: CUDA ordinal of the device in its process; join device on both.
--   context_id INTEGER: Context it ran in.
--   stream_id INTEGER: Stream it ran in.
--   correlation_id BIGINT: The call that asked for it; join launch on it and process_id.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it was still running.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p, memset or graph (one whose nodes are not recorded).
--   category VARCHAR: compute, communication or copy.
--   name VARCHAR: Mangled name of a kernel, direction of a copy, NULL for others.
--   bytes BIGINT [bytes]: Bytes copied or set; NULL for others.
--   graph_id INTEGER: CUDA graph that launched it; NULL if it is not known.
--   graph_node_id BIGINT: Node of that graph; NULL if it is not known.
SELECT *
FROM gpu_activity
WHERE graph_id IS NOT NULL OR graph_node_id IS NOT NULL
UNION ALL
SELECT *
FROM gpu_activity
SEMI JOIN graph_launch USING (process_id, correlation_id)
WHERE graph_id IS NULL AND graph_node_id IS NULL
