-- Outermost NVTX ranges of threads of autograd, each with the range that clearly waits for it.
--
-- computed: From _range_wait, for threads with such ranges. What is inside one of these ranges
--   began behind it, and before the next of the thread.
-- requires: marker
-- limits: As of _range_wait.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread of the outermost range.
--   start_ns BIGINT [epoch ns]: Its begin.
--   asking_range_id BIGINT: The outermost range; NULL if none clearly waits for it.
--   range_id BIGINT: The range that waits; NULL if none clearly does.
WITH waits AS (
    SELECT process_id, thread_id, asking_range_id, range_id
    FROM _range_wait
    WHERE is_clear AND asking_range_id IS NOT NULL
)
SELECT span.process_id, span.thread_id, span.start_ns, asking_range_id, waits.range_id
FROM _range_span AS span
JOIN _range_parent AS parent ON parent.range_id = span.range_id
SEMI JOIN waits ON waits.process_id = span.process_id AND waits.thread_id = span.thread_id
LEFT JOIN waits ON waits.asking_range_id = span.range_id
WHERE parent_range_id IS NULL
