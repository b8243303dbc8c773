-- How long kernels and steps took, in few rows: what two runs are compared by.
--
-- computed: Finished kernels by demangled name, grid and block, and steps by GPU, each counted by
--   duration, and by which of 32 parts with equally many of them, in the order of time, they are
--   in: neighbours are alike, so that what can be drawn at random is parts and not single ones.
--   Steps of the warm-up are left out, and those that _step_gpu does not have.
-- requires: gpu_activity
-- limits: The device is not part of what is compared.
-- columns:
--   subject VARCHAR: kernel or step.
--   name VARCHAR: Demangled name of the kernel; gpu and its number for steps.
--   short, grid, block, part, duration_ns, count of _kernel_sample
WITH steps AS (
    SELECT gpu, end_ns - start_ns AS duration_ns,
           (row_number() OVER (PARTITION BY gpu ORDER BY start_ns, end_ns) - 1) * 32
               // count(*) OVER (PARTITION BY gpu) AS part
    FROM _sure_step
    WHERE is_steady
)
SELECT 'kernel' AS subject, name, short, grid, block, part, duration_ns, count FROM _kernel_sample
UNION ALL
SELECT 'step', concat('gpu ', gpu), NULL, NULL, NULL, part, duration_ns, count(*)
FROM steps
GROUP BY gpu, part, duration_ns
