-- How long an execution of each kernel takes on average, on all GPUs together.
--
-- computed: Sums of _kernel_time by name. Kernels whose name is not known are not here.
-- columns:
--   name VARCHAR: Mangled name.
--   category VARCHAR: What kind of work it does, as in kernel_rule.
--   mean_ns DOUBLE [ns]: Sum of the durations of finished executions divided by their number.
SELECT name, any_value(rule.category) AS category, sum(total_ns) / sum(calls) AS mean_ns
FROM _kernel_time
JOIN kernel_rule AS rule ON mangled = name
GROUP BY name
