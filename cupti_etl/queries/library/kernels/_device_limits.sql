-- What a multiprocessor of each device can hold, of devices where all of it is known.
--
-- computed: One row of device for each process and ordinal, if none of its limits is NULL.
-- limits: PyTorch's traces tell them from 2022 on; nsys's do where they describe the GPUs.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   device_id INTEGER: CUDA ordinal of the device in its process.
--   multiprocessors BIGINT [multiprocessors]: Of the device.
--   warp BIGINT [threads]: Threads of a warp.
--   warps BIGINT [warps]: Warps of a multiprocessor.
--   blocks BIGINT [blocks]: Blocks of a multiprocessor.
--   registers BIGINT [registers]: Registers of a multiprocessor.
--   shared_bytes BIGINT [bytes]: Shared memory of a multiprocessor.
--   compute_capability_major BIGINT: Major number of the compute capability.
SELECT process_id, device_id, any_value(multiprocessors::BIGINT) AS multiprocessors,
       any_value(threads_per_warp::BIGINT) AS warp,
       any_value(max_warps_per_multiprocessor::BIGINT) AS warps,
       any_value(max_blocks_per_multiprocessor::BIGINT) AS blocks,
       any_value(max_registers_per_multiprocessor::BIGINT) AS registers,
       any_value(max_shared_per_multiprocessor_bytes::BIGINT) AS shared_bytes,
       any_value(compute_capability_major::BIGINT) AS compute_capability_major
FROM device
GROUP BY process_id, device_id
-- A device that can do less than nothing is none.
HAVING multiprocessors > 0 AND warp > 0 AND warps > 0 AND blocks > 0 AND registers > 0
    AND shared_bytes >= 0 AND compute_capability_major > 0
