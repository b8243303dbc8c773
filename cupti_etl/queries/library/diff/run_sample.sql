-- How long kernels and steps took, in few rows: what two runs are compared by.
--
-- computed: Finished kernels by demangled name, grid and block, and steps by GPU, each counted by
--   duration, and by which of 32 parts with equally many of them, in the order of time, they are
--   in: neighbours are alike, so that what can be drawn at random is parts and not single ones.
--   The first step of a process and GPU, which warms up, is left out.
-- needs: kernel_named, step
-- requires:
--   gpu_activity: no GPU activity was recorded.
-- limits: The device is not part of what is compared.
-- columns:
--   subject VARCHAR: kernel or step.
--   name VARCHAR: Demangled name of the kernel; gpu and its number for steps.
--   short VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   part BIGINT: Part of the run, from 0 to 31.
--   duration_ns BIGINT [ns]: Duration.
--   count BIGINT [executions]: How many took so long.
WITH timed AS (
    SELECT 'kernel' AS subject, demangled AS name, short, grid_x, grid_y, grid_z,
           block_x, block_y, block_z, start_ns, end_ns - start_ns AS duration_ns
    FROM kernel_named
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    UNION ALL
    SELECT 'step', concat('gpu ', gpu), NULL, NULL, NULL, NULL, NULL, NULL, NULL, start_ns,
           end_ns - start_ns
    FROM step
    WHERE step > 0
),
parts AS (
    SELECT *, (row_number() OVER (
                   PARTITION BY subject, name, grid_x, grid_y, grid_z, block_x, block_y, block_z
                   ORDER BY start_ns
               ) - 1) * 32
              // count(*) OVER (
                   PARTITION BY subject, name, grid_x, grid_y, grid_z, block_x, block_y, block_z
               ) AS part
    FROM timed
)
SELECT subject, name, any_value(short) AS short, grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
       block_x || 'x' || block_y || 'x' || block_z AS block, part, duration_ns, count(*) AS count
FROM parts
GROUP BY subject, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, part, duration_ns
