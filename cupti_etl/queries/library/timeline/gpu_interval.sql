-- Finished activities with the number of their GPU: what queries about time are made from.
--
-- computed: gpu_activity with gpu; an end before the start is taken for the start.
-- scope: start_ns to end_ns
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu; below zero where no device record is known.
--   process_id, device_id, context_id, stream_id of kernel
--   correlation_id BIGINT: The call that asked for it.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p, memset or graph.
--   category, name, bytes, graph_id, graph_node_id of gpu_activity
SELECT coalesce(gpu.gpu, -1 - TRY_CAST((hash(act.process_id, act.device_id) >> 33) AS BIGINT))
           AS gpu,
       act.process_id, act.device_id, act.context_id, act.stream_id, act.correlation_id,
       act.start_ns, greatest(act.start_ns, act.end_ns) AS end_ns,
       act.kind, act.category, act.name, act.bytes, act.graph_id,
       act.graph_node_id
FROM gpu_activity AS act
LEFT JOIN gpu ON gpu.process_id = act.process_id AND gpu.device_id = act.device_id
WHERE act.start_ns IS NOT NULL AND act.end_ns IS NOT NULL
