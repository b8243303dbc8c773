-- Each run of a kernel and each metric: the plain overlap-weighted value, and what it rests on.
--
-- computed: The lists of _activity_sampled as rows, kernels alone. What the whole GPU did counts as
--   the run's only if nothing else was there: else value is NULL and reason says why. A clock
--   always does; a ratio from ten samples on, of which the first and last are of little weight.
-- requires: pm_sample, kernel, device
-- limits: What shares a sample with a run counts as the run's: for runs shorter than ten samples
--   see kernel_metrics.
-- parameters:
--   min_alone_pct DOUBLE = 90 [%]: Least share of the run with nothing else on the GPU.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   process_id BIGINT: The traced process.
--   correlation_id BIGINT: The call that launched it.
--   start_ns, end_ns of _activity_sampled
--   name VARCHAR: Function name alone.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of value.
--   value DOUBLE: gpu_value where it can be taken for the run's own, else NULL.
--   reason VARCHAR: Why there is no value; NULL if there is one.
--   gpu_value DOUBLE: What the whole GPU did: of a count the run's share by time, else the mean;
--     NULL where less than half of the run is known.
--   samples BIGINT [samples]: Samples that overlap it.
--   coverage_pct DOUBLE [%]: Time under samples as a share of its duration.
--   alone_pct DOUBLE [%]: Time with nothing else on the GPU as a share of its duration.
--   activity_group BIGINT: Kernel and launch shape, as in activity_group.
WITH joined AS (
    SELECT work.gpu, runs.process_id, runs.correlation_id, runs.start_ns, runs.end_ns,
           coalesce(names.short, work.name) AS name, _pm_column.metric, _pm_column.unit,
           runs.sampled[_pm_column.place] AS gpu_value, runs.samples,
           100.0 * covered_ns / nullif(end_ns - start_ns, 0) AS coverage_pct,
           100.0 * alone_ns / nullif(end_ns - start_ns, 0) AS alone_pct, runs.activity_group,
           CASE WHEN runs.sampled[_pm_column.place] IS NULL
                THEN 'samples cover less than half of it'
                WHEN _pm_column.unit = 'Hz' THEN NULL
                WHEN NOT coalesce(alone_ns >= min_alone_pct / 100 * (end_ns - start_ns), false)
                THEN 'others ran beside it'
                WHEN _pm_column.aggregation = 'ratio' AND runs.samples < 10
                THEN 'a ratio of less than ten samples' END AS reason
    FROM _activity_sampled AS runs
    JOIN _activity_group AS work
        ON work.device_uuid = runs.device_uuid
        AND work.activity_group = runs.activity_group
        AND work.kind = 'kernel'
    LEFT JOIN _readable_name AS names ON names.mangled = work.name
    CROSS JOIN _pm_column
)
SELECT gpu, process_id, correlation_id, start_ns, end_ns, name, metric, unit,
       CASE WHEN reason IS NULL THEN gpu_value END AS value, reason, gpu_value, samples,
       coverage_pct, alone_pct, activity_group
FROM joined
