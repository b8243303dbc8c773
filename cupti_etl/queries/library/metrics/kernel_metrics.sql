-- Hardware metrics of each kernel and launch shape, from samples of the whole GPU.
--
-- computed: method alone: level of the fit to samples without concurrency; together: of the fit to
--   all, for work that adds up; own: mean of the runs' own values, for runs of ten samples and
--   more where there is no fit. Of counts it is what a run of mean length gets. Else, and under
--   the least coverage, value is NULL and reason says why.
-- needs: activity_metric, activity_group, pm_alignment, pm_metric, kernel_name
-- requires:
--   pm_sample: no PM samples were recorded (capture --pm).
--   kernel: no kernels were recorded.
--   device: no device records were recorded, so it is not known which GPU ran the kernels.
-- limits: Samples see the whole GPU, whatever process uses it. Method together takes for granted
--   that what runs at once adds up, as traffic does and SM activity does not. Runs of one shape
--   are taken for alike; stderr is NULL where too few stretches of the trace tell of a kernel.
-- parameters:
--   min_coverage_pct DOUBLE = 50 [%]: Least share of the kernel's time under samples.
--   min_weight DOUBLE = 3 [samples]: Samples' worth of the kernel alone that a fit must rest on.
--   min_blocks DOUBLE = 10: Or so many stretches of the trace that tell of it.
--   min_alone_pct DOUBLE = 10 [%]: Least share of the weight of all samples that those without
--     concurrency have, for method alone.
--   max_inflation DOUBLE = 100: Beyond it a kernel cannot be told from what always runs beside it.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   name VARCHAR: Function name alone.
--   grid VARCHAR [blocks]: Blocks in the grid, x, y and z.
--   block VARCHAR [threads]: Threads in a block, x, y and z.
--   metric VARCHAR: Name of the metric.
--   unit VARCHAR: Unit of value, stderr, own_mean and own_stddev.
--   value DOUBLE: The metric while the kernel runs, or what a run counts; NULL if not known.
--   stderr DOUBLE: Its standard error; NULL if not known.
--   method VARCHAR: alone, together or own; NULL without a value.
--   reason VARCHAR: Why there is no value; NULL if there is one.
--   coverage_pct DOUBLE [%]: Time under samples as a share of total_ns.
--   alone_pct DOUBLE [%]: Time with nothing else on the GPU as a share of total_ns.
--   runs BIGINT [executions]: Finished executions.
--   samples BIGINT [samples]: Samples that overlap them, each time one does.
--   mean_ns DOUBLE [ns]: Mean duration of a run.
--   total_ns BIGINT [ns]: Sum of the durations.
--   own_mean DOUBLE: Mean over runs of the plain overlap-weighted values, neighbours included.
--   own_stddev DOUBLE: Standard deviation of these; NULL for one.
--   device_uuid VARCHAR: The GPU across processes and hosts.
--   activity_group BIGINT: Number of the kernel and shape, as in activity_group.
--   demangled VARCHAR: Name with template and call arguments.
WITH names AS (
    SELECT mangled, any_value(demangled) AS demangled, any_value(short) AS short
    FROM kernel_name
    GROUP BY mangled
),
known AS (
    SELECT sums.*, work.gpu, work.name AS mangled, work.grid_x, work.grid_y, work.grid_z,
           work.block_x, work.block_y, work.block_z, about.unit, pm_alignment.interval_ns,
           duration_ns / sums.runs AS mean_ns,
           CASE about.aggregation WHEN 'sum' THEN duration_ns / sums.runs ELSE 1 END AS factor,
           coalesce(covered_ns >= min_coverage_pct / 100 * duration_ns AND covered_ns > 0, false)
               AS is_covered,
           coalesce(exclusive_inflation <= max_inflation
                    AND (exclusive_weight >= min_weight OR exclusive_blocks >= min_blocks),
                    false) AND exclusive_level IS NOT NULL
               AND exclusive_weight >= min_alone_pct / 100 * additive_weight AS is_alone,
           coalesce(additive_inflation <= max_inflation
                    AND (additive_weight >= min_weight OR additive_blocks >= min_blocks),
                    false) AND additive_level IS NOT NULL AS is_together
    FROM activity_metric AS sums
    JOIN activity_group AS work
        ON work.device_uuid = sums.device_uuid
        AND work.activity_group = sums.activity_group
        AND work.kind = 'kernel'
    JOIN pm_alignment ON pm_alignment.device_uuid = sums.device_uuid
    LEFT JOIN pm_metric AS about
        ON about.device_uuid = sums.device_uuid
        AND about.metric = sums.metric
),
judged AS (
    SELECT *, CASE WHEN NOT is_covered THEN NULL WHEN is_alone THEN 'alone'
                   WHEN is_together THEN 'together'
                   WHEN known_runs > 0 AND mean_ns >= 10 * interval_ns
                        AND coalesce(exclusive_inflation, 0) <= max_inflation
                        AND coalesce(additive_inflation, 0) <= max_inflation THEN 'own' END
               AS method
    FROM known
)
SELECT gpu, coalesce(names.short, judged.mangled) AS name,
       grid_x || 'x' || grid_y || 'x' || grid_z AS grid,
       block_x || 'x' || block_y || 'x' || block_z AS block, metric, unit,
       CASE method WHEN 'alone' THEN exclusive_level * factor
            WHEN 'together' THEN additive_level * factor WHEN 'own' THEN known_mean END AS value,
       CASE method WHEN 'alone' THEN exclusive_stderr * factor
            WHEN 'together' THEN additive_stderr * factor
            WHEN 'own' THEN known_stddev / sqrt(known_runs) END AS stderr,
       method,
       CASE WHEN method IS NOT NULL THEN NULL
            WHEN duration_ns = 0 THEN 'its runs have no length'
            WHEN NOT is_covered THEN 'too little of its time is under samples'
            WHEN known_runs = 0 AND additive_level IS NULL
            THEN 'no fit, and no sample of the metric covers half of a run'
            WHEN greatest(exclusive_inflation, additive_inflation) > max_inflation
            THEN 'cannot be told from what runs beside it'
            WHEN additive_level IS NULL THEN 'no fit, and its runs are short against the samples'
            ELSE 'too few samples hold it' END AS reason,
       100.0 * covered_ns / nullif(duration_ns, 0) AS coverage_pct,
       100.0 * alone_ns / nullif(duration_ns, 0) AS alone_pct,
       runs, samples, mean_ns, duration_ns AS total_ns,
       known_mean AS own_mean, known_stddev AS own_stddev, device_uuid, activity_group,
       coalesce(names.demangled, judged.mangled) AS demangled
FROM judged
LEFT JOIN names ON names.mangled = judged.mangled
ORDER BY total_ns DESC, gpu, activity_group, metric
