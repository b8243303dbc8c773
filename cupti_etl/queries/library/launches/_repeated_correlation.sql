-- Correlation ids that more than one activity of a process has: calls that asked for several.
--
-- computed: Groups of gpu_activity by process_id and correlation_id with more than one row.
-- needs: gpu_activity
-- materialized: Made once for an opened trace, as it goes through all activities.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The id.
SELECT process_id, correlation_id
FROM gpu_activity
WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL
GROUP BY process_id, correlation_id
HAVING count(*) > 1
