-- Launches of each CUDA graph: how long they take, what launching costs, what is idle inside.
--
-- computed: Activities of _graph_work by process, graph_id and correlation_id are one replay; its
--   wall time is from the first start to the last end. busy_ns is a sum of durations: branches that
--   run side by side each count. Where only whole graphs were recorded (graph_trace), nodes are 0.
-- requires: gpu_activity
-- none: no recorded work is known to be that of a CUDA graph.
-- limits: Host nodes are not counted. The launching call is NULL if it was not recorded.
-- front: How long do CUDA graphs take to launch and run?
-- first: graph_id, replays, nodes, wall_median_ns, busy_ns, launch_median_ns
-- alias: cuda_graph_sum
-- lookup: api_call
-- columns:
--   process_id BIGINT: The process.
--   graph_id INTEGER: CUPTI's number of the executable graph; NULL for all of the
--     process together whose number the trace does not say.
--   replays BIGINT [replays]: Launches of which the work finished.
--   nodes DOUBLE [nodes]: Mean number of kernels, copies and memsets in a replay.
--   wall_median_ns DOUBLE [ns]: Median wall time of a replay.
--   wall_p99_ns DOUBLE [ns]: 99th percentile of it.
--   wall_total_ns BIGINT [ns]: Sum of the wall times.
--   busy_ns BIGINT [ns]: Sum of the durations of all nodes.
--   node_mean_ns DOUBLE [ns]: Mean duration of a node.
--   launch_median_ns DOUBLE [ns]: Median duration of the launching call.
--   launch_ns_per_node DOUBLE [ns]: launch_median_ns divided by nodes; compare launch_latency.
WITH replays AS (
    SELECT process_id, graph_id, correlation_id, count(*) FILTER (WHERE kind != 'graph') AS nodes,
           max(end_ns) - min(start_ns) AS wall_ns, sum(end_ns - start_ns) AS busy_ns
    FROM _graph_work
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, graph_id, correlation_id
),
-- Of a runtime call and the driver call inside it, the longer.
calls AS (
    SELECT process_id, correlation_id, max(end_ns - start_ns) AS launch_ns
    FROM api_call
    SEMI JOIN replays USING (process_id, correlation_id)
    GROUP BY process_id, correlation_id
)
SELECT replays.process_id, graph_id, count(*) AS replays, avg(nodes) AS nodes,
       median(wall_ns) AS wall_median_ns, quantile_cont(wall_ns, 0.99) AS wall_p99_ns,
       TRY_CAST(sum(wall_ns) AS BIGINT) AS wall_total_ns,
       TRY_CAST(sum(busy_ns) AS BIGINT) AS busy_ns,
       (sum(busy_ns) / nullif(sum(nodes), 0))::DOUBLE AS node_mean_ns,
       median(launch_ns) AS launch_median_ns,
       median(launch_ns) / nullif(avg(nodes), 0) AS launch_ns_per_node
FROM replays
LEFT JOIN calls USING (process_id, correlation_id)
GROUP BY replays.process_id, graph_id
ORDER BY wall_total_ns DESC, replays.process_id, graph_id;

-- merge
FROM partial
ORDER BY wall_total_ns DESC, process_id, graph_id
