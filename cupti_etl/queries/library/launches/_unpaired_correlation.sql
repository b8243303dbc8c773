-- Correlation ids of activities that are not of one call and one activity: of calls that asked for
-- several, of several calls, or of none that was recorded.
--
-- computed: Groups of gpu_activity by process_id and correlation_id with more than one row, or with
--   more or fewer than one row in api_call.
-- requires: api_call
-- materialized: Made once for an opened trace, as it goes through all calls and activities.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The id.
--   calls BIGINT [calls]: 0, 1, or 2 for several.
WITH calls AS (
    SELECT process_id, correlation_id, count(*) AS calls
    FROM api_call
    WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL
    GROUP BY process_id, correlation_id
),
activities AS (
    SELECT process_id, correlation_id, count(*) AS activities
    FROM gpu_activity
    WHERE process_id IS NOT NULL AND correlation_id IS NOT NULL
    GROUP BY process_id, correlation_id
)
SELECT process_id, correlation_id, least(coalesce(calls, 0), 2) AS calls
FROM activities
LEFT JOIN calls USING (process_id, correlation_id)
WHERE (activities > 1 OR calls IS DISTINCT FROM 1) AND EXISTS (SELECT 1 FROM api_call)
