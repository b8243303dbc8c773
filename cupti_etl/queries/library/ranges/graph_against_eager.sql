-- A replay of each CUDA graph beside its kernels launched one by one.
--
-- computed: graph_replay with the sums over the kernels of a replay of _graph_kernel: in the graph,
--   and as they were outside graphs. Of kernels that never ran there nothing is guessed: they are
--   in no sum but kernels.
-- requires: gpu_activity
--   graph_replay: no replay of a graph was recorded.
-- limits: As of _graph_kernel. Copies and memsets of a graph are not compared.
-- columns:
--   process_id, graph_id, replays of graph_replay
--   wall_median_ns DOUBLE [ns]: Median time from the first start to the last end of a replay.
--   launch_median_ns DOUBLE [ns]: Median duration of the launching call.
--   kernels DOUBLE [executions]: Mean number of kernels in a replay; NULL if they were not
--     recorded.
--   eager_pct DOUBLE [%]: Of these, the share of those that ran outside graphs, too.
--   busy_ns DOUBLE [ns]: Durations of these in a replay, summed; NULL if there are none.
--   eager_busy_ns DOUBLE [ns]: The same outside graphs.
--   eager_launch_ns DOUBLE [ns]: Durations of the calls that launch these, summed; NULL if there
--     are none, or not all calls are known.
--   launch_saved_ns DOUBLE [ns]: eager_launch_ns less launch_median_ns; NULL unless all kernels of
--     the replay ran outside graphs, too.
WITH sums AS (
    SELECT process_id, graph_id, sum(runs) AS runs,
           coalesce(sum(runs) FILTER (WHERE eager_runs > 0), 0) AS shared_runs,
           sum(runs * mean_ns) FILTER (WHERE eager_runs > 0) AS busy_ns,
           sum(runs * eager_mean_ns) AS eager_busy_ns,
           CASE WHEN count(eager_launch_ns) = count(eager_mean_ns)
                THEN sum(runs * eager_launch_ns) END AS eager_launch_ns
    FROM _graph_kernel
    GROUP BY process_id, graph_id
)
SELECT replay.process_id, replay.graph_id, replays, wall_median_ns, launch_median_ns,
       runs / replays AS kernels, 100.0 * shared_runs / runs AS eager_pct,
       sums.busy_ns / replays AS busy_ns, eager_busy_ns / replays AS eager_busy_ns,
       eager_launch_ns / replays AS eager_launch_ns,
       CASE WHEN shared_runs = runs THEN eager_launch_ns / replays - launch_median_ns END
           AS launch_saved_ns
FROM graph_replay AS replay
LEFT JOIN sums
    ON sums.process_id = replay.process_id
    AND sums.graph_id IS NOT DISTINCT FROM replay.graph_id
ORDER BY wall_total_ns DESC, replay.process_id, replay.graph_id
