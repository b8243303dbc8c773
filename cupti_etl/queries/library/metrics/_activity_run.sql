-- Finished work on GPUs whose UUID is known, with the launch shape of kernels.
--
-- computed: The rows of kernel, and of gpu_interval those that are no kernels, with the UUID.
-- scope: start_ns
-- columns:
--   device_uuid VARCHAR: The GPU.
--   gpu BIGINT: Number of the GPU, as in gpu.
--   process_id BIGINT: The traced process.
--   correlation_id, start_ns, end_ns, kind, name of gpu_interval
--   grid_x INTEGER [blocks]: Blocks in the grid of a kernel, x.
--   grid_y, grid_z, block_x, block_y, block_z of kernel
SELECT gpu.device_uuid, gpu.gpu, kernel.process_id, kernel.correlation_id, kernel.start_ns,
       greatest(kernel.start_ns, kernel.end_ns) AS end_ns, 'kernel' AS kind, kernel.name,
       grid_x, grid_y, grid_z, block_x, block_y, block_z
FROM kernel
JOIN gpu ON gpu.process_id = kernel.process_id AND gpu.device_id = kernel.device_id
WHERE kernel.start_ns IS NOT NULL AND kernel.end_ns IS NOT NULL
UNION ALL
SELECT gpu.device_uuid, gpu.gpu, act.process_id, act.correlation_id, act.start_ns, act.end_ns,
       act.kind, act.name, NULL, NULL, NULL, NULL, NULL, NULL
FROM gpu_interval AS act
JOIN gpu ON gpu.process_id = act.process_id AND gpu.device_id = act.device_id
WHERE act.kind != 'kernel'
