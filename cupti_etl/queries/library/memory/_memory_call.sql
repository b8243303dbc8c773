-- The call that allocated or released memory.
--
-- computed: Of a runtime call and the driver call inside it, the outer one.
-- materialized: Few rows, of all calls.
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins it and memory.
--   name VARCHAR: The function; NULL if it is not known.
--   thread_id INTEGER: The thread that called.
--   start_ns BIGINT [epoch ns]: When the call began.
SELECT process_id, correlation_id, arg_min(name, (start_ns, -end_ns, name)) AS name,
       arg_min(thread_id, start_ns) AS thread_id, min(start_ns) AS start_ns
FROM api_call
SEMI JOIN memory USING (process_id, correlation_id)
GROUP BY process_id, correlation_id
