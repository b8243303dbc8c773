-- What the samples say of each sort of work and metric: sums over all runs, and two fits.
--
-- computed: Sums over the runs of activity_sampled. The fits are least squares: a sample's value
--   is taken for the sum, over sorts of work and idle time, of the share of the sample times the
--   level of the sort; one is to the samples in which nothing ran beside something else, one to
--   all. Errors are between stretches of the trace.
-- needs: activity_sampled, activity_group, pm_column
-- requires:
--   pm_sample: no PM samples were recorded (capture --pm).
-- stored: Made once for an opened trace, in one pass over runs and samples.
-- native: Plain DuckDB makes no fits; their columns are NULL there.
-- limits: The 511 sorts of a GPU that take most time are told apart by the fits. Levels of counts
--   are what came in a nanosecond.
-- columns:
--   device_uuid VARCHAR: The GPU.
--   activity_group BIGINT: The sort of work, as in activity_group.
--   metric VARCHAR: Name of the metric.
--   runs BIGINT [executions]: Finished executions.
--   samples BIGINT [samples]: Samples that overlap them, each time one does.
--   duration_ns BIGINT [ns]: Sum of their durations.
--   covered_ns BIGINT [ns]: Of these, under samples.
--   alone_ns BIGINT [ns]: Of these, with nothing else on the GPU.
--   known_runs BIGINT [executions]: Runs that have a value of their own.
--   known_mean DOUBLE: Mean of these values.
--   known_stddev DOUBLE: Standard deviation of these values, as a sample; NULL for one.
--   exclusive_level DOUBLE: Level by the fit to samples without concurrency.
--   exclusive_stderr DOUBLE: Its standard error.
--   exclusive_weight DOUBLE [samples]: Sum of squared shares: samples' worth of the sort alone.
--   exclusive_inflation DOUBLE: Variance over what it were if no sample mixed sorts.
--   exclusive_blocks DOUBLE: Stretches of the trace that tell of it.
--   additive_level DOUBLE: Level by the fit to all samples: what runs together adds up.
--   additive_stderr DOUBLE: Its standard error.
--   additive_weight DOUBLE [samples]: As exclusive_weight, of this fit.
--   additive_inflation DOUBLE: As exclusive_inflation, of this fit.
--   additive_blocks DOUBLE: As exclusive_blocks, of this fit.
SELECT groups.device_uuid, groups.activity_group, pm_column.metric,
       count(*) AS runs, sum(samples)::BIGINT AS samples,
       sum(end_ns - start_ns)::BIGINT AS duration_ns, sum(covered_ns)::BIGINT AS covered_ns,
       sum(alone_ns)::BIGINT AS alone_ns,
       count(sampled[place]) AS known_runs, avg(sampled[place]) AS known_mean,
       stddev_samp(sampled[place]) AS known_stddev,
       NULL::DOUBLE AS exclusive_level, NULL::DOUBLE AS exclusive_stderr,
       NULL::DOUBLE AS exclusive_weight, NULL::DOUBLE AS exclusive_inflation,
       NULL::DOUBLE AS exclusive_blocks, NULL::DOUBLE AS additive_level,
       NULL::DOUBLE AS additive_stderr, NULL::DOUBLE AS additive_weight,
       NULL::DOUBLE AS additive_inflation, NULL::DOUBLE AS additive_blocks
FROM activity_group AS groups
JOIN activity_sampled AS runs
    ON runs.device_uuid = groups.device_uuid
    AND runs.activity_group = groups.activity_group,
    pm_column
GROUP BY groups.device_uuid, groups.activity_group, pm_column.metric
