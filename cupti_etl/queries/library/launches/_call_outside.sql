-- CUDA API calls of each host thread, as far as they lie outside a time.
--
-- computed: Returned calls by process, thread and name; of one that lasts over an edge of the time,
--   what lies outside.
-- parameters:
--   from_ns BIGINT = NULL [epoch ns]: When the time begins; NULL for the start of the trace.
--   to_ns BIGINT = NULL [epoch ns]: When it ends; NULL for the end of the trace.
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: The thread.
--   name VARCHAR: The function's name; NULL if it is not known.
--   total_ns BIGINT [ns]: Sum of what lies outside.
SELECT process_id, thread_id, name,
       TRY_CAST(sum(CASE WHEN start_ns < from_ns THEN least(end_ns, from_ns) - start_ns ELSE 0 END
                    + CASE WHEN end_ns > to_ns THEN end_ns - greatest(start_ns, to_ns) ELSE 0 END)
           AS BIGINT) AS total_ns
FROM api_call
WHERE end_ns >= start_ns AND (start_ns < from_ns OR end_ns > to_ns)
GROUP BY process_id, thread_id, name
ORDER BY total_ns DESC, process_id, thread_id, name
