-- Each run of a kernel and each metric: the plain overlap-weighted value, and what it rests on.
--
-- computed: The lists of activity_sampled as rows, kernels alone.
-- needs: activity_sampled, activity_group, pm_column, kernel_name
-- requires:
--   pm_sample: no PM samples were recorded (capture --pm).
--   kernel: no kernels were recorded.
--   device: no device records were recorded, so it is not known which GPU ran the kernels.
-- limits: What shares a sample with a run counts as the run's: for runs shorter than ten samples
--   see kernel_metrics.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   process_id BIGINT: The traced process.
--   correlation_id BIGINT: The call that launched it.
--   start_ns BIGINT [ns]: When it began.
--   end_ns BIGINT [ns]: When it ended.
--   name VARCHAR: Function name alone.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of value.
--   value DOUBLE: Of a count its share, else the mean; NULL where less than half is known.
--   samples BIGINT [samples]: Samples that overlap it.
--   coverage_pct DOUBLE [%]: Time under samples as a share of its duration.
--   alone_pct DOUBLE [%]: Time with nothing else on the GPU as a share of its duration.
--   activity_group BIGINT: Kernel and launch shape, as in activity_group.
WITH names AS (
    SELECT mangled, any_value(short) AS short FROM kernel_name GROUP BY mangled
)
SELECT work.gpu, runs.process_id, runs.correlation_id, runs.start_ns, runs.end_ns,
       coalesce(names.short, work.name) AS name, pm_column.metric, pm_column.unit,
       runs.sampled[pm_column.place] AS value, runs.samples,
       100.0 * covered_ns / nullif(end_ns - start_ns, 0) AS coverage_pct,
       100.0 * alone_ns / nullif(end_ns - start_ns, 0) AS alone_pct, runs.activity_group
FROM activity_sampled AS runs
JOIN activity_group AS work
    ON work.device_uuid = runs.device_uuid
    AND work.activity_group = runs.activity_group
    AND work.kind = 'kernel'
LEFT JOIN names ON names.mangled = work.name,
    pm_column
