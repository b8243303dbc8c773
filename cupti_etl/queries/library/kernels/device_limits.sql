-- What a multiprocessor of each device can hold, of devices where all of it is known.
--
-- computed: One row of device for each process and ordinal, if none of its limits is NULL.
-- needs: device
-- limits: PyTorch's traces tell them from 2022 on; nsys's do where they describe the GPUs.
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   multiprocessors INTEGER [multiprocessors]: Of the device.
--   warp INTEGER [threads]: Threads of a warp.
--   warps INTEGER [warps]: Warps of a multiprocessor.
--   blocks INTEGER [blocks]: Blocks of a multiprocessor.
--   registers INTEGER [registers]: Registers of a multiprocessor.
--   shared_bytes INTEGER [bytes]: Shared memory of a multiprocessor.
--   compute_capability_major INTEGER: Major number of the compute capability.
SELECT process_id, device_id, any_value(multiprocessors) AS multiprocessors,
       any_value(threads_per_warp) AS warp, any_value(max_warps_per_multiprocessor) AS warps,
       any_value(max_blocks_per_multiprocessor) AS blocks,
       any_value(max_registers_per_multiprocessor) AS registers,
       any_value(max_shared_per_multiprocessor_bytes) AS shared_bytes,
       any_value(compute_capability_major) AS compute_capability_major
FROM device
GROUP BY process_id, device_id
HAVING multiprocessors IS NOT NULL AND warp IS NOT NULL AND warps IS NOT NULL
    AND blocks IS NOT NULL AND registers IS NOT NULL AND shared_bytes IS NOT NULL
    AND compute_capability_major IS NOT NULL
