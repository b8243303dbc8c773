-- Processes that had work on GPUs, and none of whose API calls was recorded.
--
-- computed: Those of gpu_activity that have no row in api_call. Who asked for their work is not
--   known, which is not to say that nobody did.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT process_id
FROM (SELECT DISTINCT process_id FROM gpu_activity)
ANTI JOIN (SELECT DISTINCT process_id FROM api_call) AS calling USING (process_id)
