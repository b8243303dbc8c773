-- Why each GPU was idle: its idle time by cause.
--
-- computed: All gaps between the first start and the last end on a GPU, each split among its
--   causes (_idle_cause). The causes of a GPU add to its idle_ns in busy_breakdown.
-- requires: gpu_activity, _gpu_gap
-- none: no GPU was idle between its activities.
-- materialized: Few rows, of all gaps.
-- limits: Waiting for input is known by ranges of data loaders (_input_range): torch.profiler marks
--   PyTorch's; other input is in host. Host threads are put together. Moves of managed memory
--   are no work here: while a GPU does nothing but prefetch it is idle, and the host is waiting or
--   work queued (unified_memory_migration has the moves).
-- front: Why was each GPU idle?
-- first: cause, idle_ns, idle_pct, span_pct, gaps, gpu
-- chart: bars(cause, idle_ns)
-- alias: get_idle_time_breakdown, gpu_time_util, idle_time
-- shared: kernel_name, _kernel_told, _any_api_call
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   cause VARCHAR: input (waiting for data), host (Python and other work outside CUDA), launching,
--     memory (allocating, freeing, copying), waiting (synchronizing), other CUDA, queued (launched
--     and not begun), loading (code is loaded or compiled, or a CUDA graph captured, as it is
--     without a profiler), profiler (CUPTI: what recording costs), or unknown (the call that asked
--     for the work, or work that it was queued behind, was not recorded).
--   idle_ns BIGINT [ns]: Idle time for this cause.
--   idle_pct DOUBLE [%]: idle_ns as a share of all idle time of the GPU.
--   span_pct DOUBLE [%]: idle_ns as a share of the time from the first start to the last end of
--     the GPU.
--   gaps BIGINT [gaps]: Gaps with some of it.
--   longest_ns BIGINT [ns]: The most of it in one gap.
--   longest_start_ns BIGINT [epoch ns]: When that gap began.
WITH parts AS (
    SELECT gpu, start_ns, unnest([
               {'cause': 'input', 'idle_ns': input_ns},
               {'cause': 'host', 'idle_ns': host_ns},
               {'cause': 'launching', 'idle_ns': launching_ns},
               {'cause': 'memory', 'idle_ns': memory_ns},
               {'cause': 'waiting', 'idle_ns': waiting_ns},
               {'cause': 'other CUDA', 'idle_ns': other_cuda_ns},
               {'cause': 'queued', 'idle_ns': queued_ns},
               {'cause': 'loading', 'idle_ns': loading_ns},
               {'cause': 'profiler', 'idle_ns': profiler_ns},
               {'cause': 'unknown', 'idle_ns': unknown_ns}
           ], recursive := true)
    FROM _idle_cause
)
SELECT parts.gpu, parts.cause, TRY_CAST(sum(parts.idle_ns) AS BIGINT) AS idle_ns,
       100.0 * sum(parts.idle_ns) / any_value(total.idle_ns) AS idle_pct,
       100.0 * sum(parts.idle_ns) / any_value(total.span_ns) AS span_pct,
       count(*) AS gaps, max(parts.idle_ns) AS longest_ns,
       arg_max(parts.start_ns, (parts.idle_ns, -parts.start_ns)) AS longest_start_ns
FROM parts
JOIN _gpu_idle AS total ON total.gpu = parts.gpu
WHERE parts.idle_ns > 0
GROUP BY parts.gpu, parts.cause
ORDER BY parts.gpu, sum(parts.idle_ns) DESC, parts.cause;

-- merge
FROM partial
ORDER BY gpu, idle_ns DESC, cause
