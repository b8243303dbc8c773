-- Time per CUDA runtime and driver function on each host thread.
--
-- computed: As api_summary, by process and thread too. Times are sums of durations; a driver call
--   inside a runtime call counts in both.
-- requires: api_call
-- limits: Only functions that the capture was asked to record (capture.api_level) are here.
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   name VARCHAR: The function's name; NULL if it is not known.
--   domain VARCHAR: runtime or driver.
--   percent DOUBLE [%]: total_ns as a share of the sum of total_ns over the thread.
--   calls BIGINT [calls]: Calls that returned.
--   errors BIGINT [calls]: Of these, calls that returned neither success nor "not ready" (600);
--     NULL where the trace does not say what calls returned, as PyTorch's do not.
--   total_ns BIGINT [ns]: Sum of their durations.
--   median_ns DOUBLE [ns]: Median duration; the mean of the middle two of an even number.
--   p99_ns DOUBLE [ns]: 99th percentile of the durations.
--   max_ns BIGINT [ns]: Longest duration.
--   unfinished BIGINT [calls]: Calls without a start or end, which count nowhere else.
WITH durations AS (
    SELECT process_id, thread_id, domain, name, return_value, end_ns - start_ns AS duration_ns
    FROM api_call
),
sums AS (
    SELECT process_id, thread_id, name, domain, count(duration_ns) AS calls,
           CASE WHEN count(return_value) > 0
                THEN count(duration_ns) FILTER (WHERE return_value NOT IN (0, 600)) END AS errors,
           TRY_CAST(coalesce(sum(duration_ns), 0) AS BIGINT) AS total_ns,
           quantile_cont(duration_ns, [0.5, 0.99]) AS quantiles, max(duration_ns) AS max_ns,
           count(*) - count(duration_ns) AS unfinished
    FROM durations
    GROUP BY process_id, thread_id, domain, name
)
SELECT process_id, thread_id, name, domain,
       100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY process_id, thread_id), 0)
           AS percent,
       calls, errors, total_ns, quantiles[1] AS median_ns, quantiles[2] AS p99_ns, max_ns,
       unfinished
FROM sums
ORDER BY total_ns DESC, process_id, thread_id, domain, name
