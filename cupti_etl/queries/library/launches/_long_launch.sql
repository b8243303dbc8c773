-- Launches of kernels that took as long as to load their code.
--
-- computed: Calls of more than 100 us, but for those of graphs, which ask for many kernels.
-- materialized: Few rows, of all calls; many traces have none.
-- scope: host start_ns
-- columns:
--   process_id, correlation_id, thread_id, start_ns, end_ns of api_call
SELECT process_id, correlation_id, thread_id, start_ns, end_ns
FROM api_call
WHERE end_ns - start_ns > 100000 AND contains(name, 'Launch') AND NOT contains(name, 'Graph')
