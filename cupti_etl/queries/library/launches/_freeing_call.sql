-- Calls that free or unpin memory, which wait while the GPU works: the driver takes no memory away
-- that kernels may use.
--
-- computed: From the names of calls: those of _host_span about memory that are not asynchronous.
-- columns:
--   process_id BIGINT: The process.
--   thread_id INTEGER: Thread that called.
--   name VARCHAR: Function called.
--   start_ns BIGINT [epoch ns]: When it was entered.
--   end_ns BIGINT [epoch ns]: When it returned.
SELECT process_id, thread_id, name, start_ns, end_ns
FROM _host_span
WHERE source = 'api_call' AND class = 3 AND start_ns IS NOT NULL AND end_ns IS NOT NULL
    AND NOT contains(name, 'Async')
    -- Fast, and false of most calls.
    AND (contains(name, 'Free') OR contains(name, 'Unregister'))
    AND regexp_matches(name, '^(cuda|hip|cuMem)(Host)?(Free|Unregister)')
