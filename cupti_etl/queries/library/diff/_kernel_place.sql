-- Between which kernels each kernel runs: by which one that has another name is known again.
--
-- computed: Of the executions of a demangled name, grid and block, the kernel that comes before
--   most often in the same stream, and the one that comes after; of those that come as often the
--   first by name.
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
),
before AS (
    SELECT name, grid, block, previous, count(*) AS times FROM ordered GROUP BY ALL
),
after AS (
    SELECT name, grid, block, next, count(*) AS times FROM ordered GROUP BY ALL
),
most_before AS (
    SELECT name, grid, block, arg_min(previous, (-times, previous)) AS previous
    FROM before
    GROUP BY name, grid, block
),
most_after AS (
    SELECT name, grid, block, arg_min(next, (-times, next)) AS next
    FROM after
    GROUP BY name, grid, block
)
SELECT most_before.name, most_before.grid, most_before.block, previous, next
FROM most_before
JOIN most_after
    ON most_after.name IS NOT DISTINCT FROM most_before.name
    AND most_after.grid IS NOT DISTINCT FROM most_before.grid
    AND most_after.block IS NOT DISTINCT FROM most_before.block
