-- What the devices did: kernels, copies, memsets and graphs in one shape.
--
-- computed: The rows of the tables one after another; nothing is joined or left out.
-- limits: A kernel is taken for communication as kernel_rule says, by its name.
-- columns:
--   process_id BIGINT: The traced process that made the record.
--   device_id INTEGER: CUDA ordinal of the device in its process; join device on both.
--   context_id, stream_id of kernel
--   correlation_id BIGINT: The call that asked for it; join launch on it and process_id.
--   start_ns BIGINT [epoch ns]: When it began.
--   end_ns BIGINT [epoch ns]: When it ended; NULL if it was still running.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p, memset or graph (one whose nodes are not recorded).
--   category VARCHAR: compute, communication or copy.
--   name VARCHAR: Mangled name of a kernel, direction of a copy, NULL for others.
--   bytes BIGINT [bytes]: Bytes copied or set; NULL for others.
--   graph_id, graph_node_id of kernel
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'kernel' AS kind,
       CASE WHEN name IN (FROM _communication_kernel) THEN 'communication' ELSE 'compute' END
           AS category,
       name, NULL::BIGINT AS bytes, graph_id, graph_node_id
FROM kernel
UNION ALL
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'memcpy', 'copy', copy_kind, bytes, graph_id, graph_node_id
FROM memcpy
UNION ALL
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'memcpy_p2p', 'copy', copy_kind, bytes, graph_id, graph_node_id
FROM memcpy_p2p
UNION ALL
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'memset', 'copy', NULL, bytes, graph_id, graph_node_id
FROM memset
UNION ALL
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'graph', 'compute', NULL, NULL, graph_id, NULL
FROM graph_trace
