-- For which NVTX range a thread calls, from some time on: its own, or one that waits for it.
--
-- computed: As _range_turn; outside ranges of its own the range of another thread that waits, if it
--   is clear which.
-- requires: marker
-- limits: As of _range_wait.
-- scope: whole
-- columns:
--   process_id, thread_id of _range_wait
--   at_ns, range_id of _range_turn
WITH waits AS MATERIALIZED (
    SELECT process_id, thread_id, start_ns, end_ns, range_id
    FROM _range_wait
    WHERE is_clear AND asking_range_id IS NULL
),
-- The threads that others may wait for; of the rest nothing changes.
turns AS MATERIALIZED (
    FROM _range_turn
    SEMI JOIN waits USING (process_id, thread_id)
),
known AS MATERIALIZED (
    SELECT turn.process_id, turn.thread_id, turn.at_ns,
           coalesce(turn.range_id, CASE WHEN turn.at_ns <= waits.end_ns THEN waits.range_id END)
               AS range_id
    FROM turns AS turn
    ASOF LEFT JOIN waits
        ON waits.process_id = turn.process_id
        AND waits.thread_id = turn.thread_id
        AND waits.start_ns <= turn.at_ns
    UNION ALL
    SELECT process_id, thread_id, start_ns, range_id
    FROM waits
    ANTI JOIN turns
        ON turns.process_id = waits.process_id
        AND turns.thread_id = waits.thread_id
        AND turns.at_ns = waits.start_ns
)
FROM _range_turn
ANTI JOIN waits USING (process_id, thread_id)
UNION ALL
FROM known
UNION ALL
SELECT process_id, thread_id, end_ns + 1, NULL
FROM waits
ANTI JOIN known
    ON known.process_id = waits.process_id
    AND known.thread_id = waits.thread_id
    AND known.at_ns = waits.end_ns + 1
