-- Correlation ids that more than one API call of a process has: the driver call inside a runtime
-- call, or ids that began anew after 2^32 calls.
--
-- computed: Groups of api_call by process_id and correlation_id with more than one row.
-- materialized: Made once for an opened trace, as every query about launches reads it.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The id.
SELECT process_id, correlation_id
FROM api_call
WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL
GROUP BY process_id, correlation_id
HAVING count(*) > 1
