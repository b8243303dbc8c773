-- Work of one sort on a GPU: kernels of a name and launch shape, copies of a direction.
--
-- computed: The rows of _activity_run by GPU, kind, name, grid and block, over all processes; the
--   numbers are in the order of their total time on the GPU. Times are sums of durations.
-- materialized: Made once for an opened trace, as the joins with samples number by it.
-- columns:
--   device_uuid, gpu of _activity_run
--   activity_group BIGINT: Number of the group on its GPU, from 1.
--   kind VARCHAR: kernel, memcpy, memcpy_p2p, memset or graph.
--   category VARCHAR: compute, communication or copy.
--   name, grid_x, grid_y, grid_z, block_x, block_y, block_z of _activity_run
--   runs BIGINT [executions]: Finished executions.
--   total_ns BIGINT [ns]: Sum of their durations.
WITH sums AS (
    SELECT device_uuid, gpu, kind, name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
           count(*) AS runs, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns
    FROM _activity_run
    GROUP BY device_uuid, gpu, kind, name, grid_x, grid_y, grid_z, block_x, block_y, block_z
),
categories AS (
    SELECT kind, name, any_value(category) AS category FROM gpu_activity GROUP BY kind, name
)
SELECT device_uuid, gpu,
       row_number() OVER (
           PARTITION BY gpu
           ORDER BY total_ns DESC, sums.kind, sums.name, grid_x, grid_y, grid_z,
                    block_x, block_y, block_z
       ) AS activity_group,
       sums.kind, categories.category, sums.name,
       grid_x, grid_y, grid_z, block_x, block_y, block_z, runs, total_ns
FROM sums
LEFT JOIN categories
    ON categories.kind = sums.kind
    AND categories.name IS NOT DISTINCT FROM sums.name
