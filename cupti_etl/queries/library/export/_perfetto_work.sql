-- Work of GPUs, as a Perfetto trace shows it.
--
-- computed: The rows of the tables one after another; nothing is joined, so their order is that of
--   the trace.
-- columns:
--   stage BIGINT: 1 kernel, 2 copy, 3 memset, 4 graph whose nodes are not recorded.
--   stream_key UBIGINT: Its stream, as in _perfetto_stream.
--   correlation_id BIGINT: The call that asked for it.
--   start_ns BIGINT [epoch ns]: When it began.
--   duration_ns BIGINT [ns]: How long it took; NULL if it was still running.
--   mangled VARCHAR: Mangled name of a kernel; NULL for others.
--   label VARCHAR: What other work is called; NULL for kernels.
--   grid_x BIGINT [blocks]: Grid, as are the following; NULL for others than kernels.
--   grid_y BIGINT [blocks]: Grid.
--   grid_z BIGINT [blocks]: Grid.
--   block_x BIGINT [threads]: Block.
--   block_y BIGINT [threads]: Block.
--   block_z BIGINT [threads]: Block.
--   registers_per_thread BIGINT [registers]: Registers that each thread uses.
--   shared_mem_static BIGINT [bytes]: Shared memory that the kernel declares.
--   shared_mem_dynamic BIGINT [bytes]: Shared memory that the launch asks for.
--   graph BIGINT: CUDA graph that launched it; NULL outside graphs.
--   graph_node BIGINT: Node of that graph; NULL outside graphs.
--   bytes BIGINT [bytes]: Bytes copied or set; NULL for kernels.
SELECT stage, hash(process_id, device_id, context_id, stream_id) AS stream_key, correlation_id,
       start_ns, CASE WHEN end_ns < start_ns THEN 0 ELSE end_ns - start_ns END AS duration_ns,
       CASE WHEN stage = 1 THEN coalesce(name, '') END AS mangled, label,
       COLUMNS('^((grid|block)_[xyz]|registers_per_thread)$')::BIGINT,
       static_shared_bytes::BIGINT AS shared_mem_static,
       dynamic_shared_bytes::BIGINT AS shared_mem_dynamic,
       graph_id::BIGINT AS graph, graph_node_id AS graph_node, bytes
FROM (
    SELECT *, 1::BIGINT AS stage FROM kernel
    UNION ALL BY NAME
    SELECT *, 2 AS stage,
           concat('Memcpy ', copy_kind, ' (' || replace(src_kind, '_', ' ') || ' -> '
                  || replace(dst_kind, '_', ' ') || ')') AS label
    FROM memcpy
    UNION ALL BY NAME
    SELECT *, 2 AS stage,
           concat('Memcpy ', copy_kind, ' (GPU ' || src_device_id || ' -> GPU ' || dst_device_id
                  || ')') AS label
    FROM memcpy_p2p
    UNION ALL BY NAME
    SELECT *, 3 AS stage, concat('Memset', ' (' || replace(memory_kind, '_', ' ') || ')') AS label
    FROM memset
    UNION ALL BY NAME
    SELECT *, 4 AS stage, concat('graph ', graph_id) AS label FROM graph_trace
)
WHERE start_ns >= 0
