-- What the samples say of each sort of work and metric: sums over all runs, and two fits.
--
-- computed: Sums over the runs of _activity_sampled. The fits are least squares: a sample's value
--   is taken for a sum of shares of the sample times levels. additive: each sort of work has one
--   level, and what runs together adds up. alone and shared: a sort alone has a level and each set
--   of sorts that runs together another one, which is shared out in proportion to the levels that
--   they have alone. Errors are between stretches of the trace.
-- requires: pm_sample
-- materialized: Made once for an opened trace, in one pass over runs and samples.
-- native: Plain DuckDB makes no fits; their columns are NULL there.
-- limits: The 511 sorts of a GPU that take most time are told apart by the fits, and the first 512
--   sets of up to four. Levels of counts are what came in a nanosecond.
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
--   mean DOUBLE: What the whole GPU did while they ran: mean weighted by overlap.
--   held_samples BIGINT [samples]: Samples that hold one of them alone from start to end.
--   held_mean DOUBLE: Mean of these samples.
--   held_stddev DOUBLE: Their standard deviation, as a sample; NULL for one.
--   alone_level DOUBLE: Level while nothing ran beside it.
--   alone_stderr DOUBLE: Its standard error.
--   alone_weight DOUBLE [samples]: Sum of squared shares: samples' worth of the sort alone.
--   alone_inflation DOUBLE: Variance over what it were if no sample mixed sorts.
--   alone_blocks DOUBLE: Stretches of the trace that tell of it.
--   additive_level DOUBLE: Level by the fit in which what runs together adds up.
--   additive_stderr DOUBLE: Its standard error.
--   additive_weight DOUBLE [samples]: As alone_weight, of this fit.
--   additive_inflation DOUBLE: As alone_inflation, of this fit.
--   additive_blocks DOUBLE: As alone_blocks, of this fit.
--   shared_level DOUBLE: Mean over all its time, what ran together being shared out.
--   shared_stderr DOUBLE: Its standard error.
--   shared_spread DOUBLE: How far it may be off however that is shared, if nothing does more
--     beside others than alone but for what is seen beyond their sum.
--   unknown_pct DOUBLE [%]: Share of its time for which there is no level.
SELECT groups.device_uuid, groups.activity_group, _pm_column.metric,
       count(*) AS runs, TRY_CAST(sum(samples) AS BIGINT) AS samples,
       TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS duration_ns,
       TRY_CAST(sum(covered_ns) AS BIGINT) AS covered_ns,
       TRY_CAST(sum(alone_ns) AS BIGINT) AS alone_ns,
       count(sampled[place]) AS known_runs, avg(sampled[place]) AS known_mean,
       stddev_samp(sampled[place]) AS known_stddev,
       CASE any_value(aggregation)
            WHEN 'sum' THEN sum(sampled[place])
                            / sum(covered_ns) FILTER (WHERE sampled[place] IS NOT NULL)
            ELSE sum(sampled[place] * covered_ns)
                 / sum(covered_ns) FILTER (WHERE sampled[place] IS NOT NULL) END AS mean,
       NULL::BIGINT AS held_samples, NULL::DOUBLE AS held_mean, NULL::DOUBLE AS held_stddev,
       NULL::DOUBLE AS alone_level, NULL::DOUBLE AS alone_stderr,
       NULL::DOUBLE AS alone_weight, NULL::DOUBLE AS alone_inflation,
       NULL::DOUBLE AS alone_blocks, NULL::DOUBLE AS additive_level,
       NULL::DOUBLE AS additive_stderr, NULL::DOUBLE AS additive_weight,
       NULL::DOUBLE AS additive_inflation, NULL::DOUBLE AS additive_blocks,
       NULL::DOUBLE AS shared_level, NULL::DOUBLE AS shared_stderr,
       NULL::DOUBLE AS shared_spread, NULL::DOUBLE AS unknown_pct
FROM _activity_group AS groups
JOIN _activity_sampled AS runs USING (device_uuid, activity_group)
CROSS JOIN _pm_column
GROUP BY groups.device_uuid, groups.activity_group, _pm_column.metric
