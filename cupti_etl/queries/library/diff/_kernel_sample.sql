-- How long kernels took, in few rows: their durations, counted in each part of the run.
--
-- computed: Finished kernels by demangled name, grid and block, each counted by duration, and by
--   which of 32 parts with equally many of them, in the order of time, they are in.
-- materialized: Made once for an opened trace, in one sweep.
-- columns:
--   name VARCHAR: Demangled name of the kernel.
--   short VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   part BIGINT: Part of the run, from 0 to 31.
--   duration_ns BIGINT [ns]: Duration.
--   count BIGINT [executions]: How many took so long.
WITH parts AS (
    SELECT demangled, short, grid_x, grid_y, grid_z, block_x, block_y, block_z,
           end_ns - start_ns AS duration_ns,
           (row_number() OVER (
                PARTITION BY demangled, grid_x, grid_y, grid_z, block_x, block_y, block_z
                ORDER BY start_ns, end_ns
            ) - 1) * 32
           // count(*) OVER (
                PARTITION BY demangled, grid_x, grid_y, grid_z, block_x, block_y, block_z
            ) AS part
    FROM kernel_named
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
)
SELECT demangled AS name, any_value(short) AS short,
       grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
       block_x || 'x' || block_y || 'x' || block_z AS block, part, duration_ns, count(*) AS count
FROM parts
GROUP BY demangled, grid_x, grid_y, grid_z, block_x, block_y, block_z, part, duration_ns
