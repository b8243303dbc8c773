-- Ranges of Python's functions, as torch.profiler writes them with_stack.
--
-- computed: Those of the domain python_function that tell their file and line.
-- requires: marker
-- rare: Most traces have none, and the stack of each call is searched in all of them.
-- scope: whole
-- columns:
--   process_id, thread_id, range_id of _range_span
SELECT process_id, thread_id, range_id
FROM _range_span
WHERE domain = 'python_function' AND regexp_matches(name, '\(\d+\): ')
