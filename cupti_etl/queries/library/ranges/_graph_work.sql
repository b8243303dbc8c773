-- What graph launches asked the GPUs to do: kernels, copies, memsets, and graphs as a whole.
--
-- computed: Rows of gpu_activity whose graph is known, and those of calls of graph_launch, as
--   traces of other tools often do not number graphs and their nodes.
-- scope: start_ns
-- columns:
--   process_id, device_id, context_id of gpu_activity
--   stream_id, correlation_id, start_ns, end_ns, kind, category, name, bytes of gpu_activity
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
