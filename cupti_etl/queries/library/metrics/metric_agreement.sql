-- What the range profiler, Nsight Compute and sampling say of the same kernels and metrics.
--
-- computed: Means over launches, by function name alone, shape and the name that CUPTI has for the
--   metric: of launch_metric by source, and of samples by pm_metric.hardware_name, as the level
--   that what ran at once is shared out by (kernel_metrics says how certain that is); of counts,
--   what a run of mean length gets. A difference is that to the range profiler, as a share of it.
-- requires:
--   launch_metric: no launches were measured (capture with --range-metrics, or import ncu's CSV).
-- limits: Several captures have to be opened as one, and the program has to do the same in each.
--   Of a name with several instances of a template, all are put together. Clocks and caches of the
--   captures may differ.
-- first: metric, exact, ncu, ncu_apart_pct, sampled, sampled_apart_pct, name
-- label: name = kernel(name, grid, block)
-- columns:
--   name VARCHAR: Function name alone.
--   grid, block of _launch_shape
--   metric VARCHAR: The metric, as CUPTI names it.
--   unit VARCHAR: Unit of exact, ncu and sampled; NULL of a ratio.
--   exact DOUBLE: Of the range profiler; NULL if it did not measure it.
--   ncu DOUBLE: Of Nsight Compute; NULL if it did not measure it.
--   ncu_apart_pct DOUBLE [%]: ncu less exact, as a share of exact.
--   sampled DOUBLE: Of samples; NULL if they say nothing of it.
--   sampled_apart_pct DOUBLE [%]: sampled less exact, as a share of exact.
--   certain BOOLEAN: Whether all counters behind exact are of one execution; NULL if not known.
--   launches BIGINT [launches]: Launches that the range profiler measured.
WITH measured AS (
    SELECT regexp_extract(coalesce(short, function), '^(?:void )?([^(<]*)', 1) AS name, grid, block,
           metric, unit, value, one_pass, source
    FROM launch_metric
    LEFT JOIN _launch_shape USING (process_id, correlation_id)
    LEFT JOIN _readable_name AS names ON mangled = function
    WHERE range_name IS NULL
),
replayed AS (
    SELECT name, grid, block, metric, min(unit) AS unit,
           avg(value) FILTER (source = 'range_profiler') AS exact,
           avg(value) FILTER (source = 'ncu') AS ncu,
           min(one_pass) FILTER (source = 'range_profiler') AS certain,
           count(value) FILTER (source = 'range_profiler') AS launches
    FROM measured
    GROUP BY name, grid, block, metric
),
hardware AS (
    SELECT metric, any_value(hardware_name) AS hardware_name FROM pm_metric GROUP BY metric
),
levels AS (
    SELECT coalesce(short, work.name) AS name,
           grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
           block_x || 'x' || block_y || 'x' || block_z AS block, hardware_name AS metric,
           shared_level
               * CASE aggregation WHEN 'sum' THEN duration_ns / sums.runs ELSE 1 END AS value
    FROM _activity_metric AS sums
    JOIN _activity_group AS work
        ON work.device_uuid = sums.device_uuid
        AND work.activity_group = sums.activity_group
        AND work.kind = 'kernel'
    JOIN _pm_column ON _pm_column.metric = sums.metric
    JOIN hardware ON hardware.metric = sums.metric
    LEFT JOIN _readable_name AS names ON names.mangled = work.name
),
samples AS (
    SELECT regexp_extract(name, '^(?:void )?([^(<]*)', 1) AS name, grid, block, metric,
           avg(value) AS sampled
    FROM levels
    GROUP BY ALL
)
SELECT name, grid, block, metric, unit, exact, ncu,
       100 * (ncu - exact) / nullif(abs(exact), 0) AS ncu_apart_pct, sampled,
       100 * (sampled - exact) / nullif(abs(exact), 0) AS sampled_apart_pct, certain, launches
FROM replayed
LEFT JOIN samples USING (name, grid, block, metric)
ORDER BY greatest(abs(ncu_apart_pct), abs(sampled_apart_pct)) DESC NULLS LAST, name, grid, block,
         metric
