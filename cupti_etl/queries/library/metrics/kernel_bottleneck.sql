-- What holds each kernel and launch shape up: the busiest part of the GPU, or none of them.
--
-- computed: The level of each part is the largest of its metrics in kernel_metrics (dram: reads
--   plus writes), as a share of its peak. The busiest one is the class if it reaches busy_pct, of
--   equal ones the first of tensor, compute, dram and link; else launch, if the runs are short or
--   leave SMs idle; else latency. Without the metrics that it takes to say so, class is NULL and
--   reason says which are missing.
-- requires: pm_sample, kernel, device
-- limits: A mean over the run: phases that are bound by different parts look like latency. The
--   peak of a link must be in pm_metric.
-- front: What limits each kernel: compute, memory or latency?
-- first: class, busiest, busiest_pct, total_ns, runs, reason, name
-- label: name = kernel(demangled, grid, block)
-- parameters:
--   busy_pct DOUBLE = 60 [%]: Level, of the part's peak, from which on a part holds a kernel up.
--   filled_pct DOUBLE = 50 [%]: Below it, in cycles of SMs with a warp, SMs are left idle.
--   short_ns BIGINT = 5000 [ns]: Runs that are shorter are about as long as their launch.
-- columns:
--   gpu, name, grid, block of kernel_metrics
--   class VARCHAR: compute, tensor, dram, link, latency or launch; NULL if it cannot be said.
--   is_certain BOOLEAN: Whether the busiest level is two standard errors away from busy_pct.
--   reason VARCHAR: Why there is no class; NULL if there is one.
--   busiest VARCHAR: The busiest part of those known.
--   busiest_pct DOUBLE [%]: Its level, as a share of its peak.
--   stderr_pct DOUBLE [%]: Standard error of that, in per cent of the peak, with its spread.
--   compute_pct DOUBLE [%]: Busiest of instruction issue and pipes, as a share of its peak.
--   tensor_pct DOUBLE [%]: Tensor pipes, as a share of their peak.
--   dram_pct DOUBLE [%]: Device memory, as a share of its peak.
--   link_pct DOUBLE [%]: Busiest of PCIe, NVLink and C2C, as a share of its peak.
--   sm_active_pct DOUBLE [%]: Cycles with a warp as a share of the cycles of all SMs.
--   runs, mean_ns, total_ns, device_uuid, activity_group, demangled of kernel_metrics
WITH kernels AS (
    SELECT device_uuid, activity_group, any_value(gpu) AS gpu, any_value(name) AS name,
           any_value(grid) AS grid, any_value(block) AS block, any_value(runs) AS runs,
           any_value(mean_ns) AS mean_ns, any_value(total_ns) AS total_ns,
           any_value(demangled) AS demangled,
           max(value) FILTER (WHERE metric = 'sm_active_pct') AS sm_active_pct
    FROM kernel_metrics()
    GROUP BY device_uuid, activity_group
),
parts AS (
    SELECT levels.device_uuid, levels.activity_group,
           CASE WHEN levels.metric LIKE 'tensor%pct' THEN 'tensor'
                WHEN levels.metric = 'dram_pct' THEN 'dram'
                WHEN levels.metric IN ('dram_read_pct', 'dram_write_pct') THEN 'dram sum'
                WHEN levels.metric IN ('sm_issue_pct', 'fma_pct', 'fma_heavy_pct', 'fp16_pct',
                                       'fp64_pct', 'alu_pct', 'xu_pct', 'uniform_pct')
                THEN 'compute'
                WHEN regexp_matches(levels.metric, '^(pcie|nvlink|c2c)_[rt]x_(bytes|pct)$')
                THEN 'link' END AS part,
           -- Of a count, bytes a nanosecond against units a second.
           value * scale AS pct, (stderr + coalesce(spread, 0)) * scale AS error
    FROM (
        SELECT *, CASE unit WHEN '%' THEN 1.0 ELSE 100 * 1e9 / nullif(mean_ns * peak, 0) END
                   AS scale
        FROM kernel_metrics() AS one
        LEFT JOIN (SELECT device_uuid, metric, peak FROM pm_metric) AS peaks
            USING (device_uuid, metric)
    ) AS levels
),
-- Reads and writes add up; of other parts the busiest metric counts.
whole AS (
    -- arg_max passes over a NULL, and with it over the metric that is meant, but for a struct's.
    SELECT device_uuid, activity_group, part, max(pct) AS pct,
           arg_max({'error': error}, (pct, error)).error AS error
    FROM parts
    WHERE part != 'dram sum' AND pct IS NOT NULL
    GROUP BY device_uuid, activity_group, part
    UNION ALL
    SELECT device_uuid, activity_group, 'dram', sum(pct),
           CASE WHEN count(error) = count(*) THEN sqrt(sum(error * error)) END
    FROM parts
    WHERE part = 'dram sum'
    GROUP BY device_uuid, activity_group
    HAVING count(pct) = 2
),
levels AS (
    SELECT device_uuid, activity_group,
           max(pct) FILTER (WHERE part = 'compute') AS compute_pct,
           max(pct) FILTER (WHERE part = 'tensor') AS tensor_pct,
           max(pct) FILTER (WHERE part = 'dram') AS dram_pct,
           max(pct) FILTER (WHERE part = 'link') AS link_pct,
           max(pct) AS busiest_pct,
           arg_max({'part': part, 'error': error},
                   (pct, -list_position(['tensor', 'compute', 'dram', 'link'], part))) AS top
    FROM whole
    GROUP BY device_uuid, activity_group
),
classed AS (
    SELECT kernels.*, levels.* EXCLUDE (device_uuid, activity_group),
           top.part AS busiest, top.error AS error,
           CASE WHEN busiest_pct >= busy_pct THEN top.part
                WHEN dram_pct IS NULL OR coalesce(compute_pct, tensor_pct) IS NULL THEN NULL
                WHEN mean_ns < short_ns OR sm_active_pct < filled_pct THEN 'launch'
                WHEN sm_active_pct IS NOT NULL THEN 'latency' END AS class
    FROM kernels
    LEFT JOIN levels USING (device_uuid, activity_group)
)
SELECT gpu, name, grid, block, class,
       CASE WHEN class IS NOT NULL AND error IS NOT NULL
            THEN abs(busiest_pct - busy_pct) > 2 * error END AS is_certain,
       CASE WHEN class IS NOT NULL THEN NULL
            WHEN busiest IS NULL THEN 'no metric of any part has a value: see kernel_metrics'
            WHEN dram_pct IS NULL THEN 'device memory is not known: sample dram_read_pct and'
                                       || ' dram_write_pct, or dram_pct'
            WHEN coalesce(compute_pct, tensor_pct) IS NULL
            THEN 'neither compute nor tensor is known: sample sm_issue_pct'
            ELSE 'sm_active_pct is not known' END AS reason,
       busiest, busiest_pct, error AS stderr_pct, compute_pct, tensor_pct, dram_pct, link_pct,
       sm_active_pct, runs, mean_ns, total_ns, device_uuid, activity_group, demangled
FROM classed
ORDER BY total_ns DESC, gpu, activity_group
