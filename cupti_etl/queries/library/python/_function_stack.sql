-- The Python stack of each call by the functions that it was made in, where these are ranges.
--
-- computed: In processes without a row in launch_stack, and with ranges of Python's functions, as
--   torch.profiler writes them with_stack: a stack is the innermost of these around the call that
--   tells its file, and those around it.
-- requires: marker, _python_span
-- materialized: Made once for an opened trace, as each query about Python reads it.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: The call.
--   stack_id BIGINT: The range of the innermost function, or the first that is alike; NULL if there
--     is none.
--   state VARCHAR: Why: no_frames (a thread without such ranges) or outside (of all of its thread).
WITH RECURSIVE nesting AS MATERIALIZED (
    SELECT range_id, parent_range_id, alike_range_id FROM _range_parent
),
functions AS MATERIALIZED (
    SELECT process_id, thread_id, range_id, alike_range_id
    FROM _python_span
    JOIN nesting USING (range_id)
),
calls AS MATERIALIZED (
    SELECT call.process_id, call.thread_id, call.correlation_id, turn.range_id
    FROM (
        FROM api_call
        SEMI JOIN (FROM functions ANTI JOIN launch_stack USING (process_id)) USING (process_id)
        WHERE correlation_id IS NOT NULL
    ) AS call
    ASOF LEFT JOIN _range_turn AS turn
        ON turn.process_id = call.process_id
        AND turn.thread_id = call.thread_id
        AND turn.at_ns <= call.start_ns
),
-- Outwards, up to the first function.
climbing AS (
    SELECT DISTINCT range_id, range_id AS around_id FROM calls WHERE range_id IS NOT NULL
    UNION ALL
    SELECT climbing.range_id, nesting.parent_range_id
    FROM climbing
    JOIN nesting ON nesting.range_id = climbing.around_id
    WHERE climbing.around_id NOT IN (SELECT range_id FROM functions)
        AND nesting.parent_range_id IS NOT NULL
),
innermost AS (
    SELECT climbing.range_id, alike_range_id
    FROM climbing
    JOIN functions ON functions.range_id = climbing.around_id
)
SELECT calls.process_id, correlation_id, alike_range_id AS stack_id,
       CASE WHEN alike_range_id IS NOT NULL THEN NULL
            WHEN threads.thread_id IS NULL THEN 'no_frames' ELSE 'outside' END AS state
FROM calls
LEFT JOIN innermost ON innermost.range_id = calls.range_id
LEFT JOIN (SELECT DISTINCT process_id, thread_id FROM functions) AS threads
    ON threads.process_id = calls.process_id AND threads.thread_id = calls.thread_id
