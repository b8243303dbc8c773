-- CUDA API calls by function: how often, how long, how many failed.
--
-- computed: Returned calls by process, domain and name. Times are sums of durations: a driver call
--   inside a runtime call counts in both.
-- parameters:
--   from_ns BIGINT = NULL [epoch ns]: Only what returned later; NULL for all.
-- columns:
--   domain VARCHAR: runtime or driver.
--   name VARCHAR: The function's name; NULL if it is not known.
--   calls BIGINT [calls]: Calls that returned.
--   total_ns BIGINT [ns]: Sum of their durations.
--   errors BIGINT [calls]: Calls that returned neither success nor "not ready" (600).
SELECT domain, name, count(*) AS calls, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
       count(*) FILTER (WHERE return_value NOT IN (0, 600)) AS errors
FROM api_call
WHERE end_ns >= start_ns AND (from_ns IS NULL OR end_ns > from_ns)
GROUP BY domain, name
