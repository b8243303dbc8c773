-- What kernels cost on each GPU that do not fill it.
--
-- computed: wasted_ns of kernel_waves, of kernels with less than one wave, and of those whose last
--   wave is not full if one block fits on a multiprocessor (of several, those of a last wave run
--   faster), less the time that kernels ran beside each other, in which one fills what another
--   leaves, and of communication beside them the share of the device that it fills, which they
--   leave to it on purpose. The culprit is the kernel with most of it on the GPU.
-- requires: kernel, _device_limits
-- finding: kernels do not fill the device (estimated)
-- advice: give them more blocks (of 32 threads or more; a multiple of those that fit at once), or
--   run several at once
-- shown: kernel_waves
-- label: kernel = kernel(kernel)
WITH kernels AS (
    SELECT gpu, grid, block, demangled, wasted_ns, total_ns,
           verdict = 'less than one wave'
               OR verdict = 'last wave not full' AND blocks_at_once = limits.multiprocessors
               AS is_small
    FROM kernel_waves AS waves
    JOIN _device_limits AS limits USING (process_id, device_id)
    LEFT JOIN gpu ON gpu.process_id = waves.process_id AND gpu.device_id = waves.device_id
),
small AS (
    SELECT * FROM kernels WHERE is_small
),
shapes AS (
    SELECT gpu, demangled, grid, block, sum(wasted_ns) AS wasted_ns
    FROM small
    GROUP BY gpu, demangled, grid, block
),
most AS (
    SELECT gpu, count(*) AS n,
           arg_min({'grid': grid, 'block': block, 'demangled': demangled},
                   (-wasted_ns, demangled, grid, block)) AS worst
    FROM shapes
    GROUP BY gpu
),
-- kernel_waves has all but communication.
communication AS (
    SELECT gpu, sum(total_ns) AS total_ns,
           sum(total_ns * least(blocks / (blocks_per_multiprocessor * multiprocessors), 1))
               AS filled_ns
    FROM kernel_occupancy AS occupancy
    ANTI JOIN kernel_waves AS waves USING (process_id, device_id, demangled)
    JOIN gpu ON gpu.process_id = occupancy.process_id AND gpu.device_id = occupancy.device_id
    GROUP BY gpu
),
beside AS (
    SELECT kernels.gpu,
           greatest(sum(kernels.total_ns) - any_value(compute_ns), 0)
               + coalesce(any_value(filled_ns * greatest(
                     1 - exposed_communication_ns / nullif(communication.total_ns, 0), 0)), 0)
               AS beside_ns
    FROM kernels
    JOIN busy_breakdown AS busy ON busy.gpu = kernels.gpu
    LEFT JOIN communication ON communication.gpu = kernels.gpu
    GROUP BY kernels.gpu
),
sums AS (
    SELECT gpu, sum(wasted_ns) AS wasted_ns FROM small GROUP BY gpu
)
SELECT sums.gpu,
       TRY_CAST(greatest(wasted_ns - coalesce(beside_ns, 0), 0) AS BIGINT) AS saved_ns,
       concat(CASE WHEN n > 1 THEN concat(n, ' names and shapes, above all ') END, 'with grid ',
              worst.grid, ' and block ', worst.block, ' in') AS culprit,
       coalesce((SELECT min(mangled) FROM kernel_name WHERE demangled = worst.demangled),
                worst.demangled) AS kernel
FROM sums
JOIN most ON most.gpu IS NOT DISTINCT FROM sums.gpu
LEFT JOIN beside ON beside.gpu = sums.gpu
