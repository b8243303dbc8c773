-- GPU time of what CUDA graphs replayed, by the NVTX ranges that it was captured in.
--
-- computed: Activities of _graph_interval whose capture is known, by the innermost range of the
--   thread that captured or added the node, when it did so. Times are sums of durations.
-- requires:
--   graph_node: no capture of a CUDA graph was recorded (capture with --python-stacks).
-- limits: In nvtx_projection the same work is that of the range in which the graph was launched.
--   What autograd's threads captured is of their own ranges.
-- front: Which ranges is the work of CUDA graphs from?
-- first: percent, gpu_ns, nodes, activities, path
-- label: path = range(path)
-- chart: bars(path, gpu_ns)
-- columns:
--   path VARCHAR: Names of the range and of those around it, with * for the numbers of steps, if
--     there are several; NULL for what no range was around.
--   process_id BIGINT: The process.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   percent DOUBLE [%]: gpu_ns as a share of that of all rows of the GPU.
--   nodes BIGINT [nodes]: Nodes of executable graphs that ran.
--   activities BIGINT [activities]: How often they did.
--   gpu_ns BIGINT [ns]: Sum of the durations.
WITH nodes AS (
    SELECT process_id, gpu, thread_id, made_ns, graph_node_id, count(*) AS activities,
           sum(end_ns - start_ns) AS gpu_ns
    FROM _graph_interval
    WHERE made_ns IS NOT NULL
    GROUP BY process_id, gpu, thread_id, made_ns, graph_node_id
),
placed AS (
    SELECT nodes.process_id, gpu, graph_node_id, activities, gpu_ns,
           alike.alike_range_id, path, kind
    FROM nodes
    ASOF LEFT JOIN _range_turn AS innermost
        ON innermost.process_id = nodes.process_id
        AND innermost.thread_id = nodes.thread_id
        AND innermost.at_ns <= nodes.made_ns
    LEFT JOIN _range_parent AS ranges ON ranges.range_id = innermost.range_id
    LEFT JOIN _alike_path AS alike ON alike.alike_range_id = ranges.alike_range_id
)
SELECT CASE WHEN min(alike_range_id) = max(alike_range_id) THEN any_value(path)
            ELSE kind END AS path,
       process_id, gpu,
       100.0 * sum(gpu_ns) / nullif(sum(sum(gpu_ns)) OVER (PARTITION BY gpu), 0) AS percent,
       count(DISTINCT graph_node_id) AS nodes, TRY_CAST(sum(activities) AS BIGINT) AS activities,
       TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns
FROM placed
GROUP BY kind, process_id, gpu
ORDER BY sum(gpu_ns) DESC, path, gpu, process_id
