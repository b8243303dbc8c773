-- Time per operator of PyTorch and sizes of its inputs, on the GPUs and on the host.
--
-- computed: _operator_work, counted as operator_summary says, by name and sizes of the inputs, as
--   PyTorch's key_averages(group_by_input_shape=True).
-- requires: _operator
-- limits: As of operator_summary. An operator that only calls another of its name has its own
--   sizes, as in PyTorch: for nested tensors, none. Sizes are known where they were recorded:
--   --pytorch, or record_shapes=True.
-- front: For which sizes of inputs do PyTorch operators take the time?
-- first: percent, self_gpu_ns, gpu_ns, calls, host_ns, name
-- label: name = operator(input_dims)
-- alias: group_by_input_shape, ops_unique_args
-- columns:
--   name VARCHAR: Name of the operator; * stands for the number of a step.
--   kind VARCHAR: operator, or annotation for a range of record_function.
--   input_dims VARCHAR: Sizes of its inputs, as JSON; NULL if they were not recorded.
--   input_types VARCHAR: Types of its inputs, as JSON; NULL if they were not recorded or differ.
--   percent DOUBLE [%]: self_gpu_ns as a share of the sum of the durations of all GPU activities.
--   calls BIGINT [calls]: How often it ran.
--   self_gpu_ns BIGINT [ns]: GPU time that it asked for by itself.
--   gpu_ns BIGINT [ns]: GPU time with that of operators inside; of an annotation, all within it.
--   backward_gpu_ns BIGINT [ns]: GPU time of the backward pass of all this; NULL if not known.
--   self_launches BIGINT [calls]: API calls by itself that asked for work.
--   launches BIGINT [calls]: The same with operators inside; of an annotation, all within it.
--   kernels BIGINT [executions]: Finished kernels of these launches.
--   self_host_ns BIGINT [ns]: Time on the host, without operators and API calls inside.
--   host_ns BIGINT [ns]: Time on the host, with them.
--   mean_gpu_ns DOUBLE [ns]: gpu_ns divided by calls.
WITH everything AS (
    SELECT sum(end_ns - start_ns) AS gpu_ns FROM gpu_interval
),
sums AS (
    SELECT name, input_dims, min(kind) AS kind,
           CASE WHEN count(DISTINCT input_types) = 1 THEN min(input_types) END AS input_types,
           count(*) FILTER (WHERE repeats_range_id IS NULL) AS calls,
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
    GROUP BY name, input_dims
)
SELECT name, kind, input_dims, input_types,
       100.0 * self_gpu_ns / nullif(everything.gpu_ns, 0) AS percent, calls, self_gpu_ns,
       sums.gpu_ns, backward_ns AS backward_gpu_ns, self_launches, launches, kernels, self_host_ns,
       host_ns, sums.gpu_ns / nullif(calls, 0) AS mean_gpu_ns
FROM sums, everything
ORDER BY self_gpu_ns DESC, sums.gpu_ns DESC, self_host_ns DESC, host_ns DESC, name, input_dims
