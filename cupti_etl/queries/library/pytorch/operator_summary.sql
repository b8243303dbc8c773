-- Time per operator of PyTorch, on the GPUs and on the host, with and without operators inside.
--
-- computed: operator_shape by name. What lies in operators of the same name counts in each of
--   them, as in PyTorch's key_averages; an operator that does nothing but call another of its name
--   is one with it. Beyond these, what no operator asked for counts in the innermost annotation,
--   and gpu_ns, launches and kernels of an annotation are of all that its thread asked for within
--   it, also of what an operator around it has by itself. Times on GPUs are sums of durations.
-- requires: _operator
-- limits: percent leaves out what no operator and no annotation asked for. Without API calls, or
--   where calls launched and no work is there, what operators asked for is not known, and NULL.
--   Where sequence numbers are missing, or several threads have one, the backward pass is not
--   known. In a part of a trace percent is of the work that began there, and can be over 100: what
--   an operator that ran on the host then asked for counts, whenever that began.
-- front: Which PyTorch operators take the time?
-- first: percent, self_gpu_ns, gpu_ns, backward_gpu_ns, calls, launches, self_host_ns,
--   host_ns, name
-- chart: bars(name, self_gpu_ns)
-- alias: key_averages, operator_sum, ops_summary, get_aten_op_kernels_and_delay
-- columns:
--   name, kind, percent of operator_shape
--   calls BIGINT [calls]: How often it ran; a wrapper of the same name does not count.
--   self_gpu_ns, gpu_ns, backward_gpu_ns of operator_shape
--   self_launches, launches, kernels, self_host_ns, host_ns, mean_gpu_ns of operator_shape
WITH everything AS (
    SELECT sum(end_ns - start_ns) AS gpu_ns FROM gpu_interval
),
sums AS (
    SELECT name, min(kind) AS kind,
           sum(COLUMNS('^(calls|self_launches|launches|kernels)$'))::BIGINT,
           TRY_CAST(sum(COLUMNS('^(self_gpu|gpu|backward_gpu|self_host|host)_ns$')) AS BIGINT)
    FROM operator_shape
    GROUP BY name
)
SELECT name, kind, 100.0 * self_gpu_ns / nullif(everything.gpu_ns, 0) AS percent, calls,
       self_gpu_ns, sums.gpu_ns, backward_gpu_ns, self_launches, launches, kernels,
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
    SELECT name, min(kind) AS kind,
           sum(COLUMNS('^(calls|self_launches|launches|kernels)$'))::BIGINT,
           TRY_CAST(sum(COLUMNS('^(self_gpu|gpu|backward_gpu|self_host|host)_ns$')) AS BIGINT)
    FROM partial
    WHERE calls IS NOT NULL
    GROUP BY name
)
SELECT name, kind, 100.0 * self_gpu_ns / nullif(everything.gpu_ns, 0) AS percent, calls,
       self_gpu_ns, sums.gpu_ns, backward_gpu_ns, self_launches, launches, kernels, self_host_ns,
       host_ns, sums.gpu_ns / nullif(calls, 0) AS mean_gpu_ns
FROM sums, everything
ORDER BY self_gpu_ns DESC, sums.gpu_ns DESC, self_host_ns DESC, host_ns DESC, name
