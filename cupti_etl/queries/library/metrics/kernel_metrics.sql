-- Hardware metrics of each kernel and launch shape, from samples of the whole GPU.
--
-- computed: The mean over all time that the kernel runs; of counts, what a run of mean length gets.
--   method alone: nothing runs beside it. together: what runs at once adds up, which the level of
--   each set of kernels that ran together agrees with; the fit for that is taken. shared: it does
--   not; what is seen of each set is shared out in proportion to the levels alone, and spread says
--   how far that may be off. own: no fit, mean of the runs' own values, for runs of ten samples
--   and more. A clock is the mean over the samples that overlap it (mean), a ratio that of
--   samples which it alone fills (held). Else value is NULL and reason says why.
-- requires: pm_sample, kernel, device
-- limits: Samples see the whole GPU, whatever process uses it. Runs of one shape are taken for
--   alike; stderr is NULL where too few stretches of the trace tell of a kernel. spread takes for
--   granted that a kernel does no more beside others than alone.
-- label: name = kernel(demangled, grid, block)
-- parameters:
--   min_coverage_pct DOUBLE = 50 [%]: Least share of the kernel's time under samples.
--   min_weight DOUBLE = 3 [samples]: Samples' worth of the kernel alone that a fit must rest on.
--   min_blocks DOUBLE = 10: Or so many stretches of the trace that tell of it.
--   min_alone_pct DOUBLE = 90 [%]: Least share of its time with nothing else on the GPU, for ratios
--     and method own.
--   max_inflation DOUBLE = 100: Beyond it a kernel cannot be told from what always runs beside it.
--   max_spread_pct DOUBLE = 5 [%]: Largest spread, of value, and largest share of its time of
--     which nothing is known. A spread of a hundredth of the most that any kernel does is none.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of value, stderr, spread, alone_value, own_mean and own_stddev.
--   value DOUBLE: The metric while the kernel runs, or what a run counts; NULL if not known.
--   stderr DOUBLE: Its standard error; NULL if not known.
--   spread DOUBLE: How far it may be off as others run beside the kernel; NULL without a fit.
--   method VARCHAR: alone, together, shared, own, mean or held; NULL without a value.
--   reason VARCHAR: Why there is no value; NULL if there is one.
--   alone_value DOUBLE: The same while nothing runs beside it, however little of its time that is.
--   coverage_pct DOUBLE [%]: Time under samples as a share of total_ns.
--   alone_pct DOUBLE [%]: Time with nothing else on the GPU as a share of total_ns.
--   runs, samples of _activity_metric
--   mean_ns DOUBLE [ns]: Mean duration of a run.
--   total_ns BIGINT [ns]: Sum of the durations.
--   own_mean DOUBLE: Mean over runs of the plain overlap-weighted values, neighbours included.
--   own_stddev DOUBLE: Standard deviation of these; NULL for one.
--   device_uuid VARCHAR: The GPU across processes and hosts.
--   activity_group BIGINT: Number of the kernel and shape, as in activity_group.
--   demangled VARCHAR: Name with template and call arguments.
WITH
-- Beside the most that is seen, a hundredth of it is nothing.
peaks AS (
    SELECT device_uuid, metric,
           max(greatest(mean, CASE WHEN alone_weight >= 3 THEN alone_level END)) AS most
    FROM _activity_metric
    GROUP BY device_uuid, metric
),
known AS (
    SELECT sums.*, work.gpu, work.name AS mangled, work.grid_x, work.grid_y, work.grid_z,
           work.block_x, work.block_y, work.block_z, about.unit, pm_alignment.interval_ns, most,
           duration_ns / sums.runs AS mean_ns,
           CASE _pm_column.aggregation WHEN 'sum' THEN duration_ns / sums.runs ELSE 1 END AS factor,
           CASE WHEN _pm_column.unit = 'Hz' THEN 'clock'
                WHEN _pm_column.aggregation = 'ratio' THEN 'ratio' ELSE 'amount' END AS sort,
           coalesce(covered_ns >= min_coverage_pct / 100 * duration_ns AND covered_ns > 0, false)
               AS is_covered,
           coalesce(alone_ns >= min_alone_pct / 100 * duration_ns, false) AS is_alone,
           coalesce(additive_weight >= min_weight OR additive_blocks >= min_blocks, false)
               AS is_told,
           coalesce(additive_inflation, 0) > max_inflation AS is_inflated,
           coalesce(unknown_pct <= max_spread_pct, false) AS is_share_known,
           coalesce(shared_spread <= greatest(max_spread_pct / 100 * abs(shared_level),
                                              0.01 * most), false) AS is_split
    FROM _activity_metric AS sums
    JOIN _activity_group AS work
        ON work.device_uuid = sums.device_uuid
        AND work.activity_group = sums.activity_group
        AND work.kind = 'kernel'
    JOIN pm_alignment ON pm_alignment.device_uuid = sums.device_uuid
    JOIN _pm_column ON _pm_column.metric = sums.metric
    JOIN peaks ON peaks.device_uuid = sums.device_uuid AND peaks.metric = sums.metric
    LEFT JOIN pm_metric AS about
        ON about.device_uuid = sums.device_uuid
        AND about.metric = sums.metric
),
judged AS (
    SELECT *,
           CASE WHEN NOT is_covered THEN NULL
                WHEN sort = 'clock' THEN CASE WHEN mean IS NOT NULL THEN 'mean' END
                WHEN sort = 'ratio'
                THEN CASE WHEN is_alone AND held_samples >= min_weight THEN 'held' END
                WHEN is_told AND NOT is_inflated AND is_share_known AND is_split
                THEN CASE WHEN alone_ns >= 0.99 * duration_ns THEN 'alone'
                          -- The one that is less certain must still be certain enough to tell.
                          WHEN abs(additive_level - shared_level)
                               <= 3 * shared_stderr + 0.02 * abs(shared_level)
                               AND shared_stderr <= greatest(0.1 * abs(shared_level), 0.01 * most)
                          THEN 'together' ELSE 'shared' END
                WHEN known_runs > 0 AND mean_ns >= 10 * interval_ns AND is_alone
                     AND NOT is_inflated
                THEN 'own' END AS chosen
    FROM known
),
valued AS (
    SELECT *,
           CASE chosen WHEN 'alone' THEN shared_level * factor
                       WHEN 'shared' THEN shared_level * factor
                       WHEN 'together' THEN additive_level * factor WHEN 'own' THEN known_mean
                       WHEN 'mean' THEN mean WHEN 'held' THEN held_mean END AS chosen_value,
           CASE chosen WHEN 'alone' THEN shared_stderr * factor
                       WHEN 'shared' THEN shared_stderr * factor
                       WHEN 'together' THEN additive_stderr * factor
                       WHEN 'own' THEN known_stddev / sqrt(known_runs)
                       -- Samples that follow one another tell the same.
                       WHEN 'held' THEN held_stddev / sqrt(least(held_samples, alone_blocks)) END
               AS chosen_stderr
    FROM judged
),
signed AS (
    SELECT *, coalesce(chosen_value < -3 * coalesce(chosen_stderr, 0) - 0.01 * most * factor, false)
                  AS is_negative
    FROM valued
)
SELECT gpu, coalesce(names.short, signed.mangled) AS name,
       grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
       block_x || 'x' || block_y || 'x' || block_z AS block, metric, unit,
       CASE WHEN NOT is_negative THEN chosen_value END AS value,
       CASE WHEN NOT is_negative THEN chosen_stderr END AS stderr,
       CASE WHEN sort = 'amount' THEN shared_spread * factor END AS spread,
       CASE WHEN NOT is_negative THEN chosen END AS method,
       CASE WHEN is_negative THEN 'the fit is below 0, which nothing can be'
            WHEN chosen IS NOT NULL THEN NULL
            WHEN duration_ns = 0 THEN 'its runs have no length'
            WHEN NOT is_covered THEN 'too little of its time is under samples'
            WHEN sort = 'ratio' AND NOT is_alone
            THEN 'a ratio cannot be taken apart, and others run beside it'
            WHEN sort = 'ratio'
            THEN 'a ratio cannot be taken apart, and too few samples hold it alone'
            WHEN known_runs = 0 AND additive_level IS NULL
            THEN 'no fit, and no sample of the metric covers half of a run'
            WHEN is_inflated THEN 'cannot be told from what runs beside it'
            WHEN additive_level IS NULL AND NOT is_alone THEN 'no fit, and others run beside it'
            WHEN additive_level IS NULL THEN 'no fit, and its runs are short against the samples'
            WHEN NOT is_told THEN 'too few samples hold it'
            WHEN NOT is_share_known
            THEN 'too little is seen of it alone, or beside those that it runs with'
            ELSE 'what runs beside it does not add up to what is seen, or is never alone' END
           AS reason,
       CASE WHEN sort = 'amount' AND (alone_weight >= min_weight OR alone_blocks >= min_blocks)
                 AND alone_inflation <= max_inflation THEN alone_level * factor END AS alone_value,
       100.0 * covered_ns / nullif(duration_ns, 0) AS coverage_pct,
       100.0 * alone_ns / nullif(duration_ns, 0) AS alone_pct,
       runs, samples, mean_ns, duration_ns AS total_ns,
       known_mean AS own_mean, known_stddev AS own_stddev, device_uuid, activity_group,
       coalesce(names.demangled, signed.mangled) AS demangled
FROM signed
LEFT JOIN _readable_name AS names ON names.mangled = signed.mangled
ORDER BY total_ns DESC, gpu, activity_group, metric
