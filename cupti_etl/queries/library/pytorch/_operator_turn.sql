-- Which range of an operator or of record_function is the innermost of a thread, from some time on.
--
-- computed: At the begin of one of _operator it is that, at its end the last that began in it and
--   goes on, else the one around it.
-- materialized: Calls and what they asked for are looked up in it.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   at_ns BIGINT [epoch ns]: From when on.
--   range_id BIGINT: The range, as in nvtx_range; -1 outside of all.
SELECT process_id, thread_id, at_ns, arg_max(innermost, turn) AS range_id
FROM (
    -- What begins then comes before all that ends.
    SELECT process_id, thread_id, start_ns AS at_ns, range_id AS innermost,
           place + 4611686018427387904 AS turn
    FROM _operator
    WHERE end_ns > start_ns
    UNION ALL
    SELECT process_id, thread_id, end_ns, coalesce(parent_range_id, -1), -place
    FROM _operator
    WHERE end_ns > start_ns
    UNION ALL
    SELECT ended.process_id, ended.thread_id, ended.end_ns, going.range_id, going.place
    FROM _operator AS ended
    JOIN _operator AS going
        ON going.place > ended.place
        AND going.place <= ended.last_place
        AND going.end_ns > ended.end_ns
    WHERE ended.is_crossed AND going.is_crossed
)
GROUP BY process_id, thread_id, at_ns
