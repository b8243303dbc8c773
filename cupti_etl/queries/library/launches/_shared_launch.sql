-- Of launch, the calls whose correlation id other calls of the process have, too.
--
-- computed: Of calls with the same id that contain one another the outermost.
-- requires:
--   _shared_correlation: no two calls of a process have the same correlation id.
-- limits: As of launch.
-- scope: whole
-- columns:
--   api_call.*
SELECT * EXCLUDE (until_ns)
FROM (
    SELECT api_call.*,
           max(coalesce(end_ns, start_ns)) OVER (
               PARTITION BY process_id, correlation_id
               ORDER BY start_ns, end_ns DESC, domain = 'runtime' DESC
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS until_ns
    FROM api_call
    SEMI JOIN _shared_correlation USING (process_id, correlation_id)
    SEMI JOIN (
        SELECT process_id, correlation_id
        FROM gpu_activity
        SEMI JOIN _shared_correlation USING (process_id, correlation_id)
    ) USING (process_id, correlation_id)
)
WHERE until_ns IS NULL OR start_ns > until_ns
