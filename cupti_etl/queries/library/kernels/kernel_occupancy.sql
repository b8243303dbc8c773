-- How many warps of a kernel fit on a multiprocessor at once, and what limits them.
--
-- computed: Per kernel and launch shape: blocks a multiprocessor are the least of what its warps,
--   blocks, registers (allocated per warp in 256s, for 4 warps at a time) and shared memory (1 KiB
--   a block for the system from compute capability 8 on; in 128s, before that in 256s) allow.
--   Occupancy is their warps over the most that can be resident.
-- requires: kernel, _device_limits
-- materialized: Made once for an opened trace, as it goes through all kernels.
-- limits: What fits, not what ran: see kernel_waves for grids that do not fill the device.
-- label: name = kernel(demangled, grid, block)
-- columns:
--   name, grid, block of kernel_config_summary
--   occupancy_pct DOUBLE [%]: Resident warps as a share of the most of a multiprocessor.
--   limiter VARCHAR: What allows the fewest blocks: warps, blocks, registers or shared memory.
--   blocks_per_multiprocessor BIGINT [blocks]: Blocks that fit.
--   warps_per_block BIGINT [warps]: Warps of a block.
--   by_warps BIGINT [blocks]: Blocks that its warps allow.
--   by_registers BIGINT [blocks]: Blocks that its registers allow.
--   by_shared BIGINT [blocks]: Blocks that its shared memory allows.
--   registers_per_thread BIGINT [registers]: Registers that each thread uses.
--   shared_bytes BIGINT [bytes]: Static and dynamic shared memory of a block.
--   calls, total_ns of kernel_config_summary
--   percent DOUBLE [%]: total_ns as a share of the sum over all kernels.
--   blocks BIGINT [blocks]: Blocks in the grid.
--   multiprocessors BIGINT [multiprocessors]: Of the device.
--   process_id, device_id, demangled of kernel_config_summary
WITH sizes AS (
    SELECT config.* REPLACE (config.registers_per_thread::BIGINT AS registers_per_thread,
                             config.shared_bytes::BIGINT AS shared_bytes), about,
           -- A damaged record can have sizes whose product no number holds.
           TRY_CAST(list_product(list_transform(string_split(config.grid, 'x'),
                                                lambda n: TRY_CAST(n AS BIGINT))) AS BIGINT)
                                                    AS blocks,
           TRY_CAST(ceil(list_product(list_transform(string_split(config.block, 'x'),
                                                     lambda n: TRY_CAST(n AS BIGINT)))
                         / about.warp) AS BIGINT) AS warps_per_block
    FROM kernel_config_summary AS config
    JOIN _device_limits AS about USING (process_id, device_id)
),
limits AS (
    SELECT *, about.warps // nullif(warps_per_block, 0) AS by_warps,
           -- Registers of a warp, then how many warps they allow, in fours, then how many blocks.
           CASE WHEN registers_per_thread > 0
                THEN about.registers
                     // (ceil(registers_per_thread * about.warp / 256.0)::BIGINT * 256) // 4 * 4
                     // nullif(warps_per_block, 0) END AS by_registers,
           CASE WHEN about.compute_capability_major >= 8 AND shared_bytes >= 0
                THEN about.shared_bytes // (ceil((shared_bytes + 1024) / 128.0)::BIGINT * 128)
                WHEN shared_bytes > 0
                THEN about.shared_bytes // (ceil(shared_bytes / 256.0)::BIGINT * 256) END
               AS by_shared
    FROM sizes
),
fitting AS (
    SELECT *, least(by_warps, TRY_CAST(about.blocks AS BIGINT), by_registers, by_shared) AS fit
    FROM limits
    -- Of what is NULL, least() would give the rest.
    WHERE by_warps IS NOT NULL AND registers_per_thread IS NOT NULL
)
SELECT name, grid, block,
       100.0 * fit * warps_per_block / about.warps AS occupancy_pct,
       CASE fit WHEN by_warps THEN 'warps' WHEN by_registers THEN 'registers'
           WHEN by_shared THEN 'shared memory' ELSE 'blocks' END AS limiter,
       fit AS blocks_per_multiprocessor, warps_per_block, by_warps, by_registers, by_shared,
       registers_per_thread, shared_bytes, calls, total_ns, percent, blocks,
       about.multiprocessors AS multiprocessors, process_id, device_id, demangled
FROM fitting
ORDER BY total_ns DESC, demangled, grid, block, process_id, device_id
