-- Between which kernels each kernel runs: by which one that has another name is known again.
--
-- computed: Of the executions of a demangled name, grid and block, the kernel that comes before
--   most often in the same stream, and the one that comes after.
-- needs: kernel_named
-- columns:
--   name VARCHAR: Demangled name of the kernel.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   previous VARCHAR: Demangled name of the kernel before; NULL if there is none.
--   next VARCHAR: Demangled name of the kernel after; NULL if there is none.
WITH ordered AS (
    SELECT demangled AS name, grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
           block_x || 'x' || block_y || 'x' || block_z AS block,
           lag(demangled) OVER line AS previous, lead(demangled) OVER line AS next
    FROM kernel_named
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    WINDOW line AS (
        PARTITION BY process_id, device_id, stream_id ORDER BY start_ns, end_ns, demangled
    )
)
SELECT name, grid, block, mode(previous) AS previous, mode(next) AS next
FROM ordered
GROUP BY name, grid, block
