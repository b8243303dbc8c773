-- Each stretch in which code was compiled, loaded or set up, or a CUDA graph captured.
--
-- computed: Rows of jit, and of _host_span those of its class loading. Late is what began after the
--   first tenth of the trace's GPU work.
-- lookup: kernel
-- columns:
--   source VARCHAR: jit, overhead, api_call, first_launch or graph_capture.
--   name VARCHAR: Step, kind of overhead, function, mangled name of the kernel launched, or graph
--     capture.
--   process_id, start_ns, end_ns of _host_span
--   is_late BOOLEAN: Whether it was late; NULL if there were no kernels.
WITH steady AS (
    SELECT min(start_ns) + (max(start_ns) - min(start_ns)) // 10 AS from_ns FROM kernel
),
events AS (
    SELECT 'jit' AS source, operation AS name, process_id, start_ns, end_ns FROM jit
    UNION ALL
    SELECT source, name, process_id, start_ns, end_ns FROM _host_span WHERE class = 1
)
SELECT events.*, start_ns >= from_ns AS is_late
FROM events, steady
