-- Finished activities of CUDA graphs that were replayed, with the stacks of their capture.
--
-- computed: gpu_interval with _graph_node_stack, as it was when the graph was launched; where that
--   call was not recorded, when the activity began.
-- scope: start_ns to end_ns
-- columns:
--   process_id BIGINT: The traced process.
--   correlation_id BIGINT: The call that launched the graph.
--   graph_node_id BIGINT: The node.
--   gpu, start_ns, end_ns of gpu_interval
--   kind VARCHAR: kernel, memcpy, memcpy_p2p or memset.
--   name VARCHAR: Mangled name of a kernel, direction of a copy, NULL for others.
--   made_ns BIGINT [epoch ns]: When the node was captured or added; NULL if it is not known.
--   thread_id, stack_id, state, is_backward of _graph_node_stack
WITH replayed AS (
    FROM gpu_interval WHERE graph_node_id IS NOT NULL
),
calls AS (
    SELECT process_id, correlation_id, min(start_ns) AS start_ns
    FROM api_call
    SEMI JOIN replayed USING (process_id, correlation_id)
    GROUP BY process_id, correlation_id
),
asked AS (
    SELECT replayed.*, coalesce(calls.start_ns, replayed.start_ns) AS asked_ns
    FROM replayed
    LEFT JOIN calls USING (process_id, correlation_id)
)
SELECT asked.process_id, correlation_id, asked.graph_node_id, gpu, start_ns, end_ns, kind, name,
       node.made_ns, node.thread_id, node.stack_id, node.state,
       coalesce(node.is_backward, false) AS is_backward
FROM asked
ASOF LEFT JOIN _graph_node_stack AS node
    ON node.process_id = asked.process_id
    AND node.graph_node_id = asked.graph_node_id
    AND node.from_ns <= asked.asked_ns
