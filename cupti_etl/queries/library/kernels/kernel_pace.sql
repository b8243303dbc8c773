-- How steadily each kernel comes, and whether it becomes slower or faster over time.
--
-- computed: Of each name on a GPU, over its executions in order: the straight line through their
--   starts gives the period and, as residual, the jitter; that through their durations the drift.
--   The warm-up ratio is the mean of the first tenth over the median of all. The change point is
--   where the cumulated difference from the mean duration is largest; its strength is that sum
--   divided by the standard deviation and the root of the count, about 1.4 by chance in one of 20.
-- requires: kernel
-- limits: Names with fewer than min_calls executions are left out. A line fits only what comes at
--   one rate, and not what was recorded in parts (_not_recorded).
-- label: name = kernel(mangled)
-- parameters:
--   min_calls BIGINT = 20 [executions]: Fewest executions of a name on a GPU.
-- columns:
--   name VARCHAR: Function name alone.
--   gpu, calls, period_ns, jitter_ns, median_ns, drift_pct of _kernel_trend
--   warm_up_ratio, change_start_ns, before_ns, after_ns, change_strength, mangled of _kernel_trend
SELECT coalesce(names.short, trend.mangled) AS name, gpu, calls, period_ns, jitter_ns, median_ns,
       drift_pct, warm_up_ratio, change_start_ns, before_ns, after_ns, change_strength,
       trend.mangled
FROM _kernel_trend AS trend
LEFT JOIN _readable_name AS names ON names.mangled = trend.mangled
WHERE calls >= min_calls
ORDER BY abs(drift_pct) * total_ns DESC, trend.mangled, gpu
