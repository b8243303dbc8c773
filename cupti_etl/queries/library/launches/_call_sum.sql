-- CUDA API calls by function: how often, how long, how many failed.
--
-- computed: Returned calls by process, domain and name. Times are sums of durations: a driver call
--   inside a runtime call counts in both. Launches are calls with Launch in their name; in a
--   capture of all calls without those of the driver inside one of the runtime's, which has the
--   same correlation id.
-- parameters:
--   from_ns BIGINT = NULL [epoch ns]: Only what returned later; NULL for all.
-- columns:
--   domain VARCHAR: runtime or driver.
--   name VARCHAR: The function's name; NULL if it is not known.
--   calls BIGINT [calls]: Calls that returned.
--   total_ns BIGINT [ns]: Sum of their durations.
--   errors BIGINT [calls]: Calls that returned neither success nor "not ready" (600).
--   launches BIGINT [calls]: Calls that launched kernels or graphs.
WITH runtime AS (
    SELECT DISTINCT process_id, correlation_id
    FROM api_call
    WHERE domain = 'runtime' AND contains(name, 'Launch')
        AND EXISTS (FROM capture WHERE api_level = 'all')
)
SELECT domain, name, count(*) AS calls, TRY_CAST(sum(end_ns - start_ns) AS BIGINT) AS total_ns,
       count(*) FILTER (WHERE return_value NOT IN (0, 600)) AS errors,
       CASE WHEN contains(name, 'Launch') THEN count(*) - count(runtime.process_id) ELSE 0 END
           AS launches
FROM api_call
LEFT JOIN runtime
    ON api_call.domain = 'driver'
    AND runtime.process_id = api_call.process_id
    AND runtime.correlation_id = api_call.correlation_id
WHERE end_ns >= start_ns AND (from_ns IS NULL OR end_ns > from_ns)
GROUP BY domain, name
