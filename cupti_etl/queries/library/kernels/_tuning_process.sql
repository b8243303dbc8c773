-- Processes that can have tried out kernels, as Triton's and Inductor's tuners do.
--
-- computed: Those with stacks that say so, or that cleared the L2 cache five times in a stream, by
--   a memset of 16 MiB or more, or a kernel that fills.
-- rare: Most traces have none, and triton_autotune goes over all that ran.
-- columns:
--   process_id BIGINT: The process.
SELECT process_id
FROM gpu_interval
WHERE kind = 'memset' AND bytes >= 16777216
    OR kind = 'kernel' AND contains(name, 'FillFunctor')
GROUP BY process_id, gpu, stream_id
HAVING count(*) >= 5
UNION
SELECT process_id FROM _benchmarking_stack
