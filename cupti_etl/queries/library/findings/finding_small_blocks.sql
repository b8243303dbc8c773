-- What kernels cost on each GPU that take as long as it takes to begin their blocks.
--
-- computed: A GPU begins about one block in each clock (on an H100 0.84, of every size). Of kernels
--   with blocks of fewer than 128 threads that begin 0.7 or more in each clock of the device, after
--   2 us for each execution, their time less what blocks of 256 threads would take to begin, or
--   12 bytes of each thread at the memory's peak, whichever is longer; no more than the GPU
--   computed. The culprit is the kernel with most of it.
-- requires: kernel, _device_limits
-- limits: Kernels of PyTorch, whose blocks nobody chooses, are left out. What a thread reads and
--   writes is not known.
-- finding: kernels have many blocks of few threads (estimated)
-- advice: give a block 128 to 256 threads, or let each thread do more of the work: a GPU begins no
--   more than about one block in each clock
-- shown: kernel_occupancy
-- label: kernel = kernel(kernel)
WITH sizes AS (
    SELECT gpu.gpu, grid, block, demangled, total_ns, calls * 2000 AS launch_ns,
           -- How long as many clocks take as there are blocks.
           calls::DOUBLE * blocks / (core_clock_khz / 1e6) AS clocks_ns,
           list_product(string_split(block, 'x')::BIGINT[]) AS threads,
           calls::DOUBLE * blocks * threads * 12 / (global_memory_bandwidth_kbps / 1e6) AS bytes_ns
    FROM kernel_occupancy AS occupancy
    JOIN (
        SELECT process_id, device_id, any_value(core_clock_khz) AS core_clock_khz,
               any_value(global_memory_bandwidth_kbps) AS global_memory_bandwidth_kbps
        FROM device
        WHERE core_clock_khz > 0
        GROUP BY process_id, device_id
    ) AS device
        ON device.process_id = occupancy.process_id AND device.device_id = occupancy.device_id
    JOIN gpu ON gpu.process_id = occupancy.process_id AND gpu.device_id = occupancy.device_id
    WHERE warps_per_block < 4 AND NOT contains(demangled, 'at::native::')
),
slow AS (
    SELECT *, total_ns - launch_ns
               - greatest(clocks_ns / 0.84 * threads / 256, coalesce(bytes_ns, 0))
               AS saved_ns
    FROM sizes
    WHERE total_ns - launch_ns <= clocks_ns / 0.7
),
most AS (
    SELECT gpu, count(*) AS n, sum(saved_ns) AS saved_ns,
           arg_max({'grid': grid, 'block': block, 'demangled': demangled},
                   (saved_ns, demangled, grid, block)) AS worst
    FROM slow
    WHERE saved_ns > 0
    GROUP BY gpu
)
SELECT most.gpu, TRY_CAST(least(saved_ns, compute_ns) AS BIGINT) AS saved_ns,
       concat(CASE WHEN n > 1 THEN concat(n, ' names and shapes, above all ') END, 'with grid ',
              worst.grid, ' and block ', worst.block, ' in') AS culprit,
       coalesce((SELECT min(mangled) FROM kernel_name WHERE demangled = worst.demangled),
                worst.demangled) AS kernel
FROM most
JOIN busy_breakdown AS busy ON busy.gpu = most.gpu
