-- Kernels of each CUDA graph beside the same kernels launched one by one.
--
-- computed: Finished kernels of a process by mangled name: those of _graph_work, and those of no
--   graph, with the durations of the calls that launched these.
-- requires: gpu_activity
-- materialized: Made once for an opened trace, as launches and kernels are joined.
-- limits: Kernels of one name may have different shapes and data. Kernels are seen only where nodes
--   were recorded one by one, and not as whole graphs.
-- columns:
--   process_id BIGINT: The process.
--   graph_id INTEGER: CUPTI's number of the executable graph; NULL for all of the
--     process together whose number the trace does not say.
--   name VARCHAR: Function name.
--   runs BIGINT [executions]: Finished executions in the graph.
--   mean_ns DOUBLE [ns]: Their mean duration.
--   eager_runs BIGINT [executions]: Finished executions outside graphs.
--   eager_mean_ns DOUBLE [ns]: Their mean duration; NULL if there are none.
--   eager_launch_ns DOUBLE [ns]: Mean duration of the calls that launched them; NULL if not known.
--   difference_pct DOUBLE [%]: mean_ns less eager_mean_ns as a share of eager_mean_ns.
--   mangled VARCHAR: Mangled name.
WITH inside AS (
    SELECT process_id, graph_id, name, count(*) AS runs, avg(end_ns - start_ns) AS mean_ns
    FROM _graph_work
    WHERE kind = 'kernel' AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, graph_id, name
),
eager AS (
    SELECT process_id, name, count(*) AS eager_runs, avg(end_ns - start_ns) AS eager_mean_ns
    FROM gpu_activity
    SEMI JOIN inside USING (process_id, name)
    ANTI JOIN graph_launch USING (process_id, correlation_id)
    WHERE kind = 'kernel' AND graph_id IS NULL AND graph_node_id IS NULL
        AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, name
),
launches AS (
    SELECT process_id, name, avg(api_end_ns - api_start_ns) AS eager_launch_ns
    FROM launch_to_gpu
    SEMI JOIN inside USING (process_id, name)
    WHERE kind = 'kernel' AND NOT is_graph
    GROUP BY process_id, name
)
SELECT process_id, graph_id, coalesce(short, inside.name) AS name, runs, mean_ns,
       coalesce(eager_runs, 0) AS eager_runs, eager_mean_ns, eager_launch_ns,
       100.0 * (mean_ns - eager_mean_ns) / nullif(eager_mean_ns, 0) AS difference_pct,
       inside.name AS mangled
FROM inside
LEFT JOIN eager USING (process_id, name)
LEFT JOIN launches USING (process_id, name)
LEFT JOIN _readable_name AS names ON names.mangled = inside.name
ORDER BY runs * mean_ns DESC, process_id, graph_id, inside.name
