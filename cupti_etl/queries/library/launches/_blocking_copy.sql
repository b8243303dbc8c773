-- Calls that returned only when the copy that they asked for was done: their thread waited.
--
-- computed: Calls of api_call within which a copy of memcpy began and ended that has their
--   process_id and correlation_id, as copies to pageable memory do even if they are called
--   asynchronous (PyTorch's item(), for one). From pageable memory, too, the driver waits for what
--   was asked before, then copies piece by piece over a buffer of its own, and returns when the
--   last one lies in there: of these copies, most of the time must be within the call. To set
--   pinned memory is a copy here, as its call waits, too (cudaMemset).
-- materialized: Made once for an opened trace, as queries about waiting read it.
-- limits: A runtime call and the driver call inside it have a row each.
-- scope: host start_ns
-- columns:
--   process_id BIGINT: The process.
--   correlation_id BIGINT: What joins the two.
--   thread_id INTEGER: Thread that called.
--   name VARCHAR: Function called.
--   start_ns BIGINT [epoch ns]: When it was entered.
--   end_ns BIGINT [epoch ns]: When it returned.
--   is_done BOOLEAN: Whether all of the copy was done by then.
WITH copies AS (
    SELECT process_id, correlation_id, src_kind, start_ns, end_ns FROM memcpy
    UNION ALL
    SELECT process_id, correlation_id, NULL, start_ns, end_ns
    FROM memset
    WHERE memory_kind = 'pinned'
)
SELECT calls.process_id, calls.correlation_id, calls.thread_id, calls.name, calls.start_ns,
       calls.end_ns, copies.end_ns <= calls.end_ns AS is_done
FROM copies
JOIN api_call AS calls USING (process_id, correlation_id)
WHERE copies.start_ns >= calls.start_ns
    AND (
        copies.end_ns <= calls.end_ns
        OR (src_kind = 'pageable' AND copies.end_ns - calls.end_ns < calls.end_ns - copies.start_ns)
    )
