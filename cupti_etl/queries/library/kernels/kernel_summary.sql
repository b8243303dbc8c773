-- Time per kernel, over all devices, streams and processes of the trace.
--
-- computed: Finished executions by demangled name. Times are sums of durations: kernels that
--   overlap each count in full.
-- requires: kernel
-- materialized: Few rows, of all kernels.
-- limits: percent is a share of kernel time; for time that a GPU was busy see gpu_busy.
-- front: Which kernels take the time?
-- first: percent, total_ns, calls, mean_ns, median_ns, max_ns, name
-- label: name = kernel(demangled)
-- chart: bars(name, total_ns)
-- approximate: median_ns, p95_ns
-- alias: top_kernels, cuda_gpu_kern_sum, get_gpu_kernel_breakdown, gpukernsum
-- columns:
--   name VARCHAR: Function name alone.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over all kernels.
--   calls BIGINT [executions]: Finished executions.
--   total_ns BIGINT [ns]: Sum of their durations.
--   mean_ns DOUBLE [ns]: Mean duration.
--   median_ns DOUBLE [ns]: Median duration; the mean of the middle two of an even number.
--   p95_ns DOUBLE [ns]: 95th percentile of the durations.
--   min_ns BIGINT [ns]: Shortest duration.
--   max_ns BIGINT [ns]: Longest duration.
--   stddev_ns DOUBLE [ns]: Standard deviation of the durations, as a sample; NULL for one.
--   span_pct DOUBLE [%]: total_ns as a share of the time from the first start to the last end of
--     all kernels; over 100 where several run at once.
--   unfinished BIGINT [executions]: Executions without a start or end, which count nowhere else.
--   demangled VARCHAR: Name with template and call arguments.
WITH durations AS (
    SELECT demangled, short, end_ns - start_ns AS duration_ns, end_ns,
           CASE WHEN end_ns IS NOT NULL THEN start_ns END AS start_ns
    FROM kernel_named
),
sums AS (
    SELECT demangled, any_value(short) AS name, coalesce(sum(duration_ns), 0) AS total_ns,
           -- Together, for they sort the same durations.
           quantile_cont(duration_ns, [0.5, 0.95]) AS quantiles,
           count(duration_ns) AS calls, avg(duration_ns) AS mean_ns, min(duration_ns) AS min_ns,
           max(duration_ns) AS max_ns, stddev_samp(duration_ns) AS stddev_ns,
           count(*) - count(duration_ns) AS unfinished,
           min(start_ns) AS first_ns, max(end_ns) FILTER (WHERE start_ns IS NOT NULL) AS last_ns
    FROM durations
    GROUP BY demangled
)
SELECT name, 100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS percent,
       calls, TRY_CAST(total_ns AS BIGINT) AS total_ns, mean_ns, quantiles[1] AS median_ns,
       quantiles[2] AS p95_ns, min_ns, max_ns, stddev_ns,
       100.0 * total_ns / nullif(max(last_ns) OVER () - min(first_ns) OVER (), 0) AS span_pct,
       unfinished, demangled
FROM sums
ORDER BY total_ns DESC, demangled;

-- partial
WITH called AS MATERIALIZED (
    SELECT name AS mangled, any_value(demangled) AS demangled, any_value(short) AS short,
           sum(end_ns - start_ns) AS total_ns, sketch(end_ns - start_ns) AS durations,
           count(end_ns - start_ns) AS calls, avg(end_ns - start_ns) AS mean_ns,
           min(end_ns - start_ns) AS min_ns, max(end_ns - start_ns) AS max_ns,
           var_pop(end_ns - start_ns) AS variance,
           count(*) - count(end_ns - start_ns) AS unfinished,
           min(start_ns) FILTER (WHERE end_ns IS NOT NULL) AS first_ns,
           max(end_ns) FILTER (WHERE start_ns IS NOT NULL) AS last_ns
    FROM kernel_named
    GROUP BY name
)
FROM called
UNION ALL BY NAME
-- Others may run these.
SELECT mangled, demangled, short FROM kernel_name ANTI JOIN called USING (mangled);

-- merge
WITH names AS (
    -- A process may lack the readable name of a kernel that another has.
    SELECT mangled,
           coalesce(any_value(demangled) FILTER (WHERE demangled != mangled), mangled)
               AS demangled,
           coalesce(any_value(short) FILTER (WHERE short != mangled), mangled) AS short
    FROM partial
    GROUP BY mangled
),
named AS (
    SELECT partial.* REPLACE (names.demangled AS demangled, names.short AS short),
           dense_rank() OVER (ORDER BY names.demangled) AS place,
           sum(mean_ns * calls) OVER one_name / nullif(sum(calls) OVER one_name, 0) AS all_mean_ns
    FROM partial
    JOIN names ON names.mangled IS NOT DISTINCT FROM partial.mangled
    WHERE calls IS NOT NULL
    WINDOW one_name AS (PARTITION BY names.demangled)
),
sums AS (
    SELECT place, demangled, any_value(short) AS name, sum(calls)::BIGINT AS calls,
           coalesce(sum(total_ns), 0)::HUGEINT AS total_ns, any_value(all_mean_ns) AS mean_ns,
           min(min_ns) AS min_ns, max(max_ns) AS max_ns, sum(unfinished)::BIGINT AS unfinished,
           sum(calls * (variance + pow(mean_ns - all_mean_ns, 2))) AS squares,
           min(first_ns) AS first_ns, max(last_ns) AS last_ns
    FROM named
    GROUP BY place, demangled
),
placed AS (
    SELECT place, entry.key AS bucket,
           sum(sum(entry.value)) OVER (PARTITION BY place ORDER BY bucket) AS until
    FROM (SELECT place, unnest(map_entries(durations)) AS entry FROM named)
    GROUP BY place, bucket
)
SELECT name, percent, calls, TRY_CAST(total_ns AS BIGINT) AS total_ns, mean_ns,
       sketch_quantile(bucket, until, calls, 0.5, min_ns, max_ns) AS median_ns,
       sketch_quantile(bucket, until, calls, 0.95, min_ns, max_ns) AS p95_ns, min_ns, max_ns,
       CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) END AS stddev_ns, span_pct,
       unfinished, demangled
FROM (
    SELECT *, 100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS percent,
           100.0 * total_ns / nullif(max(last_ns) OVER () - min(first_ns) OVER (), 0) AS span_pct
    FROM sums
) AS sums
LEFT JOIN placed USING (place)
GROUP BY ALL
ORDER BY total_ns DESC, demangled
