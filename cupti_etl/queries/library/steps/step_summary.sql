-- Each step in one row: how long it took, what was launched, and where the time went.
--
-- computed: step_breakdown and _step_count; the causes of idle time are those of the gaps that lie
--   in the step (_idle_cause). compute_ns, exposed_communication_ns, exposed_copy_ns and idle_ns
--   add to duration_ns; the causes, with idle_edge_ns for what is in no whole gap of the step, to
--   idle_ns.
-- requires: gpu_activity, step
-- materialized: Few rows, of all that ran.
-- limits: As of step_breakdown and gap_attribution. Launches count where their first work began.
-- front: What did each step do, and what did it wait for?
-- first: step, duration_ns, busy_ns, idle_ns, exposed_communication_ns, idle_host_ns,
--   idle_queued_ns, idle_launching_ns, idle_input_ns, idle_waiting_ns, idle_memory_ns,
--   idle_loading_ns, exposed_copy_ns, host_duration_ns, launches, gpu, name
-- chart: lines(step, duration_ns)
-- alias: iteration_timing, iteration_detail
-- scope: start_ns
-- shared: kernel_name, _kernel_told, _any_api_call
-- columns:
--   process_id, gpu, step of step_breakdown
--   name VARCHAR: Name of the range, or of the kernel that it begins with.
--   start_ns, duration_ns of step_breakdown
--   host_duration_ns BIGINT [ns]: How long the host asked for it, as in step_breakdown.
--   launches BIGINT [calls]: API calls that asked for work; NULL if no calls were recorded.
--   kernels BIGINT [executions]: Kernels that began.
--   copies BIGINT [copies]: Copies and memsets that began.
--   busy_ns BIGINT [ns]: Time with anything on the GPU.
--   busy_pct DOUBLE [%]: busy_ns as a share of duration_ns.
--   compute_ns, exposed_communication_ns, exposed_copy_ns of step_breakdown
--   idle_ns BIGINT [ns]: Time with nothing; the sum of the following.
--   idle_input_ns BIGINT [ns]: The host waited for input.
--   idle_host_ns BIGINT [ns]: The host did other things outside CUDA.
--   idle_launching_ns BIGINT [ns]: The host was in a launching call.
--   idle_memory_ns BIGINT [ns]: The host was in a call that allocates, frees, copies or sets.
--   idle_waiting_ns BIGINT [ns]: The host synchronized, or waited for a copy or a full queue.
--   idle_other_cuda_ns BIGINT [ns]: The host was in another CUDA call.
--   idle_queued_ns BIGINT [ns]: Work was launched and did not begin.
--   idle_loading_ns BIGINT [ns]: Code was loaded or compiled, or a graph captured.
--   idle_profiler_ns BIGINT [ns]: The host was in CUPTI: what recording costs.
--   idle_unknown_ns BIGINT [ns]: The call that asked for the next activity was not recorded.
--   idle_edge_ns BIGINT [ns]: Gaps that the begin or end of the step cuts.
--   is_outlier BOOLEAN: Whether it took much longer than the others.
WITH idle AS (
    SELECT step.process_id, step.gpu, step.step,
           sum(COLUMNS(gap.* EXCLUDE (gpu, start_ns, stretch)))
    FROM (
        SELECT *, start_ns // (SELECT any_value(length_ns) FROM _step_stretch) AS stretch
        FROM _idle_cause
    ) AS gap
    JOIN _step_stretch AS step ON step.gpu = gap.gpu AND step.stretch = gap.stretch
    WHERE gap.start_ns >= step.start_ns AND gap.start_ns + gap.gap_ns <= step.end_ns
    GROUP BY step.process_id, step.gpu, step.step
)
SELECT part.process_id, part.gpu, part.step, name, start_ns, duration_ns, host_duration_ns,
       CASE WHEN EXISTS (FROM _any_api_call) THEN coalesce(launches, 0) END AS launches,
       coalesce(kernels, 0) AS kernels, coalesce(copies, 0) AS copies,
       duration_ns - idle_ns AS busy_ns, busy_pct, compute_ns, exposed_communication_ns,
       exposed_copy_ns, idle_ns,
       coalesce(COLUMNS(idle.* EXCLUDE (process_id, gpu, step, gap_ns)), 0)::BIGINT AS "idle_\0",
       (idle_ns - coalesce(gap_ns, 0))::BIGINT AS idle_edge_ns, is_outlier
FROM step_breakdown AS part
LEFT JOIN _step_count AS counts USING (process_id, gpu, step)
LEFT JOIN idle USING (process_id, gpu, step)
ORDER BY part.gpu, part.process_id, part.step;

-- merge
FROM partial
ORDER BY gpu, process_id, step
