-- Time by what kernels do: matrix products, attention, communication, normalization and so on.
--
-- computed: Finished executions by GPU and category of kernel_rule. Times are sums of durations:
--   kernels that overlap each count in full.
-- requires: kernel
-- limits: As of kernel_rule; "other" is what no rule knows, a row like the others.
-- front: What kind of work do the kernels do?
-- first: category, percent, total_ns, calls, names, longest_name
-- label: longest_name = kernel(mangled)
-- chart: bars(category, total_ns)
-- shared: kernel_name, _kernel_told
-- columns:
--   gpu BIGINT: Number of the GPU, as in gpu.
--   category VARCHAR: As in kernel_rule.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over the GPU.
--   names BIGINT [names]: Different kernels.
--   calls, total_ns of _kernel_time
--   mean_ns DOUBLE [ns]: Mean duration.
--   longest_name VARCHAR: Name of the kernel with the largest sum, as kernel_rule shows it.
--   mangled VARCHAR: Mangled name of that kernel.
SELECT gpu, rule.category,
       100.0 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (PARTITION BY gpu), 0) AS percent,
       count(*) AS names, TRY_CAST(sum(calls) AS BIGINT) AS calls,
       TRY_CAST(sum(total_ns) AS BIGINT) AS total_ns,
       (sum(total_ns) / sum(calls))::DOUBLE AS mean_ns,
       arg_max(shown, (total_ns, shown)) AS longest_name,
       arg_max(rule.mangled, (total_ns, shown)) AS mangled
FROM _kernel_time
JOIN kernel_rule AS rule ON rule.mangled IS NOT DISTINCT FROM _kernel_time.name
GROUP BY gpu, rule.category
ORDER BY gpu, total_ns DESC, rule.category;

-- merge
FROM partial
ORDER BY gpu, total_ns DESC, category
