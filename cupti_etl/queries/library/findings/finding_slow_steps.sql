-- What steps cost that took longer than most.
--
-- computed: Durations of the outliers of step_breakdown, less the median of their loop. Steps that
--   were found in the kernels are left out: their period is a guess, and may be of layers.
-- requires: gpu_activity, step
-- finding: some steps took longer than most (measured)
-- advice: compare these steps with the others: evaluation, checkpoints, input
-- shown: step_breakdown --where is_outlier
WITH steps AS (
    SELECT *, median(duration_ns) OVER (PARTITION BY process_id, gpu) AS median_ns
    FROM step_breakdown
    WHERE source = 'nvtx'
)
SELECT gpu, TRY_CAST(sum(duration_ns) - count(*) * any_value(median_ns) AS BIGINT) AS saved_ns,
       concat(CASE WHEN count(*) > 1 THEN 'steps ' ELSE 'step ' END,
              array_to_string(list(step ORDER BY step)[:CASE WHEN count(*) > 8 THEN 5 ELSE 8 END],
                              ', '),
              ' and ' || CASE WHEN count(*) > 8 THEN count(*) - 5 END || ' more') AS culprit
FROM steps
WHERE is_outlier
GROUP BY process_id, gpu
