-- Time per node of each CUDA graph, over its replays.
--
-- computed: Finished activities of _graph_work by process, graph and node, and where the trace does
--   not number the nodes by name. Times are sums of durations.
-- requires: gpu_activity
-- none: no work of a CUDA graph was recorded node by node.
-- limits: Nodes are seen only where they were recorded one by one, and not as whole graphs.
-- label: name = kernel(demangled)
-- columns:
--   process_id BIGINT: The process.
--   graph_id INTEGER: CUPTI's number of the executable graph; NULL for all of the
--     process together whose number the trace does not say.
--   graph_node_id BIGINT: The node; NULL for all nodes of one name that have no number.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p or memset.
--   name VARCHAR: Function name of a kernel, direction of a copy.
--   percent DOUBLE [%]: total_ns as a share of the sum over the nodes of the graph.
--   runs BIGINT [executions]: How often it ran.
--   total_ns BIGINT [ns]: Sum of the durations.
--   mean_ns DOUBLE [ns]: Mean duration.
--   stddev_ns DOUBLE [ns]: Standard deviation of the durations, as a sample; NULL for one.
--   demangled VARCHAR: Name of a kernel with template and call arguments; as name of others.
WITH nodes AS (
    SELECT process_id, graph_id, graph_node_id, kind, any_value(name) AS name, count(*) AS runs,
           TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
           avg(end_ns - start_ns) AS mean_ns,
           stddev_samp(end_ns - start_ns) AS stddev_ns
    FROM _graph_work
    WHERE kind != 'graph' AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, graph_id, graph_node_id, kind,
             CASE WHEN graph_node_id IS NULL THEN name END
)
SELECT process_id, graph_id, graph_node_id, kind, coalesce(short, name) AS name,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY process_id, graph_id), 0)
           AS percent,
       runs, total_ns, mean_ns, stddev_ns, coalesce(demangled, name) AS demangled
FROM nodes
LEFT JOIN _readable_name AS names ON names.mangled = nodes.name
ORDER BY total_ns DESC, process_id, graph_id, graph_node_id, nodes.name
