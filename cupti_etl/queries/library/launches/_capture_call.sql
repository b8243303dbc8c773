-- Calls that begin or end a capture of a stream, to a CUDA graph.
--
-- computed: By their names.
-- materialized: Few rows, of all calls; most traces have none.
-- scope: host start_ns
-- columns:
--   process_id, thread_id, start_ns, end_ns of api_call
--   is_begin BOOLEAN: Whether it begins one.
SELECT process_id, thread_id, start_ns, end_ns, contains(name, 'BeginCapture') AS is_begin
FROM api_call
WHERE contains(name, 'Capture') AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    AND regexp_matches(name, '^(cu|cuda|hip)Stream(Begin|End)Capture')
