-- Processes with ranges in which several threads make API calls.
--
-- computed: Those of _range_span whose calls are of more than one thread.
-- requires: marker
-- rare: Many traces have none, and what a thread waits for is searched in all calls.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT process_id
FROM api_call
SEMI JOIN (SELECT DISTINCT process_id FROM _range_span) USING (process_id)
GROUP BY process_id
HAVING min(thread_id) < max(thread_id)
