-- Grid and block of each launch that has a row in kernel.
--
-- computed: Those of any row of kernel with the launch's correlation_id.
-- columns:
--   process_id BIGINT: The traced process.
--   correlation_id BIGINT: The call that launched it.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
SELECT process_id, correlation_id,
       any_value(grid_x || 'x' || grid_y || 'x' || grid_z) AS grid,
       any_value(block_x || 'x' || block_y || 'x' || block_z) AS block
FROM kernel
GROUP BY process_id, correlation_id
