-- Time of each kernel on each GPU.
--
-- computed: Finished executions by GPU and mangled name. Times are sums of durations: kernels that
--   overlap each count in full.
-- materialized: Made once for an opened trace, as categories of kernels read it.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Mangled name; NULL if it is not known.
--   calls BIGINT [executions]: Finished executions.
--   total_ns BIGINT [ns]: Sum of their durations.
--   gpu_share DOUBLE: calls as a share of those of all GPUs.
SELECT gpu, name, count(*) AS calls, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
       count(*) / sum(count(*)) OVER (PARTITION BY name) AS gpu_share
FROM _gpu_run
WHERE kind = 'kernel'
GROUP BY gpu, name
