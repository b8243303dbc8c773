-- Time per kernel and launch shape: grid, block, cluster, registers and shared memory.
--
-- computed: Finished executions by device, demangled name and shape. Times are sums of durations:
--   kernels that overlap each count in full.
-- requires: kernel
-- materialized: Made once for an opened trace, as it goes through all kernels.
-- label: name = kernel(demangled, grid, block)
-- columns:
--   name VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   cluster VARCHAR [blocks]: Blocks in a cluster, x, y and z; NULL without clusters.
--   registers_per_thread INTEGER [registers]: Registers that each thread uses.
--   shared_bytes INTEGER [bytes]: Static and dynamic shared memory of a block.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over all kernels.
--   calls BIGINT [executions]: Finished executions.
--   total_ns BIGINT [ns]: Sum of their durations.
--   mean_ns DOUBLE [ns]: Mean duration.
--   median_ns DOUBLE [ns]: Median duration.
--   stddev_ns DOUBLE [ns]: Standard deviation of the durations, as a sample; NULL for one.
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   demangled VARCHAR: Name with template and call arguments.
WITH shapes AS (
    SELECT process_id, device_id, demangled, any_value(short) AS name,
           grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, cluster_z,
           registers_per_thread,
           TRY_CAST(coalesce(static_shared_bytes, 0)::BIGINT + coalesce(dynamic_shared_bytes, 0)
                    AS INTEGER) AS shared_bytes,
           count(*) AS calls, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
           avg(end_ns - start_ns) AS mean_ns, median(end_ns - start_ns) AS median_ns,
           stddev_samp(end_ns - start_ns) AS stddev_ns
    FROM kernel_named
    WHERE start_ns IS NOT NULL AND end_ns IS NOT NULL
    GROUP BY process_id, device_id, demangled, grid_x, grid_y, grid_z, block_x, block_y, block_z,
             cluster_x, cluster_y, cluster_z, registers_per_thread, shared_bytes
)
SELECT name, grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
       block_x || 'x' || block_y || 'x' || block_z AS block,
       CASE WHEN cluster_x > 0 THEN cluster_x || 'x' || cluster_y || 'x' || cluster_z END
           AS cluster,
       registers_per_thread, shared_bytes,
       100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS percent,
       calls, total_ns, mean_ns, median_ns, stddev_ns, process_id, device_id, demangled
FROM shapes
ORDER BY total_ns DESC, demangled, grid, block, process_id, device_id
