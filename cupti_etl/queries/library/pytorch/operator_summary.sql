-- Time per operator of PyTorch, on the GPUs and on the host, with and without operators inside.
--
-- computed: _operator_work by name. What lies in operators of the same name counts in each of
--   them, as in PyTorch's key_averages; an operator that does nothing but call another of its name
--   is one with it. Beyond these, what no operator asked for counts in the innermost annotation.
--   Times on GPUs are sums of durations.
-- needs: _operator, _operator_work, gpu_interval
-- requires:
--   _operator: no operators of PyTorch were recorded (capture with --pytorch, or import a
--     trace of torch.profiler).
-- limits: percent leaves out what no operator and no annotation asked for. Without API calls,
--   what operators asked for is not known, and NULL. Where sequence numbers are missing, or
--   several threads have one, the backward pass is not known. In a part of a trace
--   percent is of the work that began there, and can be over 100: what an operator that ran on the
--   host then asked for counts, whenever that began.
-- front: Which PyTorch operators take the time?
-- first: percent, self_gpu_ns, gpu_ns, backward_gpu_ns, calls, launches, self_host_ns,
--   host_ns, name
-- chart: bars(name, self_gpu_ns)
-- example: cupti-etl query operator_summary TRACE
-- alias: key_averages, operator_sum, ops_summary, get_aten_op_kernels_and_delay
-- columns:
--   name VARCHAR: Name of the operator; * stands for the number of a step.
--   kind VARCHAR: operator, or annotation for a range of record_function.
--   percent DOUBLE [%]: self_gpu_ns as a share of the sum of the durations of all GPU activities.
--   calls BIGINT [calls]: How often it ran; a wrapper of the same name does not count.
--   self_gpu_ns BIGINT [ns]: GPU time that it asked for by itself.
--   gpu_ns BIGINT [ns]: GPU time with that of operators inside.
--   backward_gpu_ns BIGINT [ns]: GPU time of the backward pass of all this; NULL if not known.
--   self_launches BIGINT [calls]: API calls by itself that asked for work.
--   launches BIGINT [calls]: The same with operators inside.
--   kernels BIGINT [executions]: Finished kernels, with those of operators inside.
--   self_host_ns BIGINT [ns]: Time on the host, without operators and API calls inside.
--   host_ns BIGINT [ns]: Time on the host, with them.
--   mean_gpu_ns DOUBLE [ns]: gpu_ns divided by calls.
WITH everything AS (
    SELECT sum(end_ns - start_ns) AS gpu_ns FROM gpu_interval
),
sums AS (
    SELECT name, min(kind) AS kind, count(*) FILTER (WHERE repeats_range_id IS NULL) AS calls,
           TRY_CAST(sum(self_gpu_ns) AS BIGINT) AS self_gpu_ns,
           TRY_CAST(sum(gpu_ns) FILTER (WHERE repeats_range_id IS NULL) AS BIGINT) AS gpu_ns,
           TRY_CAST(sum(backward_gpu_ns) FILTER (WHERE repeats_range_id IS NULL) AS BIGINT)
               AS backward_ns,
           sum(self_launches)::BIGINT AS self_launches,
           sum(launches) FILTER (WHERE repeats_range_id IS NULL)::BIGINT AS launches,
           sum(kernels) FILTER (WHERE repeats_range_id IS NULL)::BIGINT AS kernels,
           TRY_CAST(sum(self_host_ns) AS BIGINT) AS self_host_ns,
           TRY_CAST(sum(host_ns) FILTER (WHERE repeats_range_id IS NULL) AS BIGINT) AS host_ns
    FROM _operator_work
    JOIN _operator ON _operator.range_id = coalesce(repeats_range_id, _operator_work.range_id)
    GROUP BY name
)
SELECT name, kind, 100.0 * self_gpu_ns / nullif(everything.gpu_ns, 0) AS percent, calls,
       self_gpu_ns, sums.gpu_ns, backward_ns AS backward_gpu_ns, self_launches, launches, kernels,
       self_host_ns, host_ns, sums.gpu_ns / nullif(calls, 0) AS mean_gpu_ns
FROM sums, everything
ORDER BY self_gpu_ns DESC, sums.gpu_ns DESC, self_host_ns DESC, host_ns DESC, name;

-- partial
SELECT *, NULL::BIGINT AS everything_ns
FROM operator_summary
UNION ALL BY NAME
SELECT TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS everything_ns FROM gpu_interval;

-- merge
WITH everything AS (
    SELECT sum(everything_ns) AS gpu_ns FROM partial
),
sums AS (
    SELECT name, min(kind) AS kind, sum(calls)::BIGINT AS calls,
           TRY_CAST(sum(self_gpu_ns) AS BIGINT) AS self_gpu_ns,
           TRY_CAST(sum(gpu_ns) AS BIGINT) AS gpu_ns,
           TRY_CAST(sum(backward_gpu_ns) AS BIGINT) AS backward_gpu_ns,
           sum(self_launches)::BIGINT AS self_launches, sum(launches)::BIGINT AS launches,
           sum(kernels)::BIGINT AS kernels,
           TRY_CAST(sum(self_host_ns) AS BIGINT) AS self_host_ns,
           TRY_CAST(sum(host_ns) AS BIGINT) AS host_ns
    FROM partial
    WHERE calls IS NOT NULL
    GROUP BY name
)
SELECT name, kind, 100.0 * self_gpu_ns / nullif(everything.gpu_ns, 0) AS percent, calls,
       self_gpu_ns, sums.gpu_ns, backward_gpu_ns, self_launches, launches, kernels, self_host_ns,
       host_ns, sums.gpu_ns / nullif(calls, 0) AS mean_gpu_ns
FROM sums, everything
ORDER BY self_gpu_ns DESC, sums.gpu_ns DESC, self_host_ns DESC, host_ns DESC, name
