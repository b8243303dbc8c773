-- Time per CUDA runtime and driver function, on the host.
--
-- computed: Returned calls by domain and name. Times are sums of durations: calls of several
--   threads each count in full, and a driver call inside a runtime call counts in both.
-- requires: api_call
-- materialized: Few rows, of all calls.
-- limits: Only functions that the capture was asked to record (capture.api_level) are here. The
--   percentage is a share of the listed time, not of wall time.
-- front: Which CUDA calls take the host's time?
-- first: percent, total_ns, calls, mean_ns, max_ns, errors, name
-- chart: bars(name, total_ns)
-- alias: cuda_api_sum, cudaapisum, get_cuda_kernel_launch_stats
-- approximate: median_ns, p99_ns
-- columns:
--   name VARCHAR: The function's name; NULL if it is not known.
--   domain VARCHAR: runtime or driver.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over all functions.
--   calls BIGINT [calls]: Calls that returned.
--   errors BIGINT [calls]: Of these, calls that returned neither success nor "not ready" (600);
--     NULL where the trace does not say what calls returned, as PyTorch's do not.
--   total_ns BIGINT [ns]: Sum of their durations.
--   mean_ns DOUBLE [ns]: Mean duration.
--   median_ns DOUBLE [ns]: Median duration; the mean of the middle two of an even number.
--   p99_ns DOUBLE [ns]: 99th percentile of the durations.
--   min_ns BIGINT [ns]: Shortest duration.
--   max_ns BIGINT [ns]: Longest duration.
--   stddev_ns DOUBLE [ns]: Standard deviation of the durations, as a sample; NULL for one.
--   unfinished BIGINT [calls]: Calls without a start or end, which count nowhere else.
WITH durations AS (
    SELECT domain, name, return_value, end_ns - start_ns AS duration_ns
    FROM api_call
)
SELECT name,
       domain,
       100.0 * coalesce(sum(duration_ns), 0) / nullif(sum(sum(duration_ns)) OVER (), 0) AS percent,
       count(duration_ns) AS calls,
       CASE WHEN count(return_value) > 0
            THEN count(duration_ns) FILTER (WHERE return_value NOT IN (0, 600)) END AS errors,
       TRY_CAST(coalesce(sum(duration_ns), 0) AS BIGINT) AS total_ns,
       avg(duration_ns) AS mean_ns,
       -- Together, for they sort the same durations.
       quantile_cont(duration_ns, [0.5, 0.99])[1] AS median_ns,
       quantile_cont(duration_ns, [0.5, 0.99])[2] AS p99_ns,
       min(duration_ns) AS min_ns,
       max(duration_ns) AS max_ns,
       stddev_samp(duration_ns) AS stddev_ns,
       count(*) - count(duration_ns) AS unfinished
FROM durations
GROUP BY domain, name
ORDER BY total_ns DESC, domain, name;

-- partial
WITH durations AS (
    SELECT domain, name, return_value, end_ns - start_ns AS duration_ns
    FROM api_call
)
SELECT domain, name, count(duration_ns) AS calls,
       CASE WHEN count(return_value) > 0
            THEN count(duration_ns) FILTER (WHERE return_value NOT IN (0, 600)) END AS errors,
       sum(duration_ns) AS total_ns, sketch(duration_ns) AS durations, avg(duration_ns) AS mean_ns,
       min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, var_pop(duration_ns) AS variance,
       count(*) - count(duration_ns) AS unfinished
FROM durations
GROUP BY domain, name;

-- merge
WITH places AS (
    SELECT *, dense_rank() OVER (ORDER BY domain, name) AS place,
           sum(mean_ns * calls) OVER one_name / nullif(sum(calls) OVER one_name, 0) AS all_mean_ns
    FROM partial
    WINDOW one_name AS (PARTITION BY domain, name)
),
sums AS (
    SELECT place, domain, name, sum(calls)::BIGINT AS calls, sum(errors)::BIGINT AS errors,
           coalesce(sum(total_ns), 0)::HUGEINT AS total_ns, any_value(all_mean_ns) AS mean_ns,
           min(min_ns) AS min_ns, max(max_ns) AS max_ns, sum(unfinished)::BIGINT AS unfinished,
           sum(calls * (variance + pow(mean_ns - all_mean_ns, 2))) AS squares
    FROM places
    GROUP BY place, domain, name
),
placed AS (
    SELECT place, entry.key AS bucket,
           sum(sum(entry.value)) OVER (PARTITION BY place ORDER BY bucket) AS until
    FROM (SELECT place, unnest(map_entries(durations)) AS entry FROM places)
    GROUP BY place, bucket
)
SELECT name, domain, percent, calls, errors, TRY_CAST(total_ns AS BIGINT) AS total_ns,
       mean_ns, sketch_quantile(bucket, until, calls, 0.5, min_ns, max_ns) AS median_ns,
       sketch_quantile(bucket, until, calls, 0.99, min_ns, max_ns) AS p99_ns, min_ns, max_ns,
       CASE WHEN calls > 1 THEN sqrt(squares / (calls - 1)) END AS stddev_ns, unfinished
FROM (SELECT *, 100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS percent FROM sums) AS sums
LEFT JOIN placed USING (place)
GROUP BY ALL
ORDER BY total_ns DESC, domain, name
