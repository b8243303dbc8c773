-- Processes with ranges of Python's functions, as torch.profiler writes them with_stack.
--
-- computed: Those with a range of the domain python_function that tells its file and line.
-- requires: marker
-- materialized: Most traces have none, and the stack of each call is searched in all of them.
-- scope: whole
-- columns:
--   process_id BIGINT: The process.
SELECT DISTINCT process_id
FROM _range_span
WHERE domain = 'python_function' AND regexp_matches(name, '\(\d+\): ')
