-- What the steps of each GPU consist of, after the warm-up: parts that add to their durations.
--
-- computed: Sums over steps of the columns of step_summary. What its causes leave of the idle time,
--   where calls were not recorded, is unknown.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   part VARCHAR: compute, exposed communication, exposed copies, or idle and its cause.
--   steps BIGINT [steps]: How many.
--   total_ns BIGINT [ns]: Their time.
WITH steady AS (
    SELECT process_id, gpu, step FROM _sure_step WHERE is_steady
),
chosen AS (
    SELECT *, coalesce(idle_input_ns, 0) + coalesce(idle_host_ns, 0)
                  + coalesce(idle_launching_ns, 0) + coalesce(idle_memory_ns, 0)
                  + coalesce(idle_waiting_ns, 0) + coalesce(idle_other_cuda_ns, 0)
                  + coalesce(idle_queued_ns, 0) + coalesce(idle_loading_ns, 0)
                  + coalesce(idle_profiler_ns, 0) + coalesce(idle_edge_ns, 0) AS known_ns
    FROM step_summary
    SEMI JOIN steady USING (process_id, gpu, step)
)
SELECT gpu, parts.part, count(*) AS steps, TRY_CAST(sum(parts.ns) AS BIGINT) AS total_ns
FROM (
    SELECT gpu, unnest([
        {'part': 'compute', 'ns': compute_ns},
        {'part': 'exposed communication', 'ns': exposed_communication_ns},
        {'part': 'exposed copies', 'ns': exposed_copy_ns},
        {'part': 'idle: waiting for input', 'ns': coalesce(idle_input_ns, 0)},
        {'part': 'idle: host outside CUDA', 'ns': coalesce(idle_host_ns, 0)},
        {'part': 'idle: launching', 'ns': coalesce(idle_launching_ns, 0)},
        {'part': 'idle: memory calls', 'ns': coalesce(idle_memory_ns, 0)},
        {'part': 'idle: host waiting', 'ns': coalesce(idle_waiting_ns, 0)},
        {'part': 'idle: other CUDA calls', 'ns': coalesce(idle_other_cuda_ns, 0)},
        {'part': 'idle: work queued', 'ns': coalesce(idle_queued_ns, 0)},
        {'part': 'idle: loading code', 'ns': coalesce(idle_loading_ns, 0)},
        {'part': 'idle: profiler', 'ns': coalesce(idle_profiler_ns, 0)},
        {'part': 'idle: at the edges of the step', 'ns': coalesce(idle_edge_ns, 0)},
        {'part': 'idle: unknown', 'ns': idle_ns - known_ns}
    ]) AS parts
    FROM chosen
)
GROUP BY gpu, parts.part
