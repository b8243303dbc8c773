-- How steadily each kernel of a GPU comes, and whether it becomes slower or faster over time: all
-- of them.
--
-- computed: As kernel_pace says.
-- materialized: Made once for an opened trace, in one sweep.
-- limits: A line fits only what comes at one rate.
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   mangled VARCHAR: Mangled name.
--   calls BIGINT [executions]: Finished executions.
--   period_ns DOUBLE [ns]: Time from one to the next, by the line.
--   jitter_ns DOUBLE [ns]: Root mean square distance of the starts from the line.
--   median_ns DOUBLE [ns]: Median duration.
--   drift_pct DOUBLE [%]: Change of the duration from the first to the last execution by the line,
--     as a share of the mean duration.
--   warm_up_ratio DOUBLE: Mean of the first tenth over the median of all.
--   change_start_ns BIGINT [epoch ns]: Start of the execution after which the durations changed.
--   before_ns DOUBLE [ns]: Mean duration up to there.
--   after_ns DOUBLE [ns]: Mean duration from there on; NULL if it is the last.
--   change_strength DOUBLE: How clear the change is; NULL if all are alike.
--   total_ns BIGINT [ns]: Sum of the durations.
WITH numbered AS (
    SELECT gpu, name, start_ns, end_ns - start_ns AS duration_ns,
           row_number() OVER run AS i, count(*) OVER (PARTITION BY gpu, name) AS n,
           start_ns - min(start_ns) OVER (PARTITION BY gpu, name) AS since_ns,
           avg(end_ns - start_ns) OVER (PARTITION BY gpu, name) AS mean_ns,
           sum(end_ns - start_ns) OVER run AS sum_ns
    FROM _gpu_run
    WHERE kind = 'kernel'
    WINDOW run AS (PARTITION BY gpu, name ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING)
),
fitted AS (
    SELECT gpu, name, count(*) AS calls,
           CASE WHEN count(*) > 1 THEN regr_slope(since_ns, i) END AS period_ns,
           -- What the line does not explain of the variance.
           sqrt(greatest(var_pop(since_ns) * (1 - coalesce(regr_r2(since_ns, i), 1)), 0))
               AS jitter_ns,
           median(duration_ns) AS median_ns,
           CASE WHEN count(*) > 1 THEN
               100.0 * regr_slope(duration_ns, i) * (count(*) - 1) / nullif(avg(duration_ns), 0)
           END AS drift_pct,
           avg(duration_ns) FILTER (WHERE i <= ceil(n / 10.0)) / nullif(median(duration_ns), 0)
               AS warm_up_ratio,
           arg_max({'i': i, 'start_ns': start_ns, 'sum_ns': sum_ns},
                   (abs(sum_ns - i * mean_ns), -i))
               AS change,
           max(abs(sum_ns - i * mean_ns))
               / nullif(stddev_pop(duration_ns) * sqrt(count(*)), 0) AS change_strength,
           sum(duration_ns) AS total_ns
    FROM numbered
    GROUP BY gpu, name
)
SELECT gpu, name AS mangled, calls, period_ns, jitter_ns, median_ns, drift_pct, warm_up_ratio,
       change.start_ns AS change_start_ns, (change.sum_ns / change.i)::DOUBLE AS before_ns,
       ((total_ns - change.sum_ns) / nullif(calls - change.i, 0))::DOUBLE AS after_ns,
       change_strength, TRY_CAST(total_ns AS BIGINT) AS total_ns
FROM fitted
