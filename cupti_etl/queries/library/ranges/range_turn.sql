-- Which NVTX range is the innermost of a thread, from some time on.
--
-- computed: At the begin of a range it is that range, at its end the range around it.
-- needs: nvtx_range
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   at_ns BIGINT [ns]: From when on.
--   range_id BIGINT: The range, as in nvtx_range; NULL outside of all.
WITH ranges AS MATERIALIZED (
    SELECT range_id, parent_range_id, process_id, thread_id, start_ns, end_ns, depth
    FROM nvtx_range
),
turns AS (
    SELECT process_id, thread_id, start_ns AS at_ns, range_id, 1 AS place, depth AS rank
    FROM ranges
    WHERE end_ns IS NULL OR end_ns > start_ns
    UNION ALL
    SELECT process_id, thread_id, end_ns, parent_range_id, 0, -depth
    FROM ranges
    WHERE end_ns > start_ns
)
SELECT process_id, thread_id, at_ns,
       arg_max({'range_id': range_id}, (place, rank)).range_id AS range_id
FROM turns
GROUP BY process_id, thread_id, at_ns
