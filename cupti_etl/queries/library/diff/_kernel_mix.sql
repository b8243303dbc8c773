-- What each GPU spends its time on: its kernels, by which the GPUs of two runs are matched.
--
-- computed: Sums of the durations of finished kernels by GPU and mangled name.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Mangled name of the kernel.
--   total_ns BIGINT [ns]: Sum of the durations of its executions.
SELECT gpu, name, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns
FROM gpu_interval
WHERE kind = 'kernel'
GROUP BY gpu, name
