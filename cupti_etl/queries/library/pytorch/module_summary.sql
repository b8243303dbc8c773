-- Time per module of a PyTorch model (nn.Module), on GPUs and on the host, forward and backward.
--
-- computed: _module by the path of modules. Times on GPUs are sums of durations; a total has what
--   the modules inside asked for, too.
-- requires:
--   _module: no modules were recorded (capture with --pytorch; torch.profiler
--     writes them with with_stack=True).
-- limits: As of range_gpu. Without API calls, or where calls launched and no work is there, what
--   modules asked for is not known, and NULL. Where sequence numbers are missing, the backward pass
--   is not known.
--   In a part of a trace percent can be over 100, as in operator_summary.
-- front: Which modules of my model take the time?
-- first: percent, gpu_ns, self_gpu_ns, backward_gpu_ns, calls, host_ns, path
-- label: path = range(path)
-- chart: bars(path, gpu_ns)
-- alias: nn_module_summary, module_view
-- columns:
--   module, path of _module
--   percent DOUBLE [%]: gpu_ns as a share of the sum of the durations of all GPU activities.
--   calls BIGINT [calls]: How often it ran.
--   activities BIGINT [activities]: Finished activities that it asked for.
--   gpu_ns BIGINT [ns]: GPU time that it asked for, with modules inside.
--   self_gpu_ns BIGINT [ns]: The same without modules inside.
--   backward_gpu_ns BIGINT [ns]: GPU time of its backward pass; NULL if not known.
--   host_ns BIGINT [ns]: Time on the host, with modules inside; without unfinished runs.
--   self_host_ns BIGINT [ns]: The same without modules inside.
--   mean_gpu_ns DOUBLE [ns]: gpu_ns divided by calls.
WITH everything AS (
    SELECT sum(end_ns - start_ns) AS gpu_ns FROM gpu_interval
),
sums AS (
    SELECT min(module) AS module, path, count(*) AS calls, sum(activities)::BIGINT AS activities,
           TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
           TRY_CAST(sum(self_gpu_ns) AS BIGINT) AS self_gpu_ns,
           TRY_CAST(sum(backward_gpu_ns) AS BIGINT) AS backward_gpu_ns,
           TRY_CAST(coalesce(sum(host_ns), 0) AS BIGINT) AS host_ns,
           TRY_CAST(coalesce(sum(self_host_ns), 0) AS BIGINT) AS self_host_ns
    FROM _module
    GROUP BY path
)
SELECT module, path, 100.0 * sums.gpu_ns / nullif(everything.gpu_ns, 0) AS percent, calls,
       activities, sums.gpu_ns, self_gpu_ns, backward_gpu_ns, host_ns, self_host_ns,
       sums.gpu_ns / calls AS mean_gpu_ns
FROM sums, everything
ORDER BY sums.gpu_ns DESC, host_ns DESC, path
