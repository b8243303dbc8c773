-- Roofline of each kernel and launch shape: traffic of device memory, operations, and their roofs.
--
-- computed: Bytes of a run are the level of dram_pct (or reads plus writes) times the device's
--   peak bandwidth and the mean duration. Operations are the level of the pipe that does most of
--   them times its peak: multiplying processors, clock and operations a clock of the compute
--   capability. The roof is the less of the peak of that pipe and intensity times bandwidth.
-- needs: kernel_metrics, device
-- requires:
--   pm_sample: no PM samples were recorded (capture --pm).
--   kernel: no kernels were recorded.
--   device: no device records were recorded, so its peaks are not known.
-- limits: Operations are at most these: an active tensor pipe is taken to multiply dense FP16 or
--   BF16, an FMA to do two operations. The peaks are those of the highest clock. Values are NULL
--   where a metric or a peak is not known.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
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
--   roof_gflops DOUBLE [gigaflops]: Most operations a nanosecond at this intensity.
--   roof_pct DOUBLE [%]: achieved_gflops as a share of roof_gflops.
--   bound VARCHAR: dram or the pipe, by which of the two the roof is; NULL if not known.
--   reason VARCHAR: What is missing; NULL if nothing is.
--   runs BIGINT [executions]: Finished executions.
--   mean_ns DOUBLE [ns]: Mean duration of a run.
--   total_ns BIGINT [ns]: Sum of the durations.
--   device_uuid VARCHAR: The GPU across processes and hosts.
--   activity_group BIGINT: Number of the kernel and shape, as in activity_group.
--   demangled VARCHAR: Name with template and call arguments.
WITH peaks AS (
    -- 10^3 bytes a second are a millionth of a byte a nanosecond, kHz likewise.
    SELECT device_uuid, any_value(global_memory_bandwidth_kbps) / 1e6 AS peak_gbps,
           any_value(multiprocessors) * any_value(core_clock_khz) / 1e6 AS sm_clocks,
           any_value(compute_capability_major * 10 + compute_capability_minor) AS capability
    FROM device
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
               AS dram_stderr
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
           dram_stderr / 100 * peak_gbps AS gbps_stderr
    FROM kernels
    JOIN peaks ON peaks.device_uuid = kernels.device_uuid
    LEFT JOIN pipes
        ON pipes.device_uuid = kernels.device_uuid
        AND pipes.activity_group = kernels.activity_group
),
placed AS (
    SELECT *, CASE WHEN achieved_gbps > 0 THEN achieved_gflops / achieved_gbps END AS intensity
    FROM sized
),
roofed AS (
    SELECT *, least(peak_gflops, intensity * peak_gbps) AS roof_gflops FROM placed
    WHERE intensity IS NOT NULL
    UNION ALL
    SELECT *, NULL FROM placed WHERE intensity IS NULL
)
SELECT gpu, name, grid, block,
       achieved_gbps * mean_ns AS bytes, gbps_stderr * mean_ns AS bytes_stderr,
       achieved_gflops * mean_ns AS flops, achieved_stderr * mean_ns AS flops_stderr, pipe,
       intensity,
       intensity * sqrt((achieved_stderr / nullif(achieved_gflops, 0)) ** 2
                        + (gbps_stderr / nullif(achieved_gbps, 0)) ** 2) AS intensity_stderr,
       achieved_gflops, achieved_gbps, peak_gflops, peak_gbps, roof_gflops,
       100.0 * achieved_gflops / nullif(roof_gflops, 0) AS roof_pct,
       CASE WHEN roof_gflops < peak_gflops THEN 'dram' WHEN roof_gflops > 0 THEN pipe END AS bound,
       CASE WHEN peak_gbps IS NULL THEN 'the peak bandwidth of the device is not known'
            WHEN dram_pct IS NULL THEN 'traffic of device memory is not known'
            WHEN pipe IS NULL THEN 'no pipe, or not its peak on this device, is known' END
           AS reason,
       runs, mean_ns, total_ns, device_uuid, activity_group, demangled
FROM roofed
ORDER BY total_ns DESC, gpu, activity_group
