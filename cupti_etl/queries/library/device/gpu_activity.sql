-- What the devices did: kernels, copies and sets in one shape.
--
-- computed: The rows of the three tables one after another; nothing is joined or left out.
-- needs: kernel, memcpy, memset
-- columns:
--   process_id BIGINT: The traced process that made the record.
--   device_id INTEGER: CUDA ordinal of the device in its process; join device on both.
--   context_id INTEGER: Context it ran in.
--   stream_id INTEGER: Stream it ran in.
--   correlation_id BIGINT: The call that asked for it; join launch on it and process_id.
--   start_ns BIGINT [ns]: When it began.
--   end_ns BIGINT [ns]: When it ended; NULL if it was still running.
--   kind VARCHAR: kernel, memcpy or memset.
--   name VARCHAR: Mangled name of a kernel, direction of a copy, NULL for a set.
--   bytes BIGINT [bytes]: Bytes copied or set; NULL for a kernel.
--   graph_id INTEGER: CUDA graph that launched it; NULL outside graphs.
--   graph_node_id BIGINT: Node of that graph; NULL outside graphs.
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'kernel' AS kind, name, NULL::BIGINT AS bytes, graph_id, graph_node_id
FROM kernel
UNION ALL
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'memcpy', copy_kind, bytes, graph_id, graph_node_id
FROM memcpy
UNION ALL
SELECT process_id, device_id, context_id, stream_id, correlation_id, start_ns, end_ns,
       'memset', NULL, bytes, graph_id, graph_node_id
FROM memset
