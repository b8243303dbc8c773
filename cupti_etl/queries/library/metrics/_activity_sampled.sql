-- Each run of a kernel, copy or set on a GPU that was sampled: what the samples say of it.
--
-- computed: For each run and metric the sum of value x overlap over the sum of overlaps; of a
--   count, the shares of the samples that lie in the run, by time. NULL where samples with a value
--   cover less than half of the run. Nothing is interpolated over missing samples.
-- requires: pm_sample
-- materialized: Made once for an opened trace, in one pass over runs and samples.
-- native: Plain DuckDB compares each run with each sample that it overlaps, which takes longer.
-- limits: A sample is of the whole GPU: what ran beside the run, or before and after it within the
--   first and last sample, counts as the run's; kernel_metrics takes that apart.
-- columns:
--   device_uuid VARCHAR: The GPU.
--   activity_group BIGINT: What it is a run of, as in activity_group.
--   process_id, correlation_id, start_ns, end_ns of _activity_run
--   samples BIGINT [samples]: Samples that overlap it.
--   covered_ns BIGINT [ns]: Time under samples.
--   alone_ns BIGINT [ns]: Time with nothing else on the GPU.
--   sampled DOUBLE[]: The values, in the order of _pm_column; NULL where there is none.
WITH sampled_runs AS (
    SELECT row_number() OVER () AS run, runs.device_uuid, groups.activity_group, runs.process_id,
           runs.correlation_id, runs.start_ns, runs.end_ns
    FROM _activity_run AS runs
    JOIN _activity_group AS groups
        ON groups.device_uuid = runs.device_uuid
        AND groups.kind = runs.kind
        AND groups.name IS NOT DISTINCT FROM runs.name
        AND groups.grid_x IS NOT DISTINCT FROM runs.grid_x
        AND groups.grid_y IS NOT DISTINCT FROM runs.grid_y
        AND groups.grid_z IS NOT DISTINCT FROM runs.grid_z
        AND groups.block_x IS NOT DISTINCT FROM runs.block_x
        AND groups.block_y IS NOT DISTINCT FROM runs.block_y
        AND groups.block_z IS NOT DISTINCT FROM runs.block_z
    WHERE runs.device_uuid IN (SELECT device_uuid FROM pm_alignment)
),
edges AS (
    SELECT device_uuid, start_ns AS at_ns, 1 AS step FROM sampled_runs WHERE end_ns > start_ns
    UNION ALL
    SELECT device_uuid, end_ns, -1 FROM sampled_runs WHERE end_ns > start_ns
),
-- From each edge to the next: how many ran; then how long it was just one before it.
steps AS (
    SELECT device_uuid, at_ns, sum(sum(step)) OVER passed AS running,
           lead(at_ns) OVER passed - at_ns AS length_ns
    FROM edges
    GROUP BY device_uuid, at_ns
    WINDOW passed AS (PARTITION BY device_uuid ORDER BY at_ns)
),
clock AS (
    SELECT device_uuid, at_ns,
           TRY_CAST(coalesce(sum(CASE WHEN running = 1 THEN length_ns ELSE 0 END) OVER (
               PARTITION BY device_uuid ORDER BY at_ns
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ), 0) AS BIGINT) AS alone_ns
    FROM steps
),
samples AS (
    SELECT pm_sample.device_uuid, start_ns - lag_ns AS start_ns, end_ns - lag_ns AS end_ns
    FROM pm_sample
    JOIN pm_alignment ON pm_alignment.device_uuid = pm_sample.device_uuid
    WHERE end_ns > start_ns
),
covers AS (
    SELECT run, count(*) AS samples,
           TRY_CAST(sum(least(runs.end_ns, samples.end_ns)
               - greatest(runs.start_ns, samples.start_ns)) AS BIGINT) AS covered_ns
    FROM sampled_runs AS runs
    JOIN samples
        ON samples.device_uuid = runs.device_uuid
        AND samples.start_ns < runs.end_ns
        AND samples.end_ns > runs.start_ns
    WHERE runs.end_ns > runs.start_ns
    GROUP BY run
),
levels AS (
    SELECT pm_value.device_uuid, start_ns - lag_ns AS start_ns, end_ns - lag_ns AS end_ns,
           place, aggregation,
           CASE aggregation WHEN 'sum' THEN value / (end_ns - start_ns) ELSE value END AS level
    FROM pm_value
    JOIN pm_alignment ON pm_alignment.device_uuid = pm_value.device_uuid
    JOIN _pm_column ON _pm_column.metric = pm_value.metric
    WHERE isfinite(value)
),
pairs AS (
    SELECT run, runs.start_ns, runs.end_ns, place, aggregation, level,
           least(runs.end_ns, levels.end_ns) - greatest(runs.start_ns, levels.start_ns)
               AS overlap_ns
    FROM sampled_runs AS runs
    JOIN levels
        ON levels.device_uuid = runs.device_uuid
        AND levels.start_ns < runs.end_ns
        AND levels.end_ns > runs.start_ns
    WHERE runs.end_ns > runs.start_ns
),
sums AS (
    SELECT run, place,
           CASE WHEN 2 * sum(overlap_ns) >= any_value(end_ns - start_ns)
                THEN sum(level * overlap_ns)
                     / CASE any_value(aggregation) WHEN 'sum' THEN 1 ELSE sum(overlap_ns) END END
               AS value
    FROM pairs
    GROUP BY run, place
),
lists AS (
    SELECT run, list(value ORDER BY place) AS sampled
    FROM (SELECT run, place FROM sampled_runs CROSS JOIN _pm_column)
    LEFT JOIN sums USING (run, place)
    GROUP BY run
)
SELECT runs.device_uuid, runs.activity_group, runs.process_id, runs.correlation_id,
       runs.start_ns, runs.end_ns, coalesce(samples, 0) AS samples,
       coalesce(covered_ns, 0) AS covered_ns,
       coalesce(ends.alone_ns - starts.alone_ns, 0) AS alone_ns, sampled
FROM sampled_runs AS runs
JOIN lists ON lists.run = runs.run
LEFT JOIN covers ON covers.run = runs.run
LEFT JOIN clock AS starts
    ON starts.device_uuid = runs.device_uuid
    AND starts.at_ns = runs.start_ns
    AND runs.end_ns > runs.start_ns
LEFT JOIN clock AS ends
    ON ends.device_uuid = runs.device_uuid
    AND ends.at_ns = runs.end_ns
    AND runs.end_ns > runs.start_ns
