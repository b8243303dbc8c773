-- How steadily each kernel comes, and whether it becomes slower or faster over time.
--
-- computed: Of each name on a GPU, over its executions in order: the straight line through their
--   starts gives the period and, as residual, the jitter; that through their durations the drift.
--   The warm-up ratio is the mean of the first tenth over the median of all. The change point is
--   where the cumulated difference from the mean duration is largest; its strength is that sum
--   divided by the standard deviation and the root of the count, about 1.4 by chance in one of 20.
-- needs: _kernel_trend, _readable_name
-- requires: kernel
-- limits: Names with fewer than min_calls executions are left out. A line fits only what comes at
--   one rate.
-- label: name = kernel(mangled)
-- parameters:
--   min_calls BIGINT = 20 [executions]: Fewest executions of a name on a GPU.
-- columns:
--   name VARCHAR: Function name alone.
--   gpu BIGINT: Number of the GPU, as in gpu.
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
--   mangled VARCHAR: Mangled name.
SELECT coalesce(names.short, trend.mangled) AS name, gpu, calls, period_ns, jitter_ns, median_ns,
       drift_pct, warm_up_ratio, change_start_ns, before_ns, after_ns, change_strength,
       trend.mangled
FROM _kernel_trend AS trend
LEFT JOIN _readable_name AS names ON names.mangled = trend.mangled
WHERE calls >= min_calls
ORDER BY abs(drift_pct) * total_ns DESC, trend.mangled, gpu
