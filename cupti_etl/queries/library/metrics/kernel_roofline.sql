-- Roofline of each kernel and launch shape: traffic of device memory, of L2 and of NVLink,
-- operations, and their roofs.
--
-- computed: Bytes of a run are the level of dram_pct (or reads plus writes) times the device's
--   peak bandwidth and the mean duration. Operations are the level of the pipe that does most of
--   them times its peak: multiplying processors, clock and operations a clock of the compute
--   capability. The roof is the least of the peak of that pipe and, for each memory, operations a
--   byte times its bandwidth. L2 moves 32 bytes a sector (l2_sectors); its bandwidth is these over
--   l2_sector_pct in all samples, so at the clocks of the run. Of NVLink the busier direction
--   counts; its bandwidth is the peak in pm_metric.
-- requires: pm_sample, kernel
--   device: no device records were recorded, so its peaks are not known.
-- limits: Operations are at most these: an active tensor pipe is taken to multiply dense FP16 or
--   BF16, an FMA to do two operations. The peaks are those of the highest clock. Values are NULL
--   where a metric or a peak is not known.
-- front: How close is each kernel to what the GPU can do?
-- first: bound, roof_pct, intensity, achieved_gflops, achieved_gbps, total_ns, name
-- label: name = kernel(demangled, grid, block)
-- columns:
--   gpu, name, grid, block of kernel_metrics
--   bytes DOUBLE [bytes]: Traffic of device memory of a run.
--   bytes_stderr DOUBLE [bytes]: Its standard error.
--   flops DOUBLE [operations]: Floating-point operations of a run, at most.
--   flops_stderr DOUBLE [operations]: Its standard error.
--   pipe VARCHAR: The pipe that does them: tensor, fp32, fp64 or fp16.
--   intensity DOUBLE [operations/byte]: Operations a byte.
--   intensity_stderr DOUBLE [operations/byte]: Its standard error.
--   achieved_gflops DOUBLE [gigaflops]: Operations a nanosecond of mean duration.
--   achieved_gbps DOUBLE [gigabytes/s]: Bytes a nanosecond of mean duration.
--   peak_gflops DOUBLE [gigaflops]: Peak of the pipe.
--   peak_gbps DOUBLE [gigabytes/s]: Peak of device memory.
--   l2_bytes DOUBLE [bytes]: Bytes that L2 looked up in a run; NULL if they were not sampled.
--   l2_bytes_stderr DOUBLE [bytes]: Its standard error.
--   l2_intensity DOUBLE [operations/byte]: Operations a byte of L2.
--   l2_gbps DOUBLE [gigabytes/s]: Bytes of L2 a nanosecond of mean duration.
--   l2_peak_gbps DOUBLE [gigabytes/s]: Peak of L2; NULL if it is not known.
--   l2_roof_gflops DOUBLE [gigaflops]: Most operations a nanosecond at this intensity of L2.
--   nvlink_bytes DOUBLE [bytes]: Received or sent in a run, the more; NULL unless both were
--     sampled.
--   nvlink_bytes_stderr DOUBLE [bytes]: Its standard error.
--   nvlink_intensity DOUBLE [operations/byte]: Operations a byte of NVLink.
--   nvlink_gbps DOUBLE [gigabytes/s]: Bytes of NVLink a nanosecond of mean duration.
--   nvlink_peak_gbps DOUBLE [gigabytes/s]: Peak of one direction; NULL if it is not known.
--   nvlink_roof_gflops DOUBLE [gigaflops]: Most operations a nanosecond at this intensity of
--     NVLink.
--   roof_gflops DOUBLE [gigaflops]: Most operations a nanosecond at these intensities.
--   roof_pct DOUBLE [%]: achieved_gflops as a share of roof_gflops.
--   bound VARCHAR: dram, l2, nvlink or the pipe, by which of them the roof is; NULL if not known.
--   reason VARCHAR: What is missing; NULL if nothing is.
--   runs, mean_ns, total_ns, device_uuid, activity_group, demangled of kernel_metrics
WITH peaks AS (
    -- 10^3 bytes a second are a millionth of a byte a nanosecond, kHz likewise.
    SELECT device_uuid, any_value(global_memory_bandwidth_kbps) / 1e6 AS peak_gbps,
           any_value(multiprocessors)::BIGINT * any_value(core_clock_khz) / 1e6 AS sm_clocks,
           any_value(compute_capability_major::BIGINT * 10 + compute_capability_minor) AS capability
    FROM device
    GROUP BY device_uuid
),
l2_peaks AS (
    SELECT device_uuid,
           sum(value) FILTER (WHERE metric = 'l2_sectors') * 32
           / nullif(sum(value / 100 * (end_ns - start_ns))
                    FILTER (WHERE metric = 'l2_sector_pct'), 0) AS l2_peak_gbps
    FROM pm_value
    WHERE metric IN ('l2_sectors', 'l2_sector_pct') AND isfinite(value)
    GROUP BY device_uuid
),
link_peaks AS (
    SELECT device_uuid, min(peak) / 1e9 AS nvlink_peak_gbps
    FROM pm_metric
    WHERE metric IN ('nvlink_rx_bytes', 'nvlink_tx_bytes')
    GROUP BY device_uuid
),
-- Operations a clock of a multiprocessor; two for a multiplication with addition.
rates AS (
    SELECT *
    FROM (
        VALUES (70, 'tensor', 1024), (75, 'tensor', 1024), (80, 'tensor', 2048),
               (86, 'tensor', 1024), (89, 'tensor', 1024), (90, 'tensor', 4096),
               (100, 'tensor', 8192), (103, 'tensor', 8192), (120, 'tensor', 1024),
               (70, 'fp32', 128), (75, 'fp32', 128), (80, 'fp32', 128), (86, 'fp32', 256),
               (89, 'fp32', 256), (90, 'fp32', 256), (100, 'fp32', 256), (103, 'fp32', 256),
               (120, 'fp32', 256),
               (70, 'fp64', 64), (75, 'fp64', 4), (80, 'fp64', 64), (86, 'fp64', 4),
               (89, 'fp64', 4), (90, 'fp64', 128), (100, 'fp64', 128),
               (70, 'fp16', 256), (75, 'fp16', 256), (80, 'fp16', 512), (90, 'fp16', 512)
    ) AS listed(capability, pipe, operations)
),
kernels AS (
    SELECT device_uuid, activity_group, any_value(gpu) AS gpu, any_value(name) AS name,
           any_value(grid) AS grid, any_value(block) AS block, any_value(runs) AS runs,
           any_value(mean_ns) AS mean_ns, any_value(total_ns) AS total_ns,
           any_value(demangled) AS demangled,
           coalesce(max(value) FILTER (WHERE metric = 'dram_pct'),
                    max(value) FILTER (WHERE metric = 'dram_read_pct')
                    + max(value) FILTER (WHERE metric = 'dram_write_pct')) AS dram_pct,
           coalesce(max(stderr) FILTER (WHERE metric = 'dram_pct'),
                    sqrt(max(stderr) FILTER (WHERE metric = 'dram_read_pct') ** 2
                         + max(stderr) FILTER (WHERE metric = 'dram_write_pct') ** 2))
               AS dram_stderr,
           32 * max(value) FILTER (WHERE metric = 'l2_sectors') AS l2_bytes,
           32 * max(stderr) FILTER (WHERE metric = 'l2_sectors') AS l2_bytes_stderr,
           count(value) FILTER (WHERE metric IN ('nvlink_rx_bytes', 'nvlink_tx_bytes')) AS links,
           arg_max({'bytes': value, 'stderr': stderr}, value) FILTER (
               WHERE metric IN ('nvlink_rx_bytes', 'nvlink_tx_bytes')
           ) AS nvlink
    FROM kernel_metrics()
    GROUP BY device_uuid, activity_group
),
pipes AS (
    SELECT device_uuid, activity_group, rates.pipe, value / 100 * peak AS achieved_gflops,
           stderr / 100 * peak AS achieved_stderr, peak
    FROM (
        SELECT *, CASE WHEN metric IN ('tensor_active_pct', 'tensor_fp16_active_pct',
                                       'tensor_hmma_pct') THEN 'tensor'
                       WHEN metric = 'fma_pct' THEN 'fp32' WHEN metric = 'fp64_pct' THEN 'fp64'
                       WHEN metric = 'fp16_pct' THEN 'fp16' END AS pipe
        FROM kernel_metrics()
        WHERE value IS NOT NULL
    ) AS levels
    JOIN peaks USING (device_uuid)
    JOIN rates ON rates.capability = peaks.capability AND rates.pipe = levels.pipe,
        LATERAL (SELECT sm_clocks * operations AS peak)
    WHERE peak > 0
    QUALIFY row_number() OVER (
        PARTITION BY device_uuid, activity_group ORDER BY achieved_gflops DESC, rates.pipe
    ) = 1
),
sized AS (
    SELECT kernels.*, peak_gbps, pipe, peak AS peak_gflops, achieved_gflops, achieved_stderr,
           dram_pct / 100 * peak_gbps AS achieved_gbps,
           dram_stderr / 100 * peak_gbps AS gbps_stderr,
           l2_bytes / mean_ns AS l2_gbps, l2_peak_gbps,
           CASE WHEN links = 2 THEN nvlink.bytes END AS nvlink_bytes,
           CASE WHEN links = 2 THEN nvlink.stderr END AS nvlink_bytes_stderr,
           nvlink_bytes / mean_ns AS nvlink_gbps, nvlink_peak_gbps
    FROM kernels
    JOIN peaks ON peaks.device_uuid = kernels.device_uuid
    LEFT JOIN l2_peaks ON l2_peaks.device_uuid = kernels.device_uuid
    LEFT JOIN link_peaks ON link_peaks.device_uuid = kernels.device_uuid
    LEFT JOIN pipes
        ON pipes.device_uuid = kernels.device_uuid
        AND pipes.activity_group = kernels.activity_group
),
placed AS (
    SELECT *, CASE WHEN achieved_gbps > 0 THEN achieved_gflops / achieved_gbps END AS intensity,
           CASE WHEN l2_gbps > 0 THEN achieved_gflops / l2_gbps END AS l2_intensity,
           CASE WHEN nvlink_gbps > 0 THEN achieved_gflops / nvlink_gbps END AS nvlink_intensity
    FROM sized
),
-- Beside NULL any number is the least.
roofs AS (
    SELECT *, CASE WHEN intensity * peak_gbps IS NOT NULL
                   THEN least(peak_gflops, intensity * peak_gbps) END AS dram_roof_gflops,
           CASE WHEN l2_intensity * l2_peak_gbps IS NOT NULL
                THEN least(peak_gflops, l2_intensity * l2_peak_gbps) END AS l2_roof_gflops,
           CASE WHEN nvlink_intensity * nvlink_peak_gbps IS NOT NULL
                THEN least(peak_gflops, nvlink_intensity * nvlink_peak_gbps) END
               AS nvlink_roof_gflops
    FROM placed
),
roofed AS (
    SELECT *, CASE WHEN dram_roof_gflops IS NOT NULL
                   THEN least(dram_roof_gflops, l2_roof_gflops, nvlink_roof_gflops) END
                  AS roof_gflops
    FROM roofs
)
SELECT gpu, name, grid, block,
       achieved_gbps * mean_ns AS bytes, gbps_stderr * mean_ns AS bytes_stderr,
       achieved_gflops * mean_ns AS flops, achieved_stderr * mean_ns AS flops_stderr, pipe,
       intensity,
       intensity * sqrt((achieved_stderr / nullif(achieved_gflops, 0)) ** 2
                        + (gbps_stderr / nullif(achieved_gbps, 0)) ** 2) AS intensity_stderr,
       achieved_gflops, achieved_gbps, peak_gflops, peak_gbps,
       l2_bytes, l2_bytes_stderr, l2_intensity, l2_gbps, l2_peak_gbps, l2_roof_gflops,
       nvlink_bytes, nvlink_bytes_stderr, nvlink_intensity, nvlink_gbps, nvlink_peak_gbps,
       nvlink_roof_gflops, roof_gflops,
       100.0 * achieved_gflops / nullif(roof_gflops, 0) AS roof_pct,
       CASE WHEN NOT roof_gflops < peak_gflops THEN pipe
            WHEN roof_gflops = dram_roof_gflops THEN 'dram'
            WHEN roof_gflops = l2_roof_gflops THEN 'l2'
            WHEN roof_gflops = nvlink_roof_gflops THEN 'nvlink' END AS bound,
       CASE WHEN peak_gbps IS NULL THEN 'the peak bandwidth of the device is not known'
            WHEN dram_pct IS NULL THEN 'traffic of device memory is not known'
            WHEN pipe IS NULL THEN 'no pipe, or not its peak on this device, is known' END
           AS reason,
       runs, mean_ns, total_ns, device_uuid, activity_group, demangled
FROM roofed
ORDER BY total_ns DESC, gpu, activity_group
