-- Whether a kernel's grid fills the device: waves of blocks, and what the last one wastes.
--
-- computed: waves is blocks over what fits on all multiprocessors at once (kernel_occupancy).
--   Efficiency is waves over the next whole number: a last wave that is not full takes as long as
--   a full one. wasted_ns is total_ns times the rest, an upper bound.
-- requires: kernel, _device_limits
-- materialized: Made once for an opened trace, as it goes through all kernels.
-- limits: Blocks are taken to be alike, and the kernel to be alone on the device. Communication,
--   which takes few multiprocessors on purpose, is left out.
-- label: name = kernel(demangled, grid, block)
-- columns:
--   name, grid, block of kernel_occupancy
--   waves DOUBLE: Blocks over those that fit at once.
--   efficiency_pct DOUBLE [%]: waves as a share of the next whole number.
--   verdict VARCHAR: less than one wave, last wave not full (below 90 %), or full.
--   wasted_ns BIGINT [ns]: total_ns times what is missing to 100 %, at most.
--   blocks BIGINT [blocks]: Blocks in the grid.
--   blocks_at_once BIGINT [blocks]: Those that fit on the device.
--   calls, total_ns, process_id, device_id, demangled of kernel_occupancy
WITH communication AS (
    SELECT coalesce(kernel_name.demangled, name) AS demangled
    FROM (SELECT DISTINCT name FROM gpu_activity WHERE category = 'communication')
    LEFT JOIN kernel_name ON mangled = name
),
counted AS (
    SELECT *, blocks_per_multiprocessor * multiprocessors AS blocks_at_once,
           blocks / nullif(blocks_per_multiprocessor * multiprocessors, 0)::DOUBLE AS waves
    FROM kernel_occupancy
    ANTI JOIN communication USING (demangled)
)
SELECT name, grid, block, waves, 100.0 * waves / nullif(ceil(waves), 0) AS efficiency_pct,
       CASE WHEN waves IS NULL THEN NULL WHEN waves < 1 THEN 'less than one wave'
            WHEN waves / ceil(waves) < 0.9 THEN 'last wave not full' ELSE 'full' END AS verdict,
       TRY_CAST((total_ns * (1 - waves / nullif(ceil(waves), 0))) AS BIGINT) AS wasted_ns,
       blocks, blocks_at_once, calls, total_ns, process_id, device_id, demangled
FROM counted
ORDER BY wasted_ns DESC, demangled, grid, block, process_id, device_id
