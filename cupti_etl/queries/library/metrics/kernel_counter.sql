-- Exact hardware counters of each kernel and launch shape, from launches that were replayed.
--
-- computed: Values of launch_metric by kernel, shape and metric. The shape is that of the launch's
--   row in kernel; NULL if it has none (see counter_join).
-- requires:
--   launch_metric: no launches were measured (capture with --range-metrics).
-- limits: Metrics of several passes come from several executions. Where certain is not true, a
--   ratio divides what one execution did by what another did, and can be wrong for kernels that
--   are short or do not do the same each time. A sum over launches has a meaning for counts alone.
-- first: metric, mean, unit, launches, certain, name
-- label: name = kernel(demangled, grid, block)
-- columns:
--   name VARCHAR: Function name alone.
--   grid, block of _launch_shape
--   metric VARCHAR: The metric, as CUPTI names it.
--   unit VARCHAR: Unit of the four that follow; NULL of a ratio.
--   mean DOUBLE: Mean over the launches with a value; NULL if none has one.
--   least DOUBLE: The smallest.
--   most DOUBLE: The largest.
--   total DOUBLE: Their sum.
--   launches BIGINT [launches]: Launches that were measured.
--   missing BIGINT [launches]: Of these, those without a value.
--   passes BIGINT [passes]: Most executions that a launch took for all its metrics.
--   certain BOOLEAN: Whether all counters of the metric are of one execution; NULL if that is not
--     known.
--   reason VARCHAR: Why values are missing; NULL if none is.
--   demangled VARCHAR: Name with template and call arguments.
SELECT coalesce(any_value(short), function) AS name, grid, block, metric,
       any_value(unit) AS unit, avg(value) AS mean, min(value) AS least, max(value) AS most,
       sum(value) AS total, count(*) AS launches, count(*) - count(value) AS missing,
       TRY_CAST(max(passes) AS BIGINT) AS passes,
       CASE WHEN count(one_pass) = count(*) THEN bool_and(one_pass)
            WHEN NOT bool_and(one_pass) THEN false END AS certain,
       min(missing) AS reason,
       coalesce(any_value(demangled), function) AS demangled
FROM launch_metric
LEFT JOIN _launch_shape USING (process_id, correlation_id)
LEFT JOIN _readable_name AS names ON mangled = function
WHERE range_name IS NULL
GROUP BY function, grid, block, metric
ORDER BY launches DESC, demangled, grid, block, metric
