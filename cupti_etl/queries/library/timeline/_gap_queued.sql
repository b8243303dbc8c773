-- Gaps of a GPU in which work that began later had been launched before the work that ended the
-- gap: the GPU had it, and did not begin it.
--
-- computed: Of all that the process of the next activity did then or later, that of the smallest
--   correlation id was launched first; up to when the call for it had returned.
-- materialized: Made once for an opened trace, as _gap_spent and _host_path read it.
-- scope: start_ns to end_ns
-- columns:
--   gpu, start_ns, end_ns of _gpu_gap
--   launched_ns BIGINT [epoch ns]: When the call had returned.
WITH ahead AS (
    SELECT * FROM _gap_edge WHERE first_correlation_id < next_correlation_id
)
SELECT ahead.gpu, ahead.start_ns, ahead.end_ns,
       min(greatest(api_call.start_ns, api_call.end_ns)) AS launched_ns
FROM ahead
JOIN api_call
    ON api_call.process_id = ahead.process_id
    AND api_call.correlation_id = ahead.first_correlation_id
WHERE api_call.start_ns IS NOT NULL AND api_call.end_ns IS NOT NULL
GROUP BY ahead.gpu, ahead.start_ns, ahead.end_ns
HAVING launched_ns < ahead.end_ns
